import FoundationEssentials
import HTTP

/// The Celestia API: one function per operation of its contract. Each makes one attempt (a refused token is
/// refreshed and the call replayed once) and throws `CloudError`, whose `outcome` says what to do next.
///
/// Nothing here retries, waits or records: that is the supervisors', who write the intent first.
package struct CelestiaAPI: Sendable {
    /// The address that everything goes to.
    package let base: APIBase
    /// The tokens and their state.
    package let tokens: TokenStore
    /// The server's time.
    package let clock: ServerClock
    let runner: CallRunner
    private var account: String?
    var authorized: AuthorizedClient {
        AuthorizedClient(runner: runner, tokens: tokens, account: account)
    }

    /// `directory`, `machine` and `executor` are the token store's.
    package init(
        base: APIBase, transport: any CloudTransport, directory: String, machine: String,
        executor: any SerialExecutor,
        monotonic: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.base = base
        clock = ServerClock(monotonic: monotonic)
        runner = CallRunner(transport: transport, clock: clock)
        tokens = TokenStore(
            directory: directory, base: base, machine: machine,
            refresher: Refresher(base: base, runner: runner), clock: clock, executor: executor,
            monotonic: monotonic)
    }

    /// The same, for work that belongs to one account: while another is logged in, its calls are not made. nil: whoever
    /// is logged in.
    package func only(for account: String?) -> CelestiaAPI {
        var copy = self
        copy.account = account
        return copy
    }

    // MARK: Building calls

    func request(
        _ kind: CallKind, _ method: HTTPRequest.Method, _ path: [String],
        query: [(name: String, value: String)] = [], bytes: Int64 = 0
    ) throws(CloudError) -> HTTPRequest {
        try base.request(kind, method, path, query: query, bytes: bytes)
    }

    /// A call whose answer's data is decoded as it is.
    func call<Value: Decodable & Sendable>(
        _ kind: CallKind, _ request: HTTPRequest, as type: Value.Type
    ) -> Call<Value> {
        Call(kind: kind, request: request) { envelope, _ in envelope.data(type) }
    }

    /// A call whose answer's data, if there is any, says nothing.
    func call(_ kind: CallKind, _ request: HTTPRequest) -> Call<Void> {
        Call(kind: kind, request: request) { _, _ in () }
    }
}

extension APIBase {
    func request(
        _ kind: CallKind, _ method: HTTPRequest.Method, _ path: [String],
        query: [(name: String, value: String)] = [], bytes: Int64 = 0
    ) throws(CloudError) -> HTTPRequest {
        var request = HTTPRequest(method, try url(path, query: query))
        request.headers = [HTTPHeaders.Field("Accept", "application/json")]
        request.deadlines = kind.deadlines(bytes: bytes)
        request.bodyLimit = kind.bodyLimit
        return request
    }
}

extension HTTPRequest {
    /// The same request with a JSON body; nil values are left out (C-13).
    func json(_ value: some Encodable) throws(CloudError) -> HTTPRequest {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            throw .invalid("the request cannot be written as JSON")
        }
        var request = self
        request.body = .bytes(Array(data), type: "application/json")
        return request
    }
}

/// The refresh call, which carries no access token and is never sent twice unasked.
struct Refresher: TokenRefreshing {
    let base: APIBase
    let runner: CallRunner

    func refresh(_ token: Secret) async throws(CloudError) -> AuthGrant {
        let request = try base.request(.refresh, .post, ["auth", "refresh"])
            .json(["refreshToken": token.reveal()])
        let call = Call(kind: .refresh, request: request) { envelope, _ in envelope.data(AuthGrant.self) }
        return try await runner.run(call, token: nil)
    }
}
