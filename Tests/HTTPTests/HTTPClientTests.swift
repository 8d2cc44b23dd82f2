import EventLoop
import Foundation
import TestSupport
import Testing

@testable import HTTP

@Suite struct HTTPClientTests {
    @Test func aRequestArrivesAsItWasMadeAndNothingIsAdded() async throws {
        let server = try MisbehavingServer()
        var request = try server.request(.put, "/echo/a%2Fb/..?x=1")
        request.body = .bytes(Array("{\"a\":0}".utf8), type: "application/json")
        request.bearer = Secret("token-1")
        request.headers = [HTTPHeaders.Field("Accept", "application/json")]
        let echo = try await server.echo(request)
        #expect(echo.method == "PUT")
        #expect(echo.target == "/echo/a%2Fb/..?x=1")
        #expect(echo.text == "{\"a\":0}")
        #expect(echo.header("content-type") == "application/json")
        #expect(echo.header("authorization") == "Bearer token-1")
        for absent in ["expect", "accept-encoding", "cookie", "transfer-encoding"] {
            #expect(echo.header(absent) == nil)
        }
    }

    @Test(arguments: [HTTPRequest.Method.get, .post, .put, .delete])
    func aRequestWithoutABodySendsNone(method: HTTPRequest.Method) async throws {
        let server = try MisbehavingServer()
        let echo = try await server.echo(try server.request(method, "/echo"))
        #expect(echo.method == method.rawValue)
        #expect(echo.length == 0)
        #expect(echo.header("content-type") == nil)
    }

    @Test func aLargeBodyGoesWithoutExpect() async throws {
        let server = try MisbehavingServer()
        var request = try server.request(.post, "/echo")
        request.body = .bytes([UInt8](repeating: 7, count: 3 << 20), type: "application/octet-stream")
        let echo = try await server.echo(request)
        #expect(echo.length == 3 << 20)
        #expect(echo.header("expect") == nil)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func aRedirectIsAnAnswer(status: Int) async throws {
        let server = try MisbehavingServer()
        let response = try await server.get("/status/\(status)")
        #expect(response.status == status)
        #expect(try await server.count("/echo") == 0)
    }

    @Test func anAnswerShowsItsHeaders() async throws {
        let server = try MisbehavingServer()
        let response = try await server.get("/status/503")
        #expect(response.retryAfter == .seconds(7))
        #expect(response.date == 784_111_777)
        #expect(response.body == Array("body".utf8))
    }

    @Test func aCompressedBodyIsNotInflated() async throws {
        let server = try MisbehavingServer()
        #expect(try await server.get("/gzip").body.count < 1000)
    }

    @Test(arguments: [
        ("/huge", HTTPError.Code.bodyTooLarge), ("/huge-headers", .headersTooLarge),
        ("/many-headers", .headersTooLarge), ("/truncated", .truncated), ("/close", .emptyReply),
        ("/garbage", .notHTTP),
    ])
    func aWrongAnswerIsAnErrorThatSaysWhatWasSeen(path: String, code: HTTPError.Code) async throws {
        let server = try MisbehavingServer()
        let error = try #require(try await server.failure(try server.request(.get, path)))
        #expect(error.code == code, "\(error)")
        #expect(error.requestSent)
        #expect(error.responseBegan == (code != .emptyReply && code != .notHTTP))
    }

    @Test func aDeadlineEndsARequestThatIsNeverAnswered() async throws {
        let server = try MisbehavingServer()
        var request = try server.request(.post, "/stall")
        request.deadlines.total = .milliseconds(200)
        let error = try #require(try await server.failure(request))
        #expect(error.code == .timeout)
        #expect(error.requestSent && !error.responseBegan)
    }

    @Test func theWatchdogEndsAnUploadThatNobodyReads() async throws {
        let server = try MisbehavingServer { _ in
            var configuration = HTTPConfiguration()
            configuration.watchdogPeriod = .milliseconds(20)
            return configuration
        }
        var request = try server.request(.post, "/never-read")
        request.body = .bytes([UInt8](repeating: 1, count: 32 << 20), type: "application/octet-stream")
        request.deadlines.stall = StallLimits(silence: .milliseconds(300), floor: 0)
        let error = try #require(try await server.failure(request))
        #expect(error.code == .stalled)
        #expect(error.bytesSent < 32 << 20)
    }

