package import HTTP
import Synchronization

/// What sends requests: the HTTP client, or a stand-in for it in tests.
package protocol CloudTransport: Sendable {
    /// See `HTTPClient.send`.
    func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse
    /// See `HTTPClient.download`.
    func download(_ request: HTTPRequest, into sink: HTTPSink) async throws(HTTPError) -> HTTPResponse
}

extension HTTPClient: CloudTransport {}

/// One call of the API: a request that can be sent again, and how its answer's data is read.
struct Call<Value: Sendable>: Sendable {
    let kind: CallKind
    let request: HTTPRequest
    var sink: HTTPSink?
    /// Makes what reads the body as it comes, anew for each attempt; `read` is not asked then.
    var stream: (@Sendable () -> BodyStream<Value>)?
    /// nil when the data is not what the call needs.
    let read: @Sendable (Envelope, HTTPResponse) -> Value?
}

/// Reads one answer's body as it comes.
struct BodyStream<Value: Sendable>: Sendable {
    let feed: @Sendable (UnsafeRawBufferPointer) -> Void
    /// What is left of the body as an envelope.
    let head: @Sendable () -> [UInt8]
    /// nil when the data is not what the call needs.
    let value: @Sendable () -> Value?
}

/// Makes one attempt at a call and decides what its answer means.
final class CallRunner: Sendable {
    private let transport: any CloudTransport
    private let clock: ServerClock
    /// Whether the last attempt failed below HTTP: then kept connections may be dead too.
    private let isSuspicious = Atomic(false)

    init(transport: any CloudTransport, clock: ServerClock) {
        self.transport = transport
        self.clock = clock
    }

    func run<Value: Sendable>(
        _ call: Call<Value>, token: Secret?, authorization: CallResult.Authorization = .current
    ) async throws(CloudError) -> Value {
        var request = call.request
        request.bearer = call.kind.needsToken ? token : nil
        let wasSuspicious = isSuspicious.exchange(false, ordering: .relaxed)
        request.freshConnection = wasSuspicious || call.kind.needsFreshConnection
        request.isRepeatable = call.kind.isRepeatable && !call.kind.needsFreshConnection
        let stream = call.stream?()
        request.onBody = stream?.feed
        var response: HTTPResponse
        do throws(HTTPError) {
            if let sink = call.sink {
                response = try await transport.download(request, into: sink)
            } else {
                response = try await transport.send(request)
            }
        } catch {
            if error.code != .cancelled { isSuspicious.store(true, ordering: .relaxed) }
            throw CloudError(
                .transport, error.explanation(host: request.url.authority),
                outcome: .of(CallResult(call: call.kind, transport: HTTPFailure(error))),
                call: call.kind, hint: error.hint, status: error.status, transport: error.code)
        }
        clock.observe(response)
        if let stream, response.status == 200 {
            response.body.withUnsafeBytes { stream.feed($0) }
            response.body = stream.head()
        }
        return try judge(response, call, stream, authorization)
    }

    private func judge<Value: Sendable>(
        _ response: HTTPResponse, _ call: Call<Value>, _ stream: BodyStream<Value>?,
        _ authorization: CallResult.Authorization
    ) throws(CloudError) -> Value {
        let isSuccess = (200...299).contains(response.status)
        if isSuccess, call.sink != nil, !Self.isText(response.mediaType),
            let value = call.read(Envelope.none, response)
        {
            return value
        }
        let envelope = response.mediaType == "text/html" ? nil : Envelope(response.body)
        let value =
            isSuccess ? envelope.flatMap { stream.map { $0.value() } ?? call.read($0, response) } : nil
        var result = CallResult(
            call: call.kind, status: response.status, body: .foreign, retryAfter: response.retryAfter,
            authorization: authorization)
        if let envelope {
            result.body = .envelope(code: envelope.code, isUsable: value != nil)
            let data = envelope.errorData
            result.serverRevision = data.serverRevision
            result.requiredBytes = data.requiredBytes
            result.remainingBytes = data.remainingBytes
        } else if response.body.isEmpty, call.sink == nil || !isSuccess {
            result.body = .empty
        }
        let outcome = Outcome.of(result)
        if outcome == .success {
            if let value = value ?? call.read(envelope ?? Envelope.none, response) { return value }
        }
        let answer = RefusedAnswer(
            host: call.request.url.authority, status: response.status, type: response.mediaType,
            retryAfter: response.retryAfter, envelope: envelope)
        throw answer.error(call.kind, outcome)
    }

    /// Whether the type is one in which errors and portals come rather than an asset.
    private static func isText(_ type: String?) -> Bool {
        type == "text/html" || type == "application/json"
    }
}

extension HoldReason {
    /// What an operator can do about it.
    package var hint: String {
        switch self {
        case .quota: "free storage in the account, or raise its quota"
        case .authRequired: "run celestiad login"
        case .hostNotCelestia: "check the API address, and whether this network asks for a sign-in of its own"
        case .redirected: "check the API address: redirects are not followed"
        case .clockUnsynced: "wait for time synchronisation, or set the clock"
        case .tlsUntrusted: "check the CA file and the pinned key, and who answers at this address"
        case .forbidden: "check what this account may do"
        case .gatewayLimit: "ask the operator of the gateway for a higher body limit"
        }
    }
}
