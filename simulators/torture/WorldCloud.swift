import CaptureQueue
import FoundationEssentials

/// The Celestia API as far as an upload needs it, and more suspicious than any server: what no client that remembers what
/// it was told would send, is a violation.
struct WorldCloud {
    struct Request {
        let method: String
        let path: [String]
        let token: String
        let fields: [String: String]
        let body: [UInt8]
    }

    struct Answer {
        let status: Int
        let json: String

        static func data(_ json: String) -> Answer {
            Answer(status: 200, json: "{\"code\":0,\"message\":\"\",\"data\":\(json)}")
        }

        static func failed(_ status: Int) -> Answer {
            Answer(status: status, json: "{\"code\":\(status),\"message\":\"no\"}")
        }

        /// As the child reads it.
        var bytes: [UInt8] { Array("\(status) \(json.utf8.count)\n\(json)".utf8) }
    }

    private struct Session {
        let id: String
        var revision = 1
        var content: SessionContent
        var assets: [Asset] = []
    }

    private struct Asset {
        let id: String
        let clientID: String
        let size: Int
        let sha256: String
        /// What the server says that it is.
        let told: String
    }

    private struct Upload {
        let session: String
        let clientID: String
        let size: Int
        var chunks: [Int: [UInt8]] = [:]
        /// The chunks whose acknowledgement the client has used: it went on with another.
        var settled: Set<Int> = []
        /// Whether the client has used the upload that it was given.
        var isUsed = false
        var isComplete = false

        var count: Int { (size - 1) / Plan.chunk + 1 }
    }

    var tokens = WorldTokens()
    private var breaches: [String] = []
    /// By client id.
    private var sessions: [String: Session] = [:]
    private var uploads: [String: Upload] = [:]
    /// The SHA-256 that were ever recorded; and those of which the server tells something else.
    private var expected: Set<String> = []
    private var falsified: Set<String> = []
    private var lastID = 0

    var violations: [String] { breaches + tokens.violations }

    /// What it really holds.
    var digests: [String] { sessions.values.flatMap { $0.assets.map(\.sha256) } }

    mutating func expect(_ sha256: String, isFalsified: Bool) {
        expected.insert(sha256)
        if isFalsified { falsified.insert(sha256) }
    }

    /// Whether it holds an asset as the client believes.
    func holds(_ asset: String, of session: String, sha256: String) -> Bool {
        sessions[session]?.assets.contains { $0.clientID == asset && $0.sha256 == sha256 } ?? false
    }

    func sessionID(_ clientID: String) -> String? { sessions[clientID]?.id }

    mutating func handle(_ request: Request) -> Answer {
        switch (request.method, request.path.joined(separator: "/")) {
        case ("GET", "health"): return .data("{}")
        case ("POST", "auth/login"): return tokens.logIn()
        case ("POST", "auth/refresh"):
            return tokens.refresh(decoded(RefreshBody.self, request)?.refreshToken ?? "")
        default: break
        }
        guard tokens.accept(request.token) else { return .failed(401) }
        switch (request.method, request.path.count) {
        case ("GET", 1) where request.path[0] == "sessions": return list()
        case ("POST", 1) where request.path[0] == "sessions": return upsert(request)
        case ("GET", 2) where request.path == ["storage", "quota"]:
            return .data("{\"totalBytes\":1000000000000,\"usedBytes\":0,\"remainingBytes\":1000000000000}")
        case ("POST", 2) where request.path == ["sync", "trigger"]:
            return .data("{\"syncedAt\":\"2026-11-30T00:00:00Z\"}")
        case ("POST", 3) where request.path[2] == "assets": return small(request)
        case ("POST", 4) where request.path[3] == "init": return begin(request)
        case ("POST", 4) where request.path[3] == "chunk": return chunk(request)
        case ("POST", 4) where request.path[3] == "complete": return complete(request)
        default: return breach("a request for \(request.path.joined(separator: "/"))", 404)
        }
    }

    // MARK: Sessions

    private mutating func upsert(_ request: Request) -> Answer {
        guard let body = decoded(SessionContent.self, request) else {
            return breach("a session that is none", 400)
        }
        var content = body
        content.baseRevision = nil
        guard var session = sessions[body.clientId] else {
            guard body.baseRevision == nil else {
                return breach("a change of a session that is not here", 404)
            }
            let session = Session(id: newID("s"), content: content)
            sessions[body.clientId] = session
            return .data(json(session))
        }
        if session.content == content || body.baseRevision == nil {
            return breach("session \(body.clientId) was sent again, without looking", 409)
        }
        guard body.baseRevision == session.revision else { return .failed(409) }
        session.revision += 1
        session.content = content
        sessions[body.clientId] = session
        return .data(json(session))
    }

    private func list() -> Answer {
        .data("[\(sessions.keys.sorted().compactMap { sessions[$0].map(json) }.joined(separator: ","))]")
    }

    // MARK: Files

    private mutating func small(_ request: Request) -> Answer {
        guard let clientID = request.fields["clientId"] else { return breach("a file without an id", 400) }
        if request.body.count >= Plan.chunk { return breach("a large file in one request", 400) }
        return store(clientID, request.body, in: request.path[1])
    }

