import Glibc

/// A stored file, open for reading. The descriptor is closed with the last reference to this object, so a
/// transfer that uses `descriptor` keeps the object alive until it is done.
///
/// Reads use offsets only, so several may go on at once.
package final class AssetFile: Sendable {
    /// A read-only descriptor, close-on-exec.
    package let descriptor: Int32
    /// The size in bytes, equal to what was stored.
    package let size: Int64
    /// The file's device and inode when it was opened.
    package let device: UInt64
    package let inode: UInt64

    init(_ file: consuming Descriptor, _ status: FileStatus) {
        descriptor = file.release()
        size = status.size
        device = status.device
        inode = status.inode
    }

    deinit { close(descriptor) }

    /// Up to `count` bytes at `offset`; fewer only at the end of the file. Blocks on the disk.
    package func bytes(at offset: Int64, count: Int) throws(QueueError) -> [UInt8] {
        guard offset >= 0, count >= 0 else { throw QueueError(.invalidInput, "a negative offset or count") }
        let available = Int(min(Int64(count), max(0, size - offset)))
        return try FileSystem.read(descriptor, at: offset, count: available)
    }

    /// Hashes the piece at `offset`; returns where the next one begins, nil at the end. Blocks on the disk.
    func hashPiece(at offset: Int64, into hasher: SHA256) throws(QueueError) -> Int64? {
        let bytes = try bytes(at: offset, count: FileSystem.pieceLength)
        guard !bytes.isEmpty else { return nil }
        bytes.withUnsafeBytes(hasher.update)
        return offset + Int64(bytes.count)
    }
}
