package import FoundationEssentials

/// By which way a capture came here (`source_kind` of the contract, and the recorder itself).
package enum SourceKind: String, Sendable, CaseIterable, Codable, SQLConvertible {
    case recorder
    case watchedFolder = "watched_folder"
    case dslrImport = "dslr_import"
    case mobilePhoto = "mobile_photo"
    case mobileScan = "mobile_scan"
}

/// What an asset is to the cloud.
package enum AssetKind: String, Sendable, CaseIterable, Codable, SQLConvertible {
    case audio = "AUDIO"
    case photo = "PHOTO"
    /// Kept here, but the cloud has no word for it.
    case other = "OTHER"
}

/// The types of a capture's events.
package enum EventType: String, Sendable, CaseIterable, Codable, SQLConvertible {
    case photo = "PHOTO"
    case note = "NOTE"
    case marker = "MARKER"
    case voice = "VOICE"
    case continuation = "CONTINUATION"
}

/// A time that a recorder told: its own words, and what the hub makes of them.
package struct CaptureTime: Sendable, Equatable, Codable {
    /// The RFC 3339 text, kept verbatim.
    package let text: String
    /// The same moment by the hub's clock (the time of arrival where the recorder's clock was not set).
    package let instant: Date

    package init(text: String, instant: Date) {
        self.text = text
        self.instant = instant
    }
}

/// The recorder, and the object on it, that a capture was described by.
package struct RecorderOrigin: Sendable, Equatable, Codable {
    /// The recorder's serial number.
    package let serial: String
    /// The storage generation under which the object ids hold.
    package let storageGeneration: UInt32
    /// The manifest's object id; nil for a salvaged capture.
    package let manifestObjectID: String?
    /// What the recorder said about the manifest object, in the caller's words; compared before a delete.
    package let manifestFingerprint: String?

    package init(
        serial: String, storageGeneration: UInt32, manifestObjectID: String?,
        manifestFingerprint: String? = nil
    ) {
        self.serial = serial
        self.storageGeneration = storageGeneration
        self.manifestObjectID = manifestObjectID
        self.manifestFingerprint = manifestFingerprint
    }
}

/// One file of a capture, as announced.
package struct AssetRegistration: Sendable, Equatable, Codable {
    /// What it is to the cloud.
    package let kind: AssetKind
    /// The original name. Never used as a path.
    package let name: String
    /// The media type, such as `audio/wav`.
    package let mimeType: String
    /// The size in bytes.
    package let byteSize: Int64
    /// The SHA-256 that the source announced, in hex.
    package let sha256: String?
    /// What identifies the file at its source: the object id on a recorder (12 hex digits), or a key that
    /// is unique within the capture for imported files.
    package let sourceKey: String
    /// What the recorder said about the object, in the caller's words; compared before a delete.
    package let fingerprint: String?

    package init(
        kind: AssetKind, name: String, mimeType: String, byteSize: Int64, sha256: String?,
        sourceKey: String, fingerprint: String? = nil
    ) {
        self.kind = kind
        self.name = name
        self.mimeType = mimeType
        self.byteSize = byteSize
        self.sha256 = sha256
        self.sourceKey = sourceKey
        self.fingerprint = fingerprint
    }
}

/// One event of a capture.
package struct EventRegistration: Sendable, Equatable, Codable {
    /// The event's id, echoed verbatim to the cloud.
    package let id: String
    /// Milliseconds since the capture's start.
    package let relativeTimeMs: Int64
    /// The event's type.
    package let type: EventType
    /// Its text, where it has one.
    package let text: String?
    /// The `sourceKey` of the file that belongs to it.
    package let sourceKey: String?
    /// Where a voice note starts, in milliseconds.
    package let voiceStartOffsetMs: Int64?
    /// Where a voice note ends, in milliseconds.
    package let voiceEndOffsetMs: Int64?

    package init(
        id: String, relativeTimeMs: Int64, type: EventType, text: String? = nil, sourceKey: String? = nil,
        voiceStartOffsetMs: Int64? = nil, voiceEndOffsetMs: Int64? = nil
    ) {
        self.id = id
        self.relativeTimeMs = relativeTimeMs
        self.type = type
        self.text = text
        self.sourceKey = sourceKey
        self.voiceStartOffsetMs = voiceStartOffsetMs
        self.voiceEndOffsetMs = voiceEndOffsetMs
    }
}

