package import FoundationEssentials

/// Some of the sessions.
package struct SessionPage: Sendable, Hashable, Codable {
    /// How many match in all.
    package var total: Int
    /// How many newer ones were skipped.
    package var offset: Int
    /// Newest first, without their assets.
    package var sessions: [SessionDocument]

    package init(
        total: Int, offset: Int, sessions: [SessionDocument]
    ) {
        self.total = total
        self.offset = offset
        self.sessions = sessions
    }
}

/// One capture and its way to the cloud.
package struct SessionDocument: Sendable, Hashable, Codable {
    /// The session's id: its `clientId` in the cloud.
    package var id: String
    /// The recorder's id.
    package var recorder: String
    /// What the recorder calls it.
    package var title: String?
    /// When it was captured.
    package var startedAt: Date?
    /// How long it is, in milliseconds.
    package var durationMs: Int64?
    /// Made from files that no manifest named.
    package var salvaged: Bool
    /// `draft`, `queued_offline`, `uploading`, `awaiting_confirmation`, `imported`, `failed_retryable`,
    /// `failed_terminal`, `cancelled`; open.
    package var state: String
    /// Why it is held or has failed.
    package var reason: String?
    /// When the upload is tried again.
    package var nextTry: Date?
    /// The cloud's id of the session.
    package var cloud: String?
    /// When it came into the queue.
    package var createdAt: Date
    /// When it last changed.
    package var updatedAt: Date
    /// The size of its files.
    package var bytes: Int64
    /// How many files it has.
    package var files: Int
    /// How many of them the cloud holds, proven by their SHA-256.
    package var uploadedFiles: Int
    /// Its files; only where one session was asked for.
    package var assets: [AssetDocument]?

    package init(
        id: String, recorder: String, title: String? = nil, startedAt: Date? = nil, durationMs: Int64? = nil,
        salvaged: Bool = false, state: String, reason: String? = nil, nextTry: Date? = nil,
        cloud: String? = nil, createdAt: Date, updatedAt: Date, bytes: Int64, files: Int, uploadedFiles: Int,
        assets: [AssetDocument]? = nil
    ) {
        self.id = id
        self.recorder = recorder
        self.title = title
        self.startedAt = startedAt
        self.durationMs = durationMs
        self.salvaged = salvaged
        self.state = state
        self.reason = reason
        self.nextTry = nextTry
        self.cloud = cloud
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.bytes = bytes
        self.files = files
        self.uploadedFiles = uploadedFiles
        self.assets = assets
    }
}

/// One file of a session.
package struct AssetDocument: Sendable, Hashable, Codable {
    /// The asset's id: its `clientId` in the cloud.
    package var id: String
    /// The recorder's name of it: not a path.
    package var name: String
    /// `audio`, `photo`; open.
    package var kind: String
    /// What the recorder says it is.
    package var mimeType: String?
    /// `expected`, `pulling`, `queued`, `uploading`, `uploaded`, `released`, `failed`; open.
    package var state: String
    /// Why it is held or has failed.
    package var reason: String?
    /// Its size.
    package var bytes: Int64
    /// How much of it is in the queue.
    package var pulledBytes: Int64
    /// How much of it the cloud has taken.
    package var uploadedBytes: Int64
    /// The hash of the bytes in the queue.
    package var sha256: String?
    /// What the recorder said it would be.
    package var declaredSha256: String?
    /// What the cloud says it is.
    package var confirmedSha256: String?
    /// The cloud's id of the file.
    package var cloud: String?
    /// When the cloud's hash was found equal to ours.
    package var confirmedAt: Date?
    /// When it was deleted on the recorder.
    package var deletedAt: Date?

    package init(
        id: String, name: String, kind: String, mimeType: String? = nil, state: String, reason: String? = nil,
        bytes: Int64, pulledBytes: Int64, uploadedBytes: Int64, sha256: String? = nil,
        declaredSha256: String? = nil, confirmedSha256: String? = nil, cloud: String? = nil,
        confirmedAt: Date? = nil, deletedAt: Date? = nil
    ) {
        self.id = id
        self.name = name
        self.kind = kind
        self.mimeType = mimeType
        self.state = state
        self.reason = reason
        self.bytes = bytes
        self.pulledBytes = pulledBytes
        self.uploadedBytes = uploadedBytes
        self.sha256 = sha256
        self.declaredSha256 = declaredSha256
        self.confirmedSha256 = confirmedSha256
        self.cloud = cloud
        self.confirmedAt = confirmedAt
        self.deletedAt = deletedAt
    }
}

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
