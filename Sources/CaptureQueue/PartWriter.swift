/// The open `.part` of an asset that is being pulled, with the running SHA-256 of what it holds.
final class PartWriter {
    private let file: Descriptor
    private let hasher = SHA256()
    /// Bytes that the file held when it was opened and that still have to be hashed again.
    private let heldBytes: Int64
    /// Bytes hashed so far; equal to the file's length once `isReady`.
    private(set) var length: Int64 = 0
    /// Bytes known to be durable and journalled.
    var journalled: Int64

    init(_ file: consuming Descriptor, heldBytes: Int64) {
        self.file = file
        self.heldBytes = heldBytes
        journalled = heldBytes
    }

    /// Whether the prefix was hashed again, so that bytes may be appended.
    var isReady: Bool { length >= heldBytes }

    /// Reads the next piece of the prefix, hashes it and shows it to `prefix`.
    func rehash(_ prefix: ((UnsafeRawBufferPointer) -> Void)?) throws(QueueError) {
        let count = Int(min(Int64(FileSystem.pieceLength), heldBytes - length))
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        defer { buffer.deallocate() }
        guard try FileSystem.read(file.raw, at: length, into: buffer) == count else {
            throw QueueError(.io, "a partial file became shorter while it was read")
        }
        hasher.update(UnsafeRawBufferPointer(buffer))
        prefix?(UnsafeRawBufferPointer(buffer))
        length += Int64(count)
    }

    func append(_ bytes: [UInt8]) throws(QueueError) {
        try FileSystem.write(bytes, to: file.raw, at: length)
        bytes.withUnsafeBytes(hasher.update)
        length += Int64(bytes.count)
    }

    /// Makes what was appended durable.
    func flush() throws(QueueError) { try FileSystem.syncData(file.raw) }

    /// Makes the whole file durable and tells its digest.
    func seal() throws(QueueError) -> SHA256Digest {
        try FileSystem.sync(file.raw)
        return hasher.digest()
    }

    /// The digest of what is held now.
    func digest() -> SHA256Digest { hasher.digest() }
}
