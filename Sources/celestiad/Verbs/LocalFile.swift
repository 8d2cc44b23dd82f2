import Cloud
import Control
import DBus
import Glibc

/// Files that verbs write for their user, and what they are called.
enum LocalFile {
    private static let piece = 1 << 20
    /// File systems count bytes, and the number before the name and an ending after it need some as well.
    private static let longestName = 180

    /// A name from outside is no path; the number keeps equal names apart.
    static func name(_ name: String, _ index: Int) -> String {
        let clean = Text.clean(name).map { $0 == "/" || $0 == "\\" || $0 == "\u{FFFD}" ? "_" : $0 }
        let number = String(index + 1)
        return String(repeating: "0", count: max(0, 3 - number.count)) + number + "-"
            + WireName.shortened(String(clean), to: longestName)
    }

    /// Reads a file from its beginning to its end; returns its length. `what` is the file in words.
    @discardableResult
    static func read(
        _ file: SharedFD, _ what: String, elsewhere: String,
        _ take: (ArraySlice<UInt8>) throws(ControlError) -> Void
    ) throws(ControlError) -> Int64 {
        var offset: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: piece)
        while true {
            let count = pread(file.rawValue, &buffer, buffer.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read \(what)", elsewhere: elsewhere) }
            if count == 0 { return offset }
            try take(buffer[..<count])
            offset += Int64(count)
        }
    }

    /// What the last system call refused, in words; `elsewhere` is how to name another folder.
    static func failure(_ what: String, elsewhere: String) -> ControlError {
        let number = errno
        let isFull = number == ENOSPC || number == EDQUOT
        return ControlError(
            isFull ? .diskLow : .failed,
            "cannot \(Text.clean(what)): \(String(cString: strerror(number)))",
            hint: hint(number, elsewhere))
    }

    private static func hint(_ number: Int32, _ elsewhere: String) -> String {
        switch number {
        case ENOSPC, EDQUOT: "free space there, or name another folder: \(elsewhere)"
        case ENOENT: "make the folder that it is to be in, or name another: \(elsewhere)"
        case EACCES, EPERM, EROFS: "name a folder that you may write to: \(elsewhere)"
        case EEXIST, ENOTDIR: "name another folder: \(elsewhere)"
        default: "look at what is there, or name another folder: \(elsewhere)"
        }
    }
}
