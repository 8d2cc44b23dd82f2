import CCurl
package import EventLoop
import Glibc

/// Sends requests by libcurl on an event loop: HTTP/1.1, TLS 1.2 or later, no redirects, no cookies, no
/// decompression, every deadline explicit.
///
/// A cancelled task ends its request at once; a call returns only after libcurl has let go of everything the
/// request refers to.
package actor HTTPClient {
    private let loop: EventLoop
    private let engine: CurlEngine
    private var lastID: UInt64 = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// To be called once in `main`, before any thread: initialises libcurl and ignores SIGPIPE for the whole
    /// process, which libcurl's TLS may raise despite CURLOPT_NOSIGNAL. Throws `other` when libcurl cannot
    /// be used.
    package nonisolated static func globalSetUp() throws(HTTPError) {
        signal(SIGPIPE, SIG_IGN)
        let code = celestiad_curl_global_init()
        guard code == CURLE_OK else {
            throw HTTPError(
                .other, "curl_global_init: \(String(cString: curl_easy_strerror(code)))",
                curlCode: Int32(bitPattern: code.rawValue))
        }
    }

    /// `now` must not go backwards; it feeds the watchdog. Throws `other` when libcurl is out of memory.
    package init(
        loop: EventLoop, configuration: HTTPConfiguration = HTTPConfiguration(),
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) throws(HTTPError) {
        self.loop = loop
        engine = try CurlEngine(loop: loop, configuration: configuration, now: now)
    }

    isolated deinit {
        engine.close()
    }

    /// Sends one request and takes its answer into memory. Any HTTP status is an answer.
    package func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        try await perform(request, sink: nil)
    }

    /// Sends one request and writes the body of a 200 or 206 into a file; the body of any other answer is
    /// taken into memory. The file is not synced: that is the caller's, after checking what it got.
    package func download(_ request: HTTPRequest, into sink: HTTPSink) async throws(HTTPError) -> HTTPResponse
    {
        try await perform(request, sink: sink)
    }

    /// Holds all requests that are `isPaced`, together, to so many bytes per second; nil is unlimited. Requests under way
    /// follow, unless the limit falls to less than an eighth: then it holds from the next request on.
    package func limitSending(to bytesPerSecond: Int64?) {
        engine.limitSending(to: bytesPerSecond)
    }

    /// Ends every request with `cancelled` and frees libcurl's state. Later requests fail at once.
    package func shutDown() {
        engine.close()
    }

    private func perform(_ request: HTTPRequest, sink: HTTPSink?) async throws(HTTPError) -> HTTPResponse {
        lastID += 1
        let id = lastID
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { completion in
                engine.start(request, sink: sink, id: id, completion: completion)
            }
        } onCancel: {
            // Runs after this turn's job, so the request is started by then.
            loop.submit { [self] in
                assumeIsolated { $0.engine.cancel(id, "the task was cancelled") }
            }
        }
        return try result.get()
    }
}
