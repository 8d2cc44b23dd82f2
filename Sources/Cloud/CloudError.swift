package import HTTP

/// A call that did not succeed, with the next step decided.
package struct CloudError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where it went wrong.
    package enum Code: String, Sendable {
        /// No answer: `transport` says why.
        case transport
        /// The server answered with an error.
        case refused
        /// The answer is not what the contract promises.
        case malformed
        /// There is no token to send, or it is not accepted any more.
        case notLoggedIn
        /// The credentials file could not be read or written.
        case storage
        /// Another login came between.
        case superseded
        /// The call cannot be made with these values.
        case invalidArgument
    }

    package let code: Code
    package let outcome: Outcome
    package let call: CallKind?
    /// What happened and why; the server's words are shortened and cleaned of control characters.
    package let message: String
    /// What to do next.
    package let hint: String?
    /// The HTTP status, when there was one.
    package let status: Int?
    /// The envelope's code, when there was one.
    package let envelopeCode: Int64?
    /// What failed below HTTP.
    package let transport: HTTPError.Code?

    package init(
        _ code: Code, _ message: String, outcome: Outcome, call: CallKind? = nil, hint: String? = nil,
        status: Int? = nil, envelopeCode: Int64? = nil, transport: HTTPError.Code? = nil
    ) {
        self.code = code
        self.message = message
        self.outcome = outcome
        self.call = call
        self.hint = hint
        self.status = status
        self.envelopeCode = envelopeCode
        self.transport = transport
    }

    /// Whether the very same call can never succeed.
    package var isPermanent: Bool {
        if case .terminal = outcome { true } else { false }
    }

    package var description: String {
        call.map { "\($0.title): \(message)" } ?? message
    }

    static func invalid(_ message: String, call: CallKind? = nil, hint: String? = nil) -> CloudError {
        CloudError(.invalidArgument, message, outcome: .terminal(.invalidCall), call: call, hint: hint)
    }

    static func storage(_ message: String) -> CloudError {
        CloudError(
            .storage, message, outcome: .retry(after: nil),
            hint: "check that the state directory is writable and has free space")
    }

    /// There is no login to make a call with.
    package static func notLoggedIn(_ message: String) -> CloudError {
        CloudError(.notLoggedIn, message, outcome: .hold(.authRequired), hint: "run celestiad login")
    }
}
