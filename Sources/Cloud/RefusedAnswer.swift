/// An answer that is not what was asked for, as people are told of it. Pure.
struct RefusedAnswer {
    let host: String
    let status: Int
    let type: String?
    let retryAfter: Duration?
    let envelope: Envelope?

    func error(_ call: CallKind, _ outcome: Outcome) -> CloudError {
        let isRefused = status >= 300 || envelope.map { !$0.isSuccess } ?? false
        var hint = statusHint
        if case .hold(let reason) = outcome { hint = reason.hint }
        return CloudError(
            isRefused ? .refused : .malformed, message, outcome: outcome, call: call, hint: hint,
            status: status, envelopeCode: envelope?.code)
    }

    /// Who answered what, in the server's words where it has some, and when it wants to be asked again.
    var message: String {
        var text = "\(host) answered \(status)"
        if let envelope, status >= 300 || !envelope.isSuccess {
            text += envelope.message.isEmpty ? " without a reason" : ": “\(envelope.message)”"
        } else {
            let type = type.map { " of type \(Envelope.clean($0))" } ?? ""
            text += " with a body\(type) that is not the API's"
        }
        guard let retryAfter, retryAfter > .zero, status >= 300 else { return text }
        return text + ", to be asked again in \(Self.words(retryAfter))"
    }

    /// What can be done about a status that no hold explains.
    private var statusHint: String? {
        switch status {
        case 408, 425, 429: "the service asks for patience: try again later"
        case 500...: "the service has trouble of its own: try again later"
        case 400...499: "the service does not take this; an update of celestiad may help"
        default:
            envelope == nil
                ? "check [Cloud] URL, and whether this network asks for a sign-in of its own" : nil
        }
    }

    private static func words(_ time: Duration) -> String {
        let seconds = time.components.seconds + (time.components.attoseconds > 0 ? 1 : 0)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\((seconds + 59) / 60) min"
        default: "\((seconds + 3599) / 3600) h"
        }
    }
}
