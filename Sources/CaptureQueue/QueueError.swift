/// What went wrong in the capture queue, in words that may be shown to a user.
///
/// The text never holds recorded data, file contents or bound SQL values.
package struct QueueError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure that a caller can tell apart.
    package enum Code: String, Sendable, CaseIterable {
        /// Another process owns the data directory.
        case alreadyInUse = "already_in_use"
        /// The data directory cannot be created or written.
        case notWritable = "not_writable"
        /// The database file is damaged or is no database.
        case corrupt
        /// The database belongs to a newer version of the program, or to another program.
        case foreignSchema = "foreign_schema"
        /// The disk is full.
        case diskFull = "disk_full"
        /// Taking the file would eat into the free space that is kept in reserve.
        case lowSpace = "low_space"
        /// The same, of a file that is too large for what is free; smaller ones fit.
        case doesNotFit = "does_not_fit"
        /// A read or write failed.
        case io
        /// A flush failed earlier: what the disk holds is unknown until the next start verifies it.
        case storageSuspect = "storage_suspect"
        /// SQLite refused a statement; a defect of the program.
        case database
        /// The queue is not open (not started yet, or closed).
        case closed
        /// No such session, asset, recorder or intent.
        case notFound = "not_found"
        /// A value from outside is out of bounds.
        case invalidInput = "invalid_input"
        /// An identity is taken by something else.
        case identityClash = "identity_clash"
        /// The state machine or the schema forbids the change; nothing was changed.
        case illegalTransition = "illegal_transition"
        /// The outcome of an earlier request of the same kind is not known yet.
        case intentPending = "intent_pending"
        /// Bytes were offered at another offset than the next one.
        case offsetMismatch = "offset_mismatch"
        /// A file has not the size that was promised.
        case sizeMismatch = "size_mismatch"
        /// The stored file of an asset is gone.
        case assetMissing = "asset_missing"
        /// The stored file of an asset is not what was stored.
        case assetCorrupt = "asset_corrupt"
        /// The server's answer does not describe what was sent.
        case receiptMismatch = "receipt_mismatch"
    }

    /// The kind of failure.
    package let code: Code
    /// What happened, and why.
    package let message: String
    /// What to do next, where that is known.
    package let hint: String?
    /// What only the log is told: the statement that SQLite refused.
    package let diagnosis: String?

    package init(_ code: Code, _ message: String, hint: String? = nil, diagnosis: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.diagnosis = diagnosis
    }

    /// Whether the same call cannot succeed later without somebody's help.
    package var isPermanent: Bool {
        switch code {
        case .alreadyInUse, .diskFull, .lowSpace, .doesNotFit, .io, .intentPending, .offsetMismatch, .closed:
            false
        case .notWritable, .corrupt, .foreignSchema, .storageSuspect, .database, .notFound, .invalidInput,
            .identityClash, .illegalTransition, .sizeMismatch, .assetMissing, .assetCorrupt,
            .receiptMismatch:
            true
        }
    }

    package var description: String {
        let text = hint.map { "\(message) (\($0))" } ?? message
        return diagnosis.map { "\(text) [\($0)]" } ?? text
    }
}
