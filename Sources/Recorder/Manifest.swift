package import ObjectTransfer

/// What the recorder says of one sealed capture (recorder-profile.md, Captures). All text in it is hostile
/// until it went through ``SafeName``.
package struct Manifest: Sendable, Hashable {
    /// What a file or an asset is.
    package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        case audio = "AUDIO"
        case photo = "PHOTO"
    }

    /// One file of the capture.
    package struct File: Sendable, Hashable {
        /// The object that holds the bytes.
        package var objectID: ObjectID
        /// What it is.
        package var kind: Kind
        /// The name as sent.
        package var name: String
        /// A media type without parameters.
        package var mimeType: String
        /// Its size as the manifest says; what is listed counts.
        package var sizeBytes: UInt32
        /// 64 lower-case hexadecimal digits, where the recorder has computed it.
        package var sha256: String?

        /// A file with these fields.
        package init(
            objectID: ObjectID, kind: Kind, name: String, mimeType: String, sizeBytes: UInt32,
            sha256: String? = nil
        ) {
            (self.objectID, self.kind, self.name) = (objectID, kind, name)
            (self.mimeType, self.sizeBytes, self.sha256) = (mimeType, sizeBytes, sha256)
        }
    }

    /// Something that happened during the capture.
    package struct Event: Sendable, Hashable {
        /// What happened.
        package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
            case photo = "PHOTO"
            case note = "NOTE"
            case marker = "MARKER"
            case voice = "VOICE"
            case continuation = "CONTINUATION"
        }

        /// The UUID as sent; the cloud gets it verbatim.
        package var id: String
        /// Milliseconds since the start of the capture.
        package var relativeTimeMs: Int64
        /// What it is.
        package var kind: Kind
        /// What was said or noted; hostile text.
        package var text: String?
        /// The photo or audio that belongs to the event.
        package var objectID: ObjectID?
        /// Where the voice begins in its audio, in milliseconds.
        package var voiceStartOffsetMs: Int64?
        /// Where the voice ends in its audio, in milliseconds.
        package var voiceEndOffsetMs: Int64?

        /// An event with these fields.
        package init(
            id: String, relativeTimeMs: Int64, kind: Kind, text: String? = nil, objectID: ObjectID? = nil,
            voiceStartOffsetMs: Int64? = nil, voiceEndOffsetMs: Int64? = nil
        ) {
            (self.id, self.relativeTimeMs, self.kind) = (id, relativeTimeMs, kind)
            (self.text, self.objectID) = (text, objectID)
            (self.voiceStartOffsetMs, self.voiceEndOffsetMs) = (voiceStartOffsetMs, voiceEndOffsetMs)
        }
    }

    /// The version of the layout that is known here.
    package static let version = 1

    /// The UUID of the capture as sent; the cloud gets it verbatim.
    package var captureID: String
    /// The title as sent.
    package var title: String?
    /// When the capture began.
    package var startedAt: WrittenTime
    /// When it ended.
    package var endedAt: WrittenTime?
    /// How long it lasted, in milliseconds; never negative.
    package var durationMs: Int64
    /// Its files, each object once.
    package var files: [File]
    /// What happened during it, each id once.
    package var events: [Event]
    /// Entries that were left out or corrected while decoding, for a person.
    package internal(set) var problems: [String] = []

    /// A manifest with these fields.
    package init(
        captureID: String, title: String? = nil, startedAt: WrittenTime, endedAt: WrittenTime? = nil,
        durationMs: Int64, files: [File], events: [Event] = []
    ) {
        (self.captureID, self.title) = (captureID, title)
        (self.startedAt, self.endedAt, self.durationMs) = (startedAt, endedAt, durationMs)
        (self.files, self.events) = (files, events)
    }
}
