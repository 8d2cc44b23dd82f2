package import FoundationEssentials

/// Something long that a caller has asked for: a scan, a pairing or a download.
package struct JobDocument: Sendable, Hashable, Codable {
    /// The job's object path.
    package var id: String
    /// `scan`, `pair`, `download`; open.
    package var kind: String
    /// `running`, `succeeded`, `failed`, `cancelled`; open.
    package var state: String
    /// What is being done: `connecting`, `pairing`, `reading`; open.
    package var stage: String?
    /// What the caller is asked now; answered by Respond.
    package var prompt: PromptDocument?
    /// What a scan has found so far.
    package var found: [ScanResultDocument]
    /// What a pairing led to.
    package var pairing: PairResultDocument?
    /// How long the file is that a download has written.
    package var bytes: Int64?
    /// Why it failed.
    package var error: ErrorDocument?
    /// Since when it runs.
    package var startedAt: Date

    package init(
        id: String, kind: String, state: String, stage: String? = nil, prompt: PromptDocument? = nil,
        found: [ScanResultDocument] = [], pairing: PairResultDocument? = nil, bytes: Int64? = nil,
        error: ErrorDocument? = nil, startedAt: Date
    ) {
        self.id = id
        self.kind = kind
        self.state = state
        self.stage = stage
        self.prompt = prompt
        self.found = found
        self.pairing = pairing
        self.bytes = bytes
        self.error = error
        self.startedAt = startedAt
    }
}

/// A question to the user during a pairing.
package struct PromptDocument: Sendable, Hashable, Codable {
    /// To be given back with the answer: one to a question that is gone is refused.
    package var serial: Int
    /// `confirm`, `passkey`, `display`, `just_works`; open.
    package var kind: String
    /// The six digits to compare or to type.
    package var passkey: String?

    package init(
        serial: Int, kind: String, passkey: String? = nil
    ) {
        self.serial = serial
        self.kind = kind
        self.passkey = passkey
    }
}

/// Why something failed.
package struct ErrorDocument: Sendable, Hashable, Codable {
    /// The last element of the D-Bus error name.
    package var code: String
    /// What happened.
    package var message: String
    /// What to do next.
    package var hint: String?

    package init(
        code: String, message: String, hint: String? = nil
    ) {
        self.code = code
        self.message = message
        self.hint = hint
    }
}
