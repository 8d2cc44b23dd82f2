import CaptureQueue
import Foundation
import TestSupport

/// A folder of captures for one recorder: one sub-folder each, with files of seeded bytes.
final class Captures: @unchecked Sendable {
    // Proof for @unchecked: one test adds to it and reads it, one after the other.
    struct File: Sendable {
        let name: String
        let bytes: [UInt8]
        let sha256: String
    }

    let folder = TemporaryDirectory()
    private(set) var files: [File] = []
    /// So many manifests, too, are objects on the recorder.
    private(set) var captures = 0

    /// One capture, whose files are given by their names and sizes.
    convenience init(_ capture: String = "interview", _ files: KeyValuePairs<String, Int>) throws {
        self.init()
        try add(capture, files)
    }

    init() {}

    /// The recorder serves it from its start, or from its next `Rescan`.
    func add(_ capture: String, _ sizes: KeyValuePairs<String, Int>) throws {
        let path = folder.path + "/" + capture
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for (name, size) in sizes {
            let bytes = Self.bytes(size, seed: UInt64(files.count + 1) << 32 | UInt64(size))
            try Data(bytes).write(to: URL(fileURLWithPath: path + "/" + name))
            files.append(File(name: name, bytes: bytes, sha256: SHA256Digest(hashing: bytes).hex))
        }
        captures += 1
    }

    private static func bytes(_ count: Int, seed: UInt64) -> [UInt8] {
        var generator = SeededGenerator(seed: seed)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
