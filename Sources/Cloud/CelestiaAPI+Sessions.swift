import Dates
package import HTTP

/// How a file's bytes are sent.
package struct TransferOptions: Sendable {
    /// The bytes per second that it may be held to meanwhile (`HTTPClient.limitSending`); nil: no limit. The deadline
    /// allows for it.
    package var slowestRate: Int64?
    /// See `HTTPRequest.onProgress`.
    package var onProgress: (@Sendable (Int64) -> Void)?

    package init(slowestRate: Int64? = nil, onProgress: (@Sendable (Int64) -> Void)? = nil) {
        self.slowestRate = slowestRate
        self.onProgress = onProgress
    }
}

/// What a download came to. The bytes are in the sink's file, neither synced nor checked yet (C-78).
package struct DownloadReceipt: Sendable, Equatable {
    package let bytesStored: Int64
    /// Whether the server continued where the file ended; otherwise the file begins anew.
    package let isResumed: Bool
}

extension CelestiaAPI {
    // MARK: Sessions

    /// The sessions of the account that `isWanted`, with tombstones unless told otherwise. The server sends all of them
    /// each time: call it to settle a doubt and for a user (C-39).
    package func sessions(
        includeDeleted: Bool = true,
        where isWanted: @escaping @Sendable (RemoteSession) -> Bool = { _ in true }
    ) async throws(CloudError) -> SessionList {
        let request = try request(
            .listSessions, .get, ["sessions"], query: [("includeDeleted", includeDeleted ? "true" : "false")])
        var call = Call<SessionList>(kind: .listSessions, request: request) { _, _ in nil }
        call.stream = {
            let reader = SessionListReader(isWanted)
            return BodyStream(feed: reader.feed, head: { reader.head }, value: { reader.list })
        }
        return try await authorized.run(call)
    }

    /// Creates or changes a session. `conflict` when `baseRevision` is not the server's: fetch and merge.
    package func upsertSession(_ session: SessionUpsert) async throws(CloudError) -> RemoteSession {
        let request = try request(.upsertSession, .post, ["sessions"]).json(session)
        return try await authorized.run(call(.upsertSession, request, as: RemoteSession.self))
    }

    // MARK: Small assets

    /// Uploads a file below `ChunkPlan.threshold` in one request. Idempotent by `clientId`; the receipt must
    /// be checked with `RemoteAsset.holds` before it is believed.
    package func uploadAsset(
        _ asset: AssetUpload, sessionId: String, options: TransferOptions = TransferOptions()
    ) async throws(CloudError) -> AssetReceipt {
        guard (1..<ChunkPlan.threshold).contains(asset.size) else {
            throw .invalid("\(asset.size) bytes do not take the one-request route", call: .uploadAsset)
        }
        var request = try request(
            .uploadAsset, .post, ["sessions", sessionId, "assets"], bytes: asset.size)
        let slice = FileSlice(file: asset.file, offset: 0, length: asset.size)
        request.body = .multipart([
            MultipartPart(name: "clientId", text: asset.clientId),
            MultipartPart(name: "kind", text: asset.kind.rawValue),
            MultipartPart(name: "file", file: slice, fileName: asset.fileName, type: asset.mimeType),
        ])
        options.apply(to: &request, bytes: asset.size)
        return try await authorized.run(call(.uploadAsset, request, as: AssetReceipt.self))
    }

    // MARK: Chunked assets

    /// Begins a chunked upload. Not idempotent as far as is known: never while a ticket is valid (C-60).
    /// The ticket's plan is the server's, not `chunkSize`.
    package func initUpload(
        _ asset: AssetUpload, sessionId: String,
        chunkSize: Int64 = APIAssumptions.requestedChunkSizes[0]
    ) async throws(CloudError) -> UploadTicket {
        guard asset.size >= 1 else { throw .invalid("an empty file cannot be uploaded", call: .initUpload) }
        let body = InitRequest(
            clientId: asset.clientId, kind: asset.kind, fileName: asset.fileName, mimeType: asset.mimeType,
            fileSize: asset.size, chunkSize: chunkSize)
        let request = try request(.initUpload, .post, ["sessions", sessionId, "assets", "init"]).json(body)
        let size = asset.size
        let call = Call<UploadTicket>(kind: .initUpload, request: request) { envelope, _ in
            guard let data = envelope.data(InitAnswer.self), (1...200).contains(data.uploadId.utf8.count),
                let plan = try? ChunkPlan(
                    fileSize: size, chunkSize: data.chunkSize, totalChunks: data.totalChunks)
            else { return nil }
            return UploadTicket(uploadId: data.uploadId, plan: plan, expiresAt: data.expiresAt)
        }
        return try await authorized.run(call)
    }

