internal import Glibc
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
        "oga": MediaType(kind: .audio, mimeType: "audio/ogg"),
        "mp3": MediaType(kind: .audio, mimeType: "audio/mpeg"),
        "m4a": MediaType(kind: .audio, mimeType: "audio/mp4"),
        "aac": MediaType(kind: .audio, mimeType: "audio/aac"),
        "flac": MediaType(kind: .audio, mimeType: "audio/flac"),
        "jpg": MediaType(kind: .photo, mimeType: "image/jpeg"),
        "jpeg": MediaType(kind: .photo, mimeType: "image/jpeg"),
        "png": MediaType(kind: .photo, mimeType: "image/png"),
        "webp": MediaType(kind: .photo, mimeType: "image/webp"),
        "heic": MediaType(kind: .photo, mimeType: "image/heic"),
    ]
}

extension CaptureFolder.File {
    /// How long a WAV or Ogg file plays; 0 for others and for broken ones.
    var durationMs: Int64 {
        guard kind == .audio, let reader = ContentReader(.file(path: path)) else { return 0 }
        let head = Self.bytes(of: reader, at: 0, count: 64)
        if head.starts(with: "RIFF".utf8), head.count >= 44 {
            let bytesPerSecond = Int64(Self.u32(head, 28))
            return bytesPerSecond > 0 ? max(0, Int64(size) - 44) * 1000 / bytesPerSecond : 0
        }
        guard head.starts(with: "OggS".utf8) else { return 0 }
        let tail = Self.bytes(of: reader, at: max(0, Int64(size) - 65_536), count: 65_536)
        // The granule position of the last page counts samples; Opus always counts 48 kHz.
        let marker = Array("OggS".utf8)
        for start in stride(from: tail.count - 14, through: 0, by: -1)
        where Array(tail[start..<start + 4]) == marker {
            let granule = UInt64(Self.u32(tail, start + 6)) | UInt64(Self.u32(tail, start + 10)) << 32
            return Int64(min(granule, 1 << 48)) / 48
        }
        return 0
    }

    private static func bytes(of reader: ContentReader, at offset: Int64, count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = reader.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    private static func u32(_ bytes: [UInt8], _ at: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * UInt32($1)) }
    }
}
