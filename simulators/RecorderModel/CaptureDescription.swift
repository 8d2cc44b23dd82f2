internal import FoundationEssentials
internal import Recorder

/// What a capture.json says of its capture; whatever it leaves out is derived from the files.
struct CaptureDescription: Sendable, Hashable, Codable {
    struct File: Sendable, Hashable, Codable {
        var name: String
        var kind: Manifest.Kind?
        var mimeType: String?

        /// What the description says, completed by the name; nil when both do not say enough.
        var media: MediaType? {
            let byName = MediaType(fileName: name)
            guard let kind = kind ?? byName?.kind else { return nil }
            return MediaType(kind: kind, mimeType: mimeType ?? byName?.mimeType ?? "application/octet-stream")
        }
    }

    struct Event: Sendable, Hashable, Codable {
        var id: String?
        var relativeTimeMs: Int64
        var type: Manifest.Event.Kind
        var text: String?
        /// The name of the file that belongs to the event.
        var file: String?
        var voiceStartOffsetMs: Int64?
        var voiceEndOffsetMs: Int64?
    }

    var captureId: String?
    var title: String?
    var startedAt: String?
    var endedAt: String?
    var durationMs: Int64?
    var files: [File]?
    var events: [Event]?
    /// False: the recorder has not written the manifest (yet).
    var sealed: Bool?

    init(title: String) {
        self.title = title
    }

    /// Reads the file. Throws `captures` when it is not as described.
    init(file path: String, maximum: Int) throws(RecorderModelError) {
        guard let reader = ContentReader(.file(path: path)) else {
            throw RecorderModelError(.captures, "cannot read \(path)")
        }
        let bytes = [UInt8](unsafeUninitializedCapacity: maximum) { buffer, filled in
            filled = reader.read(at: 0, into: UnsafeMutableRawBufferPointer(buffer))
        }
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(bytes))
        } catch {
            throw RecorderModelError(.captures, "\(path) is not a capture description: \(error)")
        }
        if let startedAt, WrittenTime(startedAt) == nil {
            throw RecorderModelError(.captures, "\(path): startedAt is not an RFC 3339 time: \(startedAt)")
        }
    }
}
