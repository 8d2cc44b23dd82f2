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
    /// The recorder's id; for imported files this hub's own.
    package var recorder: String
    /// By which way it came: `recorder`, `watched_folder`, `dslr_import`, `mobile_photo`, `mobile_scan`; open.
    package var source: String?
    /// The API that it is for; never changed once sending has begun.
    package var host: String?
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
    /// Everything that it waits for, each with what ends it; absent when it waits for nothing.
    package var holds: [HoldDocument]?
    /// Whether a request was sent and it is not known whether the cloud has it: it is looked up before anything else.
    package var ambiguous: Bool?
    /// Attempts that failed since something last worked.
    package var retries: Int?
    /// What the last failure was.
    package var lastError: String?
    /// For `failed_terminal`: `asset_missing`, `asset_corrupt`, `auth_revoked`, `invalid_host`; open.
    package var terminalReason: String?
    /// The account that it is for, by the user's id there.
    package var account: String?
    /// The session that this one was made from, for another host or account; and the one that was made of it.
    package var migratedFrom: String?
    package var migratedTo: String?
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
    /// How it came to be, the first step first; only where one session was asked for.
    package var provenance: [ProvenanceStepDocument]?
    /// What else is known of where it came from and where it belongs; only where one session was asked for.
    package var origin: OriginDocument?

    package init(
        id: String, recorder: String, source: String? = nil, host: String? = nil, title: String? = nil,
        startedAt: Date? = nil, durationMs: Int64? = nil, salvaged: Bool = false, state: String,
        reason: String? = nil, holds: [HoldDocument]? = nil, ambiguous: Bool? = nil, retries: Int? = nil,
        lastError: String? = nil, terminalReason: String? = nil, account: String? = nil,
        migratedFrom: String? = nil,
        migratedTo: String? = nil, nextTry: Date? = nil,
        cloud: String? = nil, createdAt: Date, updatedAt: Date, bytes: Int64, files: Int, uploadedFiles: Int,
        assets: [AssetDocument]? = nil, provenance: [ProvenanceStepDocument]? = nil
    ) {
        self.id = id
        self.recorder = recorder
        self.source = source
        self.host = host
        self.title = title
        self.startedAt = startedAt
        self.durationMs = durationMs
        self.salvaged = salvaged
        self.state = state
        self.reason = reason
        self.holds = holds
        self.ambiguous = ambiguous
        self.retries = retries
        self.lastError = lastError
        self.terminalReason = terminalReason
        self.account = account
        self.migratedFrom = migratedFrom
        self.migratedTo = migratedTo
        self.nextTry = nextTry
        self.cloud = cloud
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.bytes = bytes
        self.files = files
        self.uploadedFiles = uploadedFiles
        self.assets = assets
        self.provenance = provenance
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
    /// `expected`, `pulling`, `queued`, `uploading`, `uploaded`, `released` (the cloud has it, the copy here is gone),
    /// `removed` (purged, the cloud is not known to have it), `failed`; open.
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

/// Where a session came from and where it belongs, as far as the cloud cannot be told yet.
package struct OriginDocument: Sendable, Hashable, Codable {
    /// The capturing device's, or this hub's, own id.
    package var originDeviceId: String
    /// The name and the model of the capturing device.
    package var deviceName: String?
    package var deviceModel: String?
    /// The surface of capture, such as `celestiad`, `celestiad_import` or `watched_folder`; open.
    package var appSurface: String
    /// Where a file lay before it was imported.
    package var sourcePathHint: String?
    /// `capture_date`, `equipment`, `photographer`, `condition_notes`, as text by name.
    package var imageProvenance: [String: String]?
    /// The times of capture, as the source wrote them.
    package var captureStartedAt: String
    package var captureCompletedAt: String?
    /// The namespace of the session's idempotency keys.
    package var idempotencyScope: String
    /// The library and the folder that it is for, once they are known.
    package var targetLibraryId: String?
    package var parentDocumentId: String?

    package init(
        originDeviceId: String, deviceName: String? = nil, deviceModel: String? = nil, appSurface: String,
        sourcePathHint: String? = nil, imageProvenance: [String: String]? = nil, captureStartedAt: String,
        captureCompletedAt: String? = nil, idempotencyScope: String, targetLibraryId: String? = nil,
        parentDocumentId: String? = nil
    ) {
        self.originDeviceId = originDeviceId
        self.deviceName = deviceName
        self.deviceModel = deviceModel
        self.appSurface = appSurface
        self.sourcePathHint = sourcePathHint
        self.imageProvenance = imageProvenance
        self.captureStartedAt = captureStartedAt
        self.captureCompletedAt = captureCompletedAt
        self.idempotencyScope = idempotencyScope
        self.targetLibraryId = targetLibraryId
        self.parentDocumentId = parentDocumentId
    }
}

/// One step of how a capture came to be.
package struct ProvenanceStepDocument: Sendable, Hashable, Codable {
    /// What happened.
    package var step: String
    /// What else is known of it, as text by name.
    package var details: [String: String]

    package init(step: String, details: [String: String] = [:]) {
        self.step = step
        self.details = details
    }
}
