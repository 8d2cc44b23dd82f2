internal import Glibc

/// Where the bytes of an object are.
package enum ObjectContent: Sendable, Hashable {
    /// In memory: manifests and the directory.
    case bytes([UInt8])
    /// In a file of the user's, read when asked for and never written.
    case file(path: String)
}

/// Reads one object mostly in order, with a small buffer in front of the file: a frame costs a copy, not a system
/// call, and a large file little memory.
final class ContentReader {
    private static let bufferSize = 256 * 1024

    private let content: ObjectContent
    private let fd: Int32
    private let buffer: UnsafeMutableRawBufferPointer
    private var bufferStart: Int64 = 0
    private var bufferCount = 0

    /// Nil when the file cannot be opened.
    init?(_ content: ObjectContent) {
        self.content = content
        switch content {
        case .bytes:
            fd = -1
            buffer = .allocate(byteCount: 0, alignment: 1)
        case .file(let path):
            fd = open(path, O_RDONLY | O_CLOEXEC)
            guard fd >= 0 else { return nil }
            buffer = .allocate(byteCount: Self.bufferSize, alignment: 16)
        }
    }

    deinit {
        if fd >= 0 { close(fd) }
        buffer.deallocate()
    }

    /// Fills `target` from `offset` on; fewer bytes come at the end, and when the file cannot be read.
    func read(at offset: Int64, into target: UnsafeMutableRawBufferPointer) -> Int {
        switch content {
        case .bytes(let bytes):
            guard offset >= 0, offset < Int64(bytes.count) else { return 0 }
            let piece = bytes[Int(offset)...].prefix(target.count)
            target.copyBytes(from: piece)
            return piece.count
        case .file:
            return readFile(at: offset, into: target)
        }
    }

    private func readFile(at offset: Int64, into target: UnsafeMutableRawBufferPointer) -> Int {
        var copied = 0
        while copied < target.count {
            let position = offset + Int64(copied)
            if position < bufferStart || position >= bufferStart + Int64(bufferCount) { fill(from: position) }
            guard bufferCount > 0 else { break }
            let start = Int(position - bufferStart)
            let count = min(bufferCount - start, target.count - copied)
            let piece = UnsafeRawBufferPointer(rebasing: buffer[start..<start + count])
            UnsafeMutableRawBufferPointer(rebasing: target[copied...]).copyMemory(from: piece)
            copied += count
        }
        return copied
    }

    private func fill(from offset: Int64) {
        bufferStart = offset
        bufferCount = 0
        while true {
            let count = pread(fd, buffer.baseAddress, buffer.count, Int(offset))
            if count < 0, errno == EINTR { continue }
            bufferCount = max(0, count)
            return
        }
    }
}
