import Glibc

/// Sends entries with fields to journald by its native protocol (systemd.io/JOURNAL_NATIVE_PROTOCOL). Never waits.
package final class JournalSocket: Sendable {
    private let path: String
    private let fd: Int32

    package init(path: String = "/run/systemd/journal/socket") {
        self.path = path
        fd = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    }

    deinit {
        if fd >= 0 { close(fd) }
    }

    /// Whether journald has the entry.
    package func send(_ entry: LogEntry) -> Bool {
        let bytes = Self.datagram(entry)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else { return false }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                sendto(
                    fd, bytes, bytes.count, Int32(MSG_NOSIGNAL), address,
                    socklen_t(MemoryLayout<sockaddr_un>.size)) == bytes.count
            }
        }
    }

    static func datagram(_ entry: LogEntry) -> [UInt8] {
        var fields = [
            ("MESSAGE", entry.text), ("PRIORITY", String(entry.level.rawValue)),
            ("SYSLOG_IDENTIFIER", "celestiad"),
        ]
        if let kind = entry.kind { fields.append(("MESSAGE_ID", kind.messageID)) }
        if let recorder = entry.recorder { fields.append(("CELESTIAD_RECORDER", recorder)) }
        if let session = entry.session { fields.append(("CELESTIAD_SESSION", session)) }
        var bytes: [UInt8] = []
        for (name, value) in fields {
            let value = Array(value.utf8)
            guard value.contains(UInt8(ascii: "\n")) else {
                bytes += Array(name.utf8) + [UInt8(ascii: "=")] + value + [UInt8(ascii: "\n")]
                continue
            }
            // A line's end would end the field: its length is told instead.
            let length = UInt64(value.count)
            bytes += Array(name.utf8) + [UInt8(ascii: "\n")]
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) }
            bytes += value + [UInt8(ascii: "\n")]
        }
        return bytes
    }
}