    /// Sends one chunk; repeating is harmless. `reinit` when the server does not know the upload any more, or
    /// finds the chunk wrong.
    package func uploadChunk(
        _ index: Int, of ticket: UploadTicket, file: SharedFile, sessionId: String,
        options: TransferOptions = TransferOptions()
    ) async throws(CloudError) -> ChunkProgress {
        guard let range = ticket.plan.range(of: index) else {
            throw .invalid("there is no chunk \(index)", call: .uploadChunk)
        }
        var request = try request(
            .uploadChunk, .post, ["sessions", sessionId, "assets", "chunk"], bytes: range.length)
        let digits = String(index)
        // A Go server takes a part without a file name for a plain field (C-59).
        let name = "chunk-" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits
        let slice = FileSlice(file: file, offset: range.offset, length: range.length)
        request.body = .multipart([
            MultipartPart(name: "uploadId", text: ticket.uploadId),
            MultipartPart(name: "chunkIndex", text: digits),
            MultipartPart(name: "file", file: slice, fileName: name, type: "application/octet-stream"),
        ])
        options.apply(to: &request, bytes: range.length)
        let call = Call<ChunkProgress>(kind: .uploadChunk, request: request) { envelope, _ in
            envelope.data(ChunkProgress.self).flatMap { $0.chunkIndex == Int64(index) ? $0 : nil }
        }
        return try await authorized.run(call)
    }

    /// Ends a chunked upload. The server may take minutes; `ambiguous` must be settled by `findAsset` before
    /// anything is sent again (C-68).
    package func completeUpload(
        _ ticket: UploadTicket, sessionId: String
    ) async throws(CloudError) -> AssetReceipt {
        let body = CompleteRequest(uploadId: ticket.uploadId, totalChunks: ticket.plan.count)
        let request = try request(.completeUpload, .post, ["sessions", sessionId, "assets", "complete"]).json(
            body)
        return try await authorized.run(call(.completeUpload, request, as: AssetReceipt.self))
    }

    /// Looks an asset up by its client id in all sessions; nil only when every session was readable and none
    /// has it. Throws `malformed` when an unreadable part could hide it.
    package func findAsset(
        clientId: String
    ) async throws(CloudError) -> (session: RemoteSession, asset: RemoteAsset)? {
        let list = try await sessions { session in
            session.unreadableCount > 0 || session.assets.contains { $0.clientId == clientId }
        }
        if let found = list.findAsset(clientId: clientId) { return found }
        guard list.unreadableCount == 0, list.sessions.allSatisfy({ $0.unreadableCount == 0 }) else {
            throw CloudError(
                .malformed, "a part of the session list cannot be read, so the asset's absence is not proved",
                outcome: .retry(after: nil), call: .listSessions)
        }
        return nil
    }

    // MARK: Download

    /// Fetches an asset's bytes into a file, continuing it when the sink says so. `reinit`: begin at 0.
    package func downloadAsset(
        id: String, sessionId: String, into sink: HTTPSink
    ) async throws(CloudError) -> DownloadReceipt {
        var request = try request(
            .downloadAsset, .get, ["sessions", sessionId, "assets", id], bytes: sink.limit)
        request.headers = [HTTPHeaders.Field("Accept", "application/octet-stream, application/json")]
        let call = Call<DownloadReceipt>(kind: .downloadAsset, request: request, sink: sink) { _, response in
            DownloadReceipt(bytesStored: response.bytesStored, isResumed: response.status == 206)
        }
        return try await authorized.run(call)
    }
}

extension TransferOptions {
    fileprivate func apply(to request: inout HTTPRequest, bytes: Int64) {
        request.isPaced = true
        request.onProgress = onProgress
        if let slowestRate {
            // Twice what it takes, because a limit is shared with others and overshoots into pauses.
            let total = Duration.seconds(60 + max(0, bytes) / max(1, slowestRate) * 2)
            request.deadlines.total = max(request.deadlines.total, total)
        }
    }
}

private struct InitRequest: Encodable {
    let clientId: String
    let kind: AssetKind
    let fileName: String
    let mimeType: String
    let fileSize: Int64
    let chunkSize: Int64
}

private struct InitAnswer: Decodable {
    let uploadId: String
    let totalChunks: Int64
    let chunkSize: Int64
    let expiresAt: Timestamp?

    private enum CodingKeys: CodingKey {
        case uploadId, totalChunks, chunkSize, expiresAt
    }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        uploadId = try fields.decode(String.self, forKey: .uploadId)
        totalChunks = try fields.decode(Int64.self, forKey: .totalChunks)
        chunkSize = try fields.decode(Int64.self, forKey: .chunkSize)
        expiresAt = fields.lenient(Timestamp.self, .expiresAt)
    }
}

private struct CompleteRequest: Encodable {
    let uploadId: String
    let totalChunks: Int
}
