import Cloud
import EventLoop
import HTTP
import TestSupport

/// Answers requests by a function of the request and its number, and remembers them.
final class FakeTransport: CloudTransport {
    typealias Answer = @Sendable (HTTPRequest, Int) async -> Result<HTTPResponse, HTTPError>

    private let log = Locked<[HTTPRequest]>([])
    private let answer: Answer

    init(_ answer: @escaping Answer) {
        self.answer = answer
    }

    var requests: [HTTPRequest] { log.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        let number = log.withLock { log in
            log.append(request)
            return log.count
        }
        return try await answer(request, number).get()
    }

    func download(_ request: HTTPRequest, into sink: HTTPSink) async throws(HTTPError) -> HTTPResponse {
        try await send(request)
    }
}

extension HTTPResponse {
    static func json(_ status: Int, _ text: String, headers: [HTTPHeaders.Field] = []) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: HTTPHeaders([HTTPHeaders.Field("Content-Type", "application/json")] + headers),
            body: Array(text.utf8))
    }

    static func grant(_ number: Int) -> HTTPResponse {
        let data =
            "{\"user\":{\"id\":\"u1\",\"username\":\"ada\"},\"token\":\"t\(number)\",\"refreshToken\":\"r\(number)\",\"expiresAt\":\"2099-01-01T00:00:00Z\"}"
        return .json(200, "{\"code\":0,\"message\":\"\",\"data\":\(data)}")
    }

    static let quota = HTTPResponse.json(
        200, "{\"code\":0,\"message\":\"\",\"data\":{\"totalBytes\":9,\"usedBytes\":1,\"remainingBytes\":8}}")
    static let unauthorized = HTTPResponse.json(401, "{\"code\":401,\"message\":\"no\"}")
}

extension CelestiaAPI {
    /// With tokens in a folder, and its own thread for them if none is given.
    static func faked(
        _ transport: FakeTransport, in directory: TemporaryDirectory, on disk: EventLoop? = nil,
        base: String = "https://h/v1"
    ) throws -> CelestiaAPI {
        CelestiaAPI(
            base: try APIBase(base), transport: transport, directory: directory.path, machine: "m1",
            executor: try disk ?? EventLoop.start(name: "disk-test"))
    }
}
