package import ObjectTransfer

/// The one error of this module: what went wrong with a recorder, or with one of its captures.
package struct RecorderError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What kind of failure it was.
    package enum Code: Sendable, Equatable {
        /// The device is not a recorder, or one without identity.
        case notARecorder
        /// The status value cannot be read.
        case malformedStatus
        /// A manifest is not what the profile says.
        case malformedManifest
        /// The link or the object server failed.
        case transfer(ObjectTransferError.Code)
        /// The bytes differ from the recorder's checksum again after a fresh start.
        case checksumMismatch
        /// The object changed while it was read, or since it was listed.
        case objectChanged
        /// The store could not keep the bytes.
        case store
    }

    /// What kind of failure it was.
    package let code: Code
    /// What happened, and why, for a person.
    package let message: String
    /// What to do about it, where there is something to do.
    package let hint: String?
    /// True when no later operation on this link can succeed.
    package let endsLink: Bool

    /// Makes an error of `code`; `endsLink` says that the link must be given up.
    package init(_ code: Code, _ message: String, hint: String? = nil, endsLink: Bool = false) {
        self.code = code
        self.message = message
        self.hint = hint
        self.endsLink = endsLink
    }

    /// Wraps a failure of the transfer; `doing` says in which step.
    package init(_ error: ObjectTransferError, doing: String) {
        self.init(.transfer(error.code), "\(doing): \(error.message)", endsLink: error.endsLink)
    }

    package var description: String { message }
}
