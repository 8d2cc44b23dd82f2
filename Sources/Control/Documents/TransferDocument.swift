package import FoundationEssentials

/// A file on its way.
package struct TransferDocument: Sendable, Hashable, Codable {
    /// `device_to_hub` or `hub_to_cloud`.
    package var leg: String
    /// The recorder's id.
    package var recorder: String?
    /// The session's id.
    package var session: String?
    /// The asset's id.
    package var asset: String?
    /// The recorder's name of the file.
    package var name: String?
    /// How far it is.
    package var bytes: Int64
    /// Its size.
    package var totalBytes: Int64?
    /// The rate of the last seconds.
    package var bytesPerSecond: Int64?
    /// How long it will take at that rate.
    package var etaSeconds: Int64?
    /// Since when.
    package var startedAt: Date?

    package init(
        leg: String, recorder: String? = nil, session: String? = nil, asset: String? = nil,
        name: String? = nil, bytes: Int64, totalBytes: Int64? = nil, bytesPerSecond: Int64? = nil,
        etaSeconds: Int64? = nil, startedAt: Date? = nil
    ) {
        self.leg = leg
        self.recorder = recorder
        self.session = session
        self.asset = asset
        self.name = name
        self.bytes = bytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
        self.etaSeconds = etaSeconds
        self.startedAt = startedAt
    }
}
