package import FoundationEssentials

/// A hold on a session or on the whole queue.
package struct Hold: Sendable, Equatable {
    /// Why it waits; `reason.clearedBy` says what ends it.
    package let reason: HoldReason
    /// Since when.
    package let since: Date
    /// When it ends by itself, where it does.
    package let until: Date?
    /// For `quota`: the bytes that must be free in the cloud.
    package let requiredBytes: Int64?
    /// More words for the user.
    package let detail: String?
}

/// Where an asset's bytes are, on this hub.
package enum PullState: String, Sendable, CaseIterable, SQLConvertible {
    /// Still (or again) to be read from its source.
    case wanted
    /// Durable in the spool.
    case stored
    /// The source does not have it any more and it was never stored.
    case unobtainable
    /// It was stored, and its file is gone or changed.
    case damaged
    /// Removed from the spool after the receipt, or purged by the user.
    case released
}

/// Where an asset is on its way to the cloud (`upload_state` of the contract).
package enum AssetUploadState: String, Sendable, CaseIterable, SQLConvertible {
    case pending, uploading, uploaded, failed
}

/// Whether the recorder still holds an object.
package enum RecorderObjectState: String, Sendable, CaseIterable, SQLConvertible {
    /// It never was on a recorder.
    case none
    case present
    /// A delete was sent, its outcome is not known.
    case deleting
    case deleted
    /// It vanished without us.
    case gone
}

/// Why an asset is never sent although it is stored.
package enum UploadExclusion: String, Sendable, CaseIterable, SQLConvertible {
    /// The API takes no empty files.
    case empty
    /// The API has no word for this kind of file.
    case unsupportedKind = "unsupported_kind"
}

/// How far a session is, in bytes and files.
package struct SessionProgress: Sendable, Equatable {
    /// Number of files, and the sum of their sizes.
    package let assets: Int
    package let totalBytes: Int64
    /// Files stored here, and bytes read from the source so far.
    package let storedAssets: Int
    package let pulledBytes: Int64
    /// Files that the cloud confirmed, and bytes that it acknowledged.
    package let uploadedAssets: Int
    package let uploadedBytes: Int64
}

/// A capture session as stored (`CaptureSession` of the contract).
package struct SessionRecord: Sendable, Equatable {
    /// The order of arrival, which is the order of work; also the cursor of lists. Clocks are not used.
    package let sequence: Int64
    package let id: SessionID
    /// The captureId verbatim: the session's `clientId` in the cloud.
    package let clientID: String
    package let state: SessionState
    package let createdAt: Date
    package let updatedAt: Date
    package let sourceKind: SourceKind
    package let originDeviceID: String
    /// The recorder that it came from.
    package let recorderSerial: String?
    /// Whether it was made up from objects that no manifest names.
    package let isSalvaged: Bool
    package let targetHost: String
    package let targetLibraryID: String?
    package let parentDocumentID: String?
    /// When the first upload began; from then on `targetHost` is immutable.
    package let uploadBeganAt: Date?
    package let title: String?
    package let startedAt: CaptureTime
    package let endedAt: CaptureTime?
    package let durationMs: Int64
    /// The stable namespace of its idempotency keys.
    package let idempotencyScope: String
    package let priority: Int
    package let lastError: String?
    package let terminalReason: TerminalReason?
    package let retryCount: Int
    package let nextTryAt: Date?
    /// The session's id in the cloud, once it is known.
    package let remoteID: String?
    /// The highest revision seen.
    package let revision: Int64?
    /// Whether the revision is known to be behind the server's (upload.md C-34).
    package let isBaseStale: Bool
    /// The digest of the metadata that the cloud has acknowledged.
    package let syncedDigest: String?
    /// The server's view at that time, in the caller's words: the base of a three-way merge.
    package let baseSnapshot: String?
    package let provenance: ProvenanceSeed
    package let importedAt: Date?
    /// The session that this one was made from, for another host; and the one that was made of it.
    package let migratedFrom: String?
    package let migratedTo: String?
    /// The account that it is for; nil until somebody has logged in. Never changed then.
    package let account: String?
}

/// A session with what a list shows of it.
package struct SessionSummary: Sendable, Equatable {
    package let session: SessionRecord
    package let holds: [Hold]
    package let progress: SessionProgress
    /// Why it is not known what the cloud has of it; nil when there is no doubt.
    package let doubt: String?
    /// Whether it is not known what the cloud has of it: it is looked up before anything else is sent.
    package var isAmbiguous: Bool { doubt != nil }
}

/// One page of a list; `next` is the cursor of the following page, nil on the last.
package struct SessionPage: Sendable, Equatable {
    package let sessions: [SessionSummary]
    package let next: Int64?
}

/// One file of a session as stored (`CaptureAsset` of the contract).
package struct AssetRecord: Sendable, Equatable {
    package let id: AssetID
    package let sessionID: SessionID
    /// Its place in the capture, from 0.
    package let ordinal: Int
    /// Its `clientId` in the cloud.
    package let clientID: String
    package let kind: AssetKind
    /// The name at the source; for people only.
    package let originalName: String
    /// The name for the cloud.
    package let wireName: String
    package let mimeType: String
    package let byteSize: Int64
    /// Computed here when the bytes were stored.
    package let sha256: SHA256Digest?
    /// Of the whole object, as proved against the recorder.
    package let crc32: UInt32?
    package let recorderSerial: String?
    package let storageGeneration: UInt32?
    /// The object id on the recorder, or the key of an imported file.
    package let sourceKey: String
    package let recorderState: RecorderObjectState
    package let pullState: PullState
    /// Bytes that are durable here.
    package let pulledBytes: Int64
    package let pullFailures: Int
    package let storedAt: Date?
    package let exclusion: UploadExclusion?
    package let uploadState: AssetUploadState
    /// Bytes that the cloud acknowledged.
    package let uploadedBytes: Int64
    /// The running upload's id, later the asset's id in the cloud (`remote_receipt_id` of the contract).
    package let remoteReceiptID: String?
    package let remoteAssetID: String?
    package let uploadedAt: Date?
    package let lastError: String?
}

