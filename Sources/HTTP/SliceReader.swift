import CCurl
import EventLoop
import Glibc

/// Reads one file part for libcurl, straight into its buffer.
final class SliceReader {
    private let slice: FileSlice
    private var position: Int64 = 0
    /// Set when the file has fewer bytes than promised, or cannot be read.
    private(set) var failure: String?

    init(_ slice: FileSlice) {
        self.slice = slice
        // The loop must not wait for the disk: let the kernel read ahead.
        posix_fadvise(
            slice.file.descriptor.rawValue, off_t(slice.offset), off_t(slice.length), POSIX_FADV_WILLNEED)
    }

    /// curl_read_callback. A short file aborts: answering 0 early would leave the server waiting.
    func read(into buffer: UnsafeMutablePointer<CChar>?, capacity: Int) -> Int {
        let remaining = slice.length - position
        guard remaining > 0 else { return 0 }
        let wanted = min(Int64(capacity), remaining)
        while true {
            let count = pread(
                slice.file.descriptor.rawValue, buffer, Int(wanted), off_t(slice.offset + position))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                failure =
                    count == 0
                    ? "the file ends \(remaining) bytes before the promised end" : "pread: errno \(errno)"
                return celestiad_curl_read_abort()
            }
            position += Int64(count)
            return count
        }
    }

    /// curl_seek_callback: libcurl rewinds before it sends a body again.
    func seek(to offset: Int64, origin: Int32) -> Int32 {
        guard origin == SEEK_SET, (0...slice.length).contains(offset) else { return CURL_SEEKFUNC_FAIL }
        position = offset
        return CURL_SEEKFUNC_OK
    }
}