/// `CaptureProvenanceSeed` of the contract, less the times, which the session itself has.
package struct ProvenanceSeed: Sendable, Equatable, Codable {
    /// The name of the capturing device.
    package let deviceName: String?
    /// The model of the capturing device.
    package let deviceModel: String?
    /// The surface of capture, such as `celestia_recorder` or `watched_folder`.
    package let appSurface: String
    /// Where a file lay before it was imported; informative.
    package let sourcePathHint: String?
    /// `image_provenance`: capture_date, equipment, photographer, condition_notes.
    package let image: [String: String]
    /// The first steps of `provenance_chain`; later ones are appended, none is ever changed.
    package let chain: [[String: String]]

    package init(
        deviceName: String?, deviceModel: String?, appSurface: String, sourcePathHint: String? = nil,
        image: [String: String] = [:], chain: [[String: String]] = []
    ) {
        self.deviceName = deviceName
        self.deviceModel = deviceModel
        self.appSurface = appSurface
        self.sourcePathHint = sourcePathHint
        self.image = image
        self.chain = chain
    }
}

/// Everything that is known of a capture when it is first seen.
///
/// It is also written beside the files, so that the queue can be rebuilt without its database.
package struct CaptureRegistration: Sendable, Equatable, Codable {
    /// The capture's UUID: the session's identity here and its client id in the cloud.
    package let captureID: String
    /// By which way it came.
    package let sourceKind: SourceKind
    /// The recorder it came from; nil for imports.
    package let origin: RecorderOrigin?
    /// `origin_device_id` of the contract: the recorder's serial number, or the hub's own id.
    package let originDeviceID: String
    /// Whether it was made up from objects that no manifest names.
    package let isSalvaged: Bool
    /// The base URL of the API that it goes to. Never implied.
    package let targetHost: String
    /// The account there that it is for, where that is known.
    package var account: String?
    /// `target_library_id` of the contract.
    package let targetLibraryID: String?
    /// `parent_document_id` of the contract.
    package let parentDocumentID: String?
    /// The title; nil where the source gave none.
    package let title: String?
    /// When the capture began.
    package let startedAt: CaptureTime
    /// When it ended.
    package let endedAt: CaptureTime?
    /// How long it is, in milliseconds.
    package let durationMs: Int64
    /// Its files, in the source's order.
    package let assets: [AssetRegistration]
    /// Its events, in the source's order.
    package let events: [EventRegistration]
    /// How it came to be.
    package let provenance: ProvenanceSeed
    /// The session (its id) that was moved to this host; nil for everything else.
    package let migratedFrom: String?

    package init(
        captureID: String, sourceKind: SourceKind, origin: RecorderOrigin?, originDeviceID: String,
        isSalvaged: Bool = false, migratedFrom: String? = nil, targetHost: String,
        targetLibraryID: String? = nil,
        parentDocumentID: String? = nil, title: String?, startedAt: CaptureTime,
        endedAt: CaptureTime? = nil, durationMs: Int64, assets: [AssetRegistration],
        events: [EventRegistration], provenance: ProvenanceSeed
    ) {
        self.captureID = captureID
        self.sourceKind = sourceKind
        self.origin = origin
        self.originDeviceID = originDeviceID
        self.isSalvaged = isSalvaged
        self.targetHost = targetHost
        self.targetLibraryID = targetLibraryID
        self.parentDocumentID = parentDocumentID
        self.title = title
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.durationMs = durationMs
        self.assets = assets
        self.events = events
        self.provenance = provenance
        self.migratedFrom = migratedFrom
    }
}