/// One event of a session as stored.
package struct EventRecord: Sendable, Equatable {
    package let id: String
    package let relativeTimeMs: Int64
    package let type: EventType
    package let text: String?
    package let assetID: AssetID?
    package let voiceStartOffsetMs: Int64?
    package let voiceEndOffsetMs: Int64?
    /// Deleted here; to be named in `deletedEventClientIds` until the cloud has acknowledged it.
    package let isDeleted: Bool
}

/// A proof that the cloud holds something; final.
package struct Receipt: Sendable, Equatable {
    /// Nil for the session itself.
    package let assetID: AssetID?
    package let remoteID: String
    package let clientID: String
    package let sha256: SHA256Digest?
    package let byteSize: Int64?
    package let committedAt: Date
}

/// A session with everything that belongs to it.
package struct SessionDetail: Sendable, Equatable {
    package let summary: SessionSummary
    package let assets: [AssetRecord]
    package let events: [EventRecord]
    package let intents: [Intent]
    package let receipts: [Receipt]
    /// `provenance_chain`, oldest step first.
    package let provenanceChain: [[String: String]]
}

/// A request to the cloud whose outcome is not stored yet.
package struct Intent: Sendable, Equatable {
    package let id: Int64
    package let operation: UploadOperation
    package let sessionID: SessionID
    package let assetID: AssetID?
    /// The digest of what was (to be) sent.
    package let payloadDigest: String
    package let baseRevision: Int64?
    package let startedAt: Date
    /// How often it was sent.
    package let attempts: Int
    /// Whether the request may have reached the server without an answer reaching us.
    package let isAmbiguous: Bool
    package let detail: String?

    /// The contract's deterministic idempotency key of this operation.
    package var idempotencyKey: String {
        Identity.idempotencyKey(session: sessionID, asset: assetID, operation: operation)
    }
}

/// A chunked upload that the server has opened.
package struct ChunkedUpload: Sendable, Equatable {
    package let uploadID: String
    /// The server's chunk size, which wins over the requested one.
    package let chunkSize: Int64
    package let totalChunks: Int
    /// By the server's clock.
    package let expiresAt: Date
    /// One bit per acknowledged chunk, least significant bit first.
    package let acked: [UInt8]

    /// Whether the chunk was acknowledged.
    package func isAcked(_ index: Int) -> Bool {
        index >= 0 && index / 8 < acked.count && acked[index / 8] & (1 << (index % 8)) != 0
    }

    /// The first chunk at or after `index` that is not acknowledged; nil when there is none.
    package func nextChunk(from index: Int = 0) -> Int? {
        (max(0, index)..<max(0, index, totalChunks)).first { !isAcked($0) }
    }

    /// How many chunks are acknowledged.
    package var ackedCount: Int { acked.reduce(0) { $0 + $1.nonzeroBitCount } }
}

/// What the uploader needs to send one session.
package struct UploadJob: Sendable, Equatable {
    package let session: SessionRecord
    package let events: [EventRecord]
    /// The assets still to be confirmed by the cloud, smallest first.
    package let pending: [AssetRecord]
    /// Open chunked uploads.
    package let uploads: [AssetID: ChunkedUpload]
    /// Requests of an earlier run whose outcome is not known: each is settled by looking at the server
    /// (`settle…`, `withdraw`) before anything is sent again.
    package let unsettled: [Intent]
    /// Bytes that have to fit the quota: the pending sizes less what is acknowledged.
    package let pendingBytes: Int64
}

/// A recorder as known.
package struct RecorderRecord: Sendable, Equatable {
    package let serial: String
    package let name: String?
    package let manufacturer: String?
    package let model: String?
    package let firmware: String?
    package let hardware: String?
    /// Its Bluetooth identity address; for finding it again, not for telling recorders apart.
    package let bluetoothIdentity: String?
    package let storageGeneration: UInt32?
    /// How it was paired: `numeric_comparison`, `passkey` or `just_works`; nil: not known.
    package let security: String?
    /// When the user paired it; nil after it was forgotten.
    package let pairedAt: Date?
    package let lastSeenAt: Date
    /// When the status fields below were read.
    package let statusAt: Date?
    package let batteryPercent: Int?
    package let storageTotalBytes: Int64?
    package let storageFreeBytes: Int64?
    package let isRecording: Bool?
    package let isClockUnset: Bool?
    package let sealedCaptures: Int?
    /// What the user calls it, where that is not its own name.
    package let label: String?
    /// When the user removed it from the account: it is neither read nor bound again until the user says so.
    package let unboundAt: Date?
    /// Its device id in the account that is logged in, by host.
    package let deviceIDs: [String: String]
}

/// Sessions by state, and bytes under way.
package struct QueueCounts: Sendable, Equatable {
    package let sessions: [SessionState: Int]
    /// Bytes still to be read from sources.
    package let wantedBytes: Int64
    /// Bytes in the spool, and those of them that the cloud has not confirmed.
    package let storedBytes: Int64
    package let unsentBytes: Int64
    /// Files in the spool that the cloud has not confirmed.
    package let unsentFiles: Int
    /// Requests whose outcome is not known.
    package let ambiguous: Int
}
