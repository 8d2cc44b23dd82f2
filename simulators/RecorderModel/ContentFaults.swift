internal import ObjectTransfer
internal import Recorder

/// What is wrong with what the recorder says of its objects.
struct ContentFaults: Sendable, Hashable {
    /// Ways in which the directory listing is not as it should be.
    enum Listing: String, Sendable, Hashable, CaseIterable {
        /// A record in the middle claims a length of 3.
        case malformed
        /// The listing ends inside its last record.
        case truncated
        /// The first length is that of the whole listing (Zephyr up to 3.1).
        case total
        /// Every object is listed twice.
        case duplicate
        /// Nothing but noise.
        case noise
        /// More objects than the profile allows.
        case flood
    }

    /// Ways in which manifests are not as they should be.
    enum ManifestFault: String, Sendable, Hashable, CaseIterable {
        /// Ends in the middle.
        case malformed
        /// JSON of another shape.
        case foreign
        /// Larger than 256 KiB.
        case oversized
        /// Names an object that is not there, and one twice.
        case dangling
        /// Arrays nested a hundred thousand deep.
        case deep
    }

    var listing: Listing?
    var manifest: ManifestFault?
    var hasHostileNames = false

    /// Names that try to be paths, to end early, to hide, or to be too much.
    static let hostileNames = [
        "../../etc/passwd", "/etc/shadow", "..", "a\0b.wav", String(repeating: "🎙", count: 30),
        "con\nnewline\r\u{1B}[2J.wav", "\u{202E}gpj.exe", "", "   ", "\\\\server\\share\\x",
    ]

    func name(_ name: String, at position: Int) -> String {
        hasHostileNames ? Self.hostileNames[position % Self.hostileNames.count] : name
    }

    func manifest(_ manifest: Manifest) -> [UInt8] {
        var manifest = manifest
        switch self.manifest {
        case nil: return manifest.json
        case .malformed: return Array(manifest.json.dropLast(manifest.json.count / 3))
        case .foreign: return Array("[{\"version\":\"one\"}]".utf8)
        case .deep: return [UInt8](repeating: UInt8(ascii: "["), count: 100_000)
        case .oversized:
            manifest.title = String(repeating: "x", count: RecorderProfile.maximumManifestBytes)
            return manifest.json
        case .dangling:
            if let first = manifest.files.first { manifest.files.append(first) }
            if let absent = ObjectID(0xDEAD_0000) {
                manifest.files.append(
                    Manifest.File(
                        objectID: absent, kind: .audio, name: "absent.wav", mimeType: "audio/wav",
                        sizeBytes: 1))
            }
            return manifest.json
        }
    }

    func listing(_ records: [[UInt8]]) -> [UInt8] {
        var records = records
        switch listing {
        case nil: break
        case .malformed:
            let middle = records.count / 2
            records[middle].replaceSubrange(0..<2, with: [3, 0])
        case .truncated: return records.flatMap { $0 }.dropLast(5)
        case .total:
            let total = UInt16(truncatingIfNeeded: records.reduce(0) { $0 + $1.count })
            records[0].replaceSubrange(0..<2, with: [UInt8(total & 0xFF), UInt8(total >> 8)])
        case .duplicate: records += records.dropFirst()
        case .noise: return (0..<997).map { UInt8(truncatingIfNeeded: $0 * 7919 >> 3) }
        case .flood:
            records += (0..<5000).compactMap { number in
                ObjectID(0x10_0000 + UInt64(number)).map {
                    ObjectMetadata(id: $0, name: "flood", type: RecorderProfile.audioType, currentSize: 1)
                        .directoryRecord
                }
            }
        }
        return records.flatMap { $0 }
    }
}
