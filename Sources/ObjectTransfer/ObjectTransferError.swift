/// The one error of this module: what went wrong between the hub and an object server, and whether the
/// link can still be used afterwards.
package struct ObjectTransferError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it was.
    package enum Code: Sendable, Equatable {
        /// Bytes that do not have the layout the specification gives them.
        case malformed
        /// The connection ended while the operation ran or before it began.
        case linkLost
        /// No answer within the deadline; the control point may no longer be used on this link.
        case timedOut
        /// The task that ran the operation was cancelled.
        case cancelled
        /// The device does not offer the characteristic.
        case characteristicMissing
        /// The attribute needs a paired (encrypted) link.
        case notPaired
        /// The server refused the attribute operation; the ATT error code where it is known.
        case attribute(UInt8?)
        /// The Object Action Control Point answered with this result instead of success.
        case action(ObjectActionResult)
        /// The Object List Control Point answered with this result instead of success.
        case list(ObjectListResult)
        /// The server does something that the specification forbids (too many bytes, endless list, …).
        case protocolViolation
        /// The data channel went silent before all bytes had come.
        case stalled
        /// The data channel could not be opened, or closed before all bytes had come.
        case channel
        /// The current object is not the one that was listed: its metadata differs.
        case objectChanged
        /// Something is larger than the bounds of the profile allow.
        case tooLarge
        /// Another control point operation is running.
        case busy
        /// The server lacks a feature that the operation needs.
        case unsupported
        /// The receiver of the bytes failed; its own error tells why.
        case sink

        fileprivate var endsLink: Bool {
            switch self {
            case .linkLost, .timedOut, .cancelled, .notPaired, .characteristicMissing: true
            case .malformed, .attribute, .action, .list, .protocolViolation, .stalled, .channel,
                .objectChanged, .tooLarge, .busy, .unsupported, .sink:
                false
            }
        }
    }

    /// What kind of failure it was.
    package let code: Code
    /// What happened, and why, for a person.
    package let message: String

    /// True when nothing more can be done on this link: it is gone, its control points are in doubt, or
    /// only a new link can clear the server's state.
    package let endsLink: Bool

    /// Makes an error of `code` with a `message` for a person; `endsLink` where the code alone does not say
    /// whether the link is of use any more.
    package init(_ code: Code, _ message: String, endsLink: Bool? = nil) {
        self.code = code
        self.message = message
        self.endsLink = endsLink ?? code.endsLink
    }

    package var description: String { message }

    static func malformed(_ message: String) -> Self { Self(.malformed, message) }
}
