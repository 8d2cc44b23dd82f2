import CaptureQueue
import Cloud
import Dates
import EventLoop
import FoundationEssentials
import Glibc
import HTTP

/// Performs the steps of `AssetMachine` for one file: the intent durable before each call, its proof after.
struct AssetUploader: Sendable {
    let context: UploadContext
    let session: SessionRecord
    /// The session's id in the cloud.
    let remoteID: String
    let asset: AssetRecord
    let upload: ChunkedUpload?
    /// Whether it was read whole in this attempt already.
    let isVerified: Bool

    private var queue: CaptureQueue { context.queue }
    private var api: CelestiaAPI { context.api.only(for: session.account) }

    /// Sends the file, or finds out why not. Never throws: what happened is the result.
    func run() async -> UploadEnd {
        if asset.pullState == .damaged { return await refuse() }
        guard asset.pullState == .stored, let digest = asset.sha256,
            let kind = asset.kind.cloud
        else {
            return UploadEnd(
                .retry(after: .seconds(15 * 60)), "file \(asset.id) is not on the hub at the moment",
                asset: asset.id)
        }
        do throws(QueueError) {
            // Read whole before its first byte leaves: what rotted here must not become what the cloud has.
            let file = try await queue.openForUpload(asset.id, verifying: !isVerified)
            let copy = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else {
                return UploadEnd(.retry(after: .seconds(60)), "no file descriptor is left", asset: asset.id)
            }
            let source = AssetUpload(
                clientId: asset.clientID, kind: kind, fileName: asset.wireName, mimeType: asset.mimeType,
                file: SharedFile(OwnedFD(copy)), size: asset.byteSize)
            context.board.begin(
                .hubToCloud, asset: asset.id.text, name: asset.originalName, of: asset.byteSize,
                at: asset.uploadedBytes, recorder: session.recorderSerial, session: session.id.text)
            defer { context.board.end(.hubToCloud, asset: asset.id.text) }
            return try await drive(source, digest: digest.hex)
        } catch {
            return UploadEnd(error, asset: asset.id)
        }
    }

    /// A file that is gone or changed, of which the cloud was asked before: its session fails.
    private func refuse() async -> UploadEnd {
        do throws(QueueError) {
            _ = try await queue.openForUpload(asset.id)
            return UploadEnd(.retry(after: nil), "file \(asset.id) is back", asset: asset.id)
        } catch {
            return UploadEnd(error, asset: asset.id)
        }
    }

    // MARK: The machine's steps

    private func drive(_ source: AssetUpload, digest: String) async throws(QueueError) -> UploadEnd {
        var machine = AssetMachine(
            size: asset.byteSize, chunkSize: context.chunkSize, limits: context.configuration.limits)
        var upload = upload
        var last: UploadFailure?
        var step = machine.handle(try await beginning())
        while true {
            if case .end(let kind) = step {
                return UploadEnd(
                    kind, last?.text(for: kind) ?? "", asset: asset.id, isCutOff: last?.isCutOff ?? false)
            }
            guard await !context.mustPutDown(session.id) else { return UploadEnd(.stopped, asset: asset.id) }
            let input = try await perform(step, source, digest, &upload)
            if case .failed(let failure) = input {
                last = failure
                if Task.isCancelled { return UploadEnd(.stopped, failure.message, asset: asset.id) }
            }
            if case .found(.sessionGone) = input {
                last = UploadFailure(.conflict(serverRevision: nil), message: Self.sessionGone)
            }
            step = machine.handle(input)
            if case .open(let size) = step, size < context.configuration.chunkSize {
                context.learn(chunkSize: size)
            }
        }
    }

    static let sessionGone = "the session was deleted in the cloud while files of it were still to be sent"

    private func beginning() async throws(QueueError) -> AssetMachine.Input {
        let hourAgo = context.configuration.now().addingTimeInterval(-3600)
        let starts = try await queue.uploadStarts(asset.id, since: hourAgo)
        let left = upload.flatMap {
            context.api.clock.timeLeft(
                until: Timestamp(millisecondsSince1970: $0.expiresAt.wireMilliseconds))
        }
        return .begin(upload, starts: starts, hasExpired: left.map { $0 <= .zero } ?? false)
    }

    private func perform(
        _ step: AssetMachine.Step, _ source: AssetUpload, _ digest: String, _ upload: inout ChunkedUpload?
    ) async throws(QueueError) -> AssetMachine.Input {
        switch step {
        case .lookUp: return try await lookUp()
        case .send:
            return try await confirming(.asset, digest) { () async throws(CloudError) in
                try await api.uploadAsset(
                    source, sessionId: remoteID, options: options(from: 0, length: asset.byteSize))
            }
        case .open(let size): return try await open(source, size, digest, &upload)
        case .forget:
            try await queue.forgetUpload(asset.id)
            context.board.progress(.hubToCloud, asset: asset.id.text, bytes: 0)
            upload = nil
            return .forgotten
        case .chunk(let index): return try await send(index, source, &upload)
        case .complete:
            guard let ticket = ticket(upload) else { return .forgotten }
            return try await confirming(.complete, ticket.uploadId) { () async throws(CloudError) in
                try await api.completeUpload(ticket, sessionId: remoteID)
            }
        case .wait(let gap):
            try? await context.configuration.sleep(gap)
            return .waited
        case .verify:
            _ = try await queue.openForUpload(asset.id, verifying: true)
            return .intact
        case .end: return .confirmed
        }
    }

