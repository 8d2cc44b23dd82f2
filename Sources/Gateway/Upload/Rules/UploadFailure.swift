package import Cloud
import HTTP

/// What the rules need to know of a call that did not succeed.
package struct UploadFailure: Sendable, Equatable {
    package let outcome: Outcome
    /// Whether not even a connection came about: then it is the host that is away, not this session's fault.
    package let isUnreachable: Bool
    /// Whether it broke off below HTTP: the network's fault, more often than not.
    package let isCutOff: Bool
    /// The HTTP status, when there was one.
    package let status: Int?
    /// For the user: what happened.
    package let message: String
    /// For the user: what to do.
    package let hint: String?

    package init(
        _ outcome: Outcome, isUnreachable: Bool = false, isCutOff: Bool = false, status: Int? = nil,
        message: String = "",
        hint: String? = nil
    ) {
        self.outcome = outcome
        self.isUnreachable = isUnreachable
        self.isCutOff = isCutOff
        self.status = status
        self.message = message
        self.hint = hint
    }

    package init(_ error: CloudError) {
        let isUnreachable =
            switch error.transport {
            case .resolve, .connect: true
            default: false
            }
        self.init(
            error.outcome, isUnreachable: isUnreachable, isCutOff: error.code == .transport,
            status: error.status,
            message: error.description, hint: error.hint)
    }

    /// What is kept of it where an attempt ends so. A host that is shut has a hint of its own.
    package func text(for kind: UploadEnd.Kind) -> String {
        if case .shut = kind { return message }
        return hint.map { "\(message); \($0)" } ?? message
    }

    /// What becomes of the intent that was written before the call.
    package enum IntentFate: Sendable, Equatable {
        /// The call had no effect, or an effect that repeating it cannot double.
        case withdraw
        /// Nobody knows: to be settled by looking at the server.
        case doubt
    }

    /// A portal's or gateway's page may hide an answer, so those are in doubt as well.
    package var intentFate: IntentFate {
        switch outcome {
        case .ambiguous, .hold(.hostNotCelestia), .hold(.redirected), .success: .doubt
        case .retry, .reauth, .reinit, .conflict, .hold, .terminal: .withdraw
        }
    }
}
