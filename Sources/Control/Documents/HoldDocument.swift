package import FoundationEssentials

/// Why something waits, and what ends it.
package struct HoldDocument: Sendable, Hashable, Codable {
    /// `quota`, `auth`, `conflict`, `paused`, `low_disk`, `metered`, `clock`, `remote_deleted`, `ambiguous`, `rejected`;
    /// open.
    package var reason: String
    /// What ends it, for a person.
    package var clearedBy: String
    /// Since when.
    package var since: Date
    /// When it ends by itself.
    package var until: Date?
    /// For `quota`: the bytes that must be free in the cloud.
    package var requiredBytes: Int64?
    /// What happened.
    package var detail: String?

    package init(
        reason: String, clearedBy: String, since: Date, until: Date? = nil, requiredBytes: Int64? = nil,
        detail: String? = nil
    ) {
        self.reason = reason
        self.clearedBy = clearedBy
        self.since = since
        self.until = until
        self.requiredBytes = requiredBytes
        self.detail = detail
    }
}
