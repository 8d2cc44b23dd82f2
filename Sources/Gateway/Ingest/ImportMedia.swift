package import CaptureQueue

/// What a file is, by its name: the cloud takes sound and pictures.
package enum ImportMedia {
    private static let audio = [
        "wav": "audio/wav", "mp3": "audio/mpeg", "m4a": "audio/mp4", "aac": "audio/aac", "flac": "audio/flac",
        "ogg": "audio/ogg", "oga": "audio/ogg", "opus": "audio/opus", "aif": "audio/aiff",
        "aiff": "audio/aiff",
        "caf": "audio/x-caf", "amr": "audio/amr", "wma": "audio/x-ms-wma",
    ]
    private static let photo = [
        "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "heic": "image/heic",
        "heif": "image/heif",
        "tif": "image/tiff", "tiff": "image/tiff", "webp": "image/webp", "gif": "image/gif",
        "dng": "image/x-adobe-dng",
        "cr2": "image/x-canon-cr2", "cr3": "image/x-canon-cr3", "nef": "image/x-nikon-nef",
        "arw": "image/x-sony-arw",
        "raf": "image/x-fuji-raf", "orf": "image/x-olympus-orf", "rw2": "image/x-panasonic-rw2",
    ]

    /// The kind and media type; nil for a file that the cloud has no place for.
    package static func type(of name: String) -> (kind: AssetKind, mimeType: String)? {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return nil }
        let suffix = name[name.index(after: dot)...].lowercased()
        if let type = audio[suffix] { return (.audio, type) }
        return photo[suffix].map { (.photo, $0) }
    }
}