    private mutating func begin(_ request: Request) -> Answer {
        guard let body = decoded(InitBody.self, request), body.fileSize > 0 else {
            return breach("a bad init", 400)
        }
        if has(body.clientId) { return breach("file \(body.clientId) is begun again and is here", 409) }
        if uploads.values.contains(where: { $0.clientID == body.clientId && $0.isUsed && !$0.isComplete }) {
            return breach("file \(body.clientId) is begun again although its upload was in use", 409)
        }
        let id = newID("u")
        let upload = Upload(session: request.path[1], clientID: body.clientId, size: body.fileSize)
        uploads[id] = upload
        return .data(
            "{\"uploadId\":\"\(id)\",\"totalChunks\":\(upload.count),\"chunkSize\":\(Plan.chunk),"
                + "\"expiresAt\":\"2099-01-01T00:00:00Z\"}")
    }

    private mutating func chunk(_ request: Request) -> Answer {
        guard let id = request.fields["uploadId"], var upload = uploads[id], !upload.isComplete,
            let index = request.fields["chunkIndex"].flatMap(Int.init), (0..<upload.count).contains(index)
        else { return breach("a chunk of no upload", 404) }
        if upload.settled.contains(index) { breach("chunk \(index) of \(id) was sent again") }
        guard request.body.count == min(Plan.chunk, upload.size - index * Plan.chunk) else {
            return breach("chunk \(index) of \(id) has \(request.body.count) bytes", 400)
        }
        upload.settled = Set(upload.chunks.keys).subtracting([index])
        upload.isUsed = true
        upload.chunks[index] = request.body
        uploads[id] = upload
        return .data(
            "{\"uploadId\":\"\(id)\",\"chunkIndex\":\(index),\"uploadedChunks\":\(upload.chunks.count),"
                + "\"totalChunks\":\(upload.count)}")
    }

    private mutating func complete(_ request: Request) -> Answer {
        guard let id = decoded(CompleteBody.self, request)?.uploadId, let upload = uploads[id] else {
            return breach("a completion of no upload", 404)
        }
        if upload.isComplete { return breach("\(id) was completed again, without looking", 409) }
        guard upload.chunks.count == upload.count else {
            return breach("\(id) was completed with \(upload.chunks.count) of \(upload.count) chunks", 400)
        }
        uploads[id]?.isComplete = true
        let bytes = (0..<upload.count).flatMap { upload.chunks[$0] ?? [] }
        uploads[id]?.chunks = [:]
        return store(upload.clientID, bytes, in: upload.session)
    }

    private mutating func store(_ clientID: String, _ bytes: [UInt8], in session: String) -> Answer {
        guard let key = sessions.first(where: { $0.value.id == session })?.key else {
            return breach("a file for session \(session), which is not here", 404)
        }
        if has(clientID) { return breach("file \(clientID) was sent again, without looking", 409) }
        let sha256 = SHA256Digest(hashing: bytes).hex
        if !expected.contains(sha256) { breach("file \(clientID) has bytes that nobody recorded") }
        let told = falsified.contains(sha256) ? String(sha256.reversed()) : sha256
        let asset = Asset(id: newID("a"), clientID: clientID, size: bytes.count, sha256: sha256, told: told)
        sessions[key]?.assets.append(asset)
        sessions[key]?.revision += 1
        return .data("{\"asset\":\(json(asset)),\"sessionRevision\":\(sessions[key]?.revision ?? 0)}")
    }

    private func has(_ clientID: String) -> Bool {
        sessions.values.contains { $0.assets.contains { $0.clientID == clientID } }
    }

    // MARK: Means

    private mutating func newID(_ prefix: String) -> String {
        lastID += 1
        return "\(prefix)\(lastID)"
    }

    private mutating func breach(_ what: String, _ status: Int = 400) -> Answer {
        breach(what)
        return .failed(status)
    }

    private mutating func breach(_ what: String) { breaches.append(what) }

    private func decoded<Body: Decodable>(_ type: Body.Type, _ request: Request) -> Body? {
        try? JSONDecoder().decode(type, from: Data(request.body))
    }

    private func json(_ asset: Asset) -> String {
        "{\"id\":\"\(asset.id)\",\"clientId\":\"\(asset.clientID)\",\"sizeBytes\":\(asset.size),"
            + "\"sha256\":\"\(asset.told)\"}"
    }

    private func json(_ session: Session) -> String {
        let encoded =
            (try? JSONEncoder().encode(session.content)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
        return String(encoded.dropLast())
            + ",\"id\":\"\(session.id)\",\"revision\":\(session.revision),\"assets\":["
            + session.assets.map(json).joined(separator: ",") + "]}"
    }
}

private struct RefreshBody: Decodable {
    let refreshToken: String
}

private struct InitBody: Decodable {
    let clientId: String
    let fileSize: Int
}

private struct CompleteBody: Decodable {
    let uploadId: String
}

/// What is sent of a session, and given back as it came.
private struct SessionContent: Codable, Equatable {
    let clientId: String
    let title: String
    let startTime: String
    let endTime: String?
    let durationMs: Int64
    var baseRevision: Int?
}