    @Test func aRefusedConnectionHasCertainlySentNothing() async throws {
        let server = try MisbehavingServer()
        // Bound and not listening: nobody else can take the port meanwhile.
        let taken = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(taken) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let port = withUnsafeMutableBytes(of: &address) { bytes -> UInt16 in
            let pointer = bytes.baseAddress!.assumingMemoryBound(to: sockaddr.self)
            bind(taken, pointer, length)
            getsockname(taken, pointer, &length)
            return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
        let error = try await server.failure(HTTPRequest(.post, try HTTPURL("http://127.0.0.1:\(port)/")))
        #expect(error?.code == .connect)
        #expect(error?.requestSent == false)
    }

    @Test func cancellingATaskEndsItsRequest() async throws {
        let server = try MisbehavingServer()
        let request = try server.request(.get, "/stall")
        let task = Task { try await server.failure(request) }
        while try await server.count("/stall") == 0 { await Task.yield() }
        task.cancel()
        #expect(try await task.value?.code == .cancelled)
        // The client goes on.
        #expect(try await server.get("/status/200").status == 200)
    }

    @Test func aTaskThatIsAlreadyCancelledSendsNothingLasting() async throws {
        let server = try MisbehavingServer()
        let request = try server.request(.get, "/stall")
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await server.failure(request)
        }
        #expect(try await task.value?.code == .cancelled)
    }

    @Test func shuttingDownEndsEveryRequest() async throws {
        let server = try MisbehavingServer()
        let request = try server.request(.get, "/stall")
        async let first = server.failure(request)
        async let second = server.failure(request)
        while try await server.count("/stall") ?? 0 < 2 { await Task.yield() }
        await server.client.shutDown()
        #expect(try await first?.code == .cancelled)
        #expect(try await second?.code == .cancelled)
        #expect(try await server.failure(request)?.code == .cancelled)
    }

    @Test func manyRequestsAtOnceAllGetTheirOwnAnswer() async throws {
        let server = try MisbehavingServer()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<50 {
                group.addTask {
                    var request = try server.request(.post, "/echo")
                    request.body = .bytes(Array("\(index)".utf8), type: "text/plain")
                    return try await server.echo(request).text == "\(index)"
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }

    // MARK: Connections

    @Test func connectionsAreReusedUnlessAFreshOneIsWanted() async throws {
        let server = try MisbehavingServer()
        var request = try server.request(.get, "/echo")
        let first = try await server.echo(request).connection
        #expect(try await server.echo(request).connection == first)
        request.freshConnection = true
        #expect(try await server.echo(request).connection != first)
    }

    /// libcurl repeats a request by itself when a used connection dies before the answer.
    @Test func aRepeatableRequestIsRepeatedWhenItsUsedConnectionDies() async throws {
        let server = try MisbehavingServer()
        var request = try server.request(.post, "/second-dies")
        request.isRepeatable = true
        for _ in 0..<2 { #expect(try await server.client.send(request).body == Array("first".utf8)) }
        #expect(try await server.count("/second-dies") == 3)
    }

    @Test func anyOtherRequestIsNeverRepeatedUnasked() async throws {
        let server = try MisbehavingServer()
        let request = try server.request(.post, "/second-dies")
        _ = try await server.client.send(request)
        let error = try #require(try await server.failure(request))
        #expect(error.code == .emptyReply)
        #expect(error.requestSent && !error.responseBegan)
        #expect(try await server.count("/second-dies") == 2)
    }

    @Test func aFreshConnectionIsNotADeadOne() async throws {
        let server = try MisbehavingServer()
        var request = try server.request(.post, "/second-dies")
        request.freshConnection = true
        for _ in 0..<2 { #expect(try await server.client.send(request).body == Array("first".utf8)) }
        #expect(try await server.count("/second-dies") == 2)
    }

    // MARK: TLS

    @Test func anUnknownAuthorityIsRefusedAndAConfiguredOneIsTrusted() async throws {
        let stranger = try MisbehavingServer(tls: true)
        let error = try await stranger.failure(try stranger.request(.get, "/status/200"))
        #expect(error?.code == .tlsUntrusted, "\(String(describing: error))")
        #expect(error?.requestSent == false)
        let known = try MisbehavingServer(tls: true) { HTTPConfiguration(caFile: $0 + "/cert.pem") }
        #expect(try await known.get("/status/200").status == 200)
    }

    @Test func aKeyOtherThanThePinnedOneIsRefused() async throws {
        let server = try MisbehavingServer(tls: true) {
            HTTPConfiguration(
                caFile: $0 + "/cert.pem",
                pinnedPublicKey: "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        }
        #expect(try await server.failure(try server.request(.get, "/status/200"))?.code == .tlsUntrusted)
    }

    @Test func aSecretInAHeaderCannotSmuggleAnotherHeader() async throws {
        let server = try MisbehavingServer()
        var request = try server.request(.get, "/echo")
        request.bearer = Secret("a\r\nX-Evil: 1")
        #expect(try await server.failure(request)?.code == .invalidRequest)
    }
}