    /// A call that ends in a receipt: the small route, and the merge of chunks.
    private func confirming(
        _ operation: UploadOperation, _ digest: String,
        _ call: () async throws(CloudError) -> AssetReceipt
    ) async throws(QueueError) -> AssetMachine.Input {
        let intent = try await intend(operation, digest)
        switch await context.call(call) {
        case .success(let receipt):
            try await queue.commitAsset(
                asset.id, receipt.asset.forQueue(fallback: asset.clientID),
                sessionRevision: receipt.sessionRevision)
            return .confirmed
        case .failure(let failure):
            try await settle(intent, failure)
            return .failed(failure)
        }
    }

    private func open(
        _ source: AssetUpload, _ size: Int64, _ digest: String, _ upload: inout ChunkedUpload?
    ) async throws(QueueError) -> AssetMachine.Input {
        let intent = try await intend(.initialise, digest)
        switch await context.call({ () async throws(CloudError) in
            try await api.initUpload(source, sessionId: remoteID, chunkSize: size)
        }) {
        case .success(let ticket):
            // An expiry that cannot be read is found out by a 410.
            let expiry = ticket.expiresAt?.millisecondsSince1970 ?? 253_402_300_799_000
            try await queue.commitInit(
                asset.id, uploadID: ticket.uploadId, chunkSize: ticket.plan.chunkSize,
                totalChunks: ticket.plan.count, expiresAt: .init(timeIntervalSince1970: Double(expiry) / 1000)
            )
            upload = try await queue.uploadJob(session.id).uploads[asset.id]
            return upload.map { .opened($0) } ?? .forgotten
        case .failure(let failure):
            try await settle(intent, failure)
            return .failed(failure)
        }
    }

    /// No intent: sending a chunk twice changes nothing.
    private func send(
        _ index: Int, _ source: AssetUpload, _ upload: inout ChunkedUpload?
    ) async throws(QueueError) -> AssetMachine.Input {
        guard let ticket = ticket(upload), let current = upload else { return .forgotten }
        let done = min(asset.byteSize, Int64(current.ackedCount) * current.chunkSize)
        let length = current.range(of: index, size: asset.byteSize).length
        switch await context.call({ () async throws(CloudError) in
            try await api.uploadChunk(
                index, of: ticket, file: source.file, sessionId: remoteID,
                options: options(from: done, length: length))
        }) {
        case .success(let progress):
            let next = try await queue.commitChunk(asset.id, uploadID: ticket.uploadId, index: index)
            upload = next
            return .acked(next, counted: progress.uploadedChunks)
        case .failure(let failure):
            return .failed(failure)
        }
    }

    private func lookUp() async throws(QueueError) -> AssetMachine.Input {
        let remoteID = remoteID
        switch await context.call({ () async throws(CloudError) in
            try await api.sessions { $0.id == remoteID }
        }) {
        case .failure(let failure): return .failed(failure)
        case .success(let list):
            guard let found = list.sessions.first(where: { $0.id == remoteID }), found.deletedAt == nil else {
                let isProved = list.unreadableCount == 0
                return isProved
                    ? .found(.sessionGone)
                    : .failed(UploadFailure(.retry(after: nil), message: "the session list is unreadable"))
            }
            guard let held = found.assets.first(where: { $0.clientId == asset.clientID }) else {
                return .found(.absent)
            }
            try await queue.commitAsset(
                asset.id, held.forQueue(fallback: asset.clientID), sessionRevision: found.revision)
            return .found(.confirmed)
        }
    }

    // MARK: Intents

    /// The same request once more belongs to the intent that is open already.
    private func intend(_ operation: UploadOperation, _ digest: String) async throws(QueueError) -> Intent {
        do throws(QueueError) {
            return try await queue.beginIntent(
                operation, session: session.id, asset: asset.id, payloadDigest: digest)
        } catch {
            guard error.code == .intentPending else { throw error }
            let open = try await queue.uploadJob(session.id).unsettled
                .first { $0.operation == operation && $0.assetID == asset.id }
            guard let open else { throw error }
            return try await queue.resendIntent(open.id)
        }
    }

    private func settle(_ intent: Intent, _ failure: UploadFailure) async throws(QueueError) {
        switch failure.intentFate {
        case .withdraw: try await queue.withdrawIntent(intent.id)
        case .doubt: try await queue.markAmbiguous(intent.id, detail: failure.message)
        }
    }

    // MARK: Details

    private func ticket(_ upload: ChunkedUpload?) -> UploadTicket? {
        guard let upload,
            let plan = try? ChunkPlan(
                fileSize: asset.byteSize, chunkSize: upload.chunkSize, totalChunks: Int64(upload.totalChunks))
        else { return nil }
        return UploadTicket(
            uploadId: upload.uploadID, plan: plan,
            expiresAt: Timestamp(millisecondsSince1970: upload.expiresAt.wireMilliseconds))
    }

    /// What is acknowledged, and of the request under way what has gone out, makes an even bar.
    private func options(from done: Int64, length: Int64) -> TransferOptions {
        let board = context.board
        let id = asset.id.text
        return TransferOptions(slowestRate: context.configuration.slowestRate) { sent in
            board.progress(.hubToCloud, asset: id, bytes: done + min(max(0, sent), length))
        }
    }
}

extension QueueAssetKind {
    /// nil for what the API has no word for.
    fileprivate var cloud: Cloud.AssetKind? {
        switch self {
        case .audio: .audio
        case .photo: .photo
        case .other: nil
        }
    }
}

extension Cloud.RemoteAsset {
    /// As the queue compares and keeps it. A server that leaves the client id out has answered about ours.
    func forQueue(fallback clientID: String) -> QueueRemoteAsset {
        QueueRemoteAsset(id: id, clientID: clientId ?? clientID, sizeBytes: sizeBytes, sha256: sha256)
    }
}
