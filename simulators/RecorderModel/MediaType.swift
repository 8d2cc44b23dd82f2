internal import Recorder

/// What a file is, by its name.
struct MediaType: Sendable, Hashable {
    let kind: Manifest.Kind
    let mimeType: String

    init(kind: Manifest.Kind, mimeType: String) {
        (self.kind, self.mimeType) = (kind, mimeType)
    }

    /// Nil when the name's extension is not one of audio or photo.
    init?(fileName: String) {
        guard let dot = fileName.lastIndex(of: "."),
            let type = Self.byExtension[fileName[fileName.index(after: dot)...].lowercased()]
        else { return nil }
        self = type
    }

    private static let byExtension: [String: MediaType] = [
        "wav": MediaType(kind: .audio, mimeType: "audio/wav"),
        "opus": MediaType(kind: .audio, mimeType: "audio/ogg"),
        "ogg": MediaType(kind: .audio, mimeType: "audio/ogg"),
        "mp3": MediaType(kind: .audio, mimeType: "audio/mpeg"),
        "m4a": MediaType(kind: .audio, mimeType: "audio/mp4"),
        "jpg": MediaType(kind: .photo, mimeType: "image/jpeg"),
        "jpeg": MediaType(kind: .photo, mimeType: "image/jpeg"),
        "png": MediaType(kind: .photo, mimeType: "image/png"),
        "heic": MediaType(kind: .photo, mimeType: "image/heic"),
    ]
}
