package import FoundationEssentials

/// Sessions that wait for the same thing.
package struct WaitDocument: Sendable, Hashable, Codable {
    /// A hold (`quota`, `conflict`, `remote_deleted`, `ambiguous`, `rejected`, `paused`, …), `retry`, or `other_host`;
    /// open.
    package var cause: String
    /// How many.
    package var sessions: Int
    /// What happened, for a person.
    package var text: String
    /// What ends it, for a person.
    package var hint: String?
    /// Whether nothing goes on until somebody decides.
    package var needsUser: Bool
    /// When the first of them goes on by itself.
    package var until: Date?

    package init(
        cause: String, sessions: Int, text: String, hint: String? = nil, needsUser: Bool = false,
        until: Date? = nil
    ) {
        self.cause = cause
        self.sessions = sessions
        self.text = text
        self.hint = hint
        self.needsUser = needsUser
        self.until = until
    }
}
