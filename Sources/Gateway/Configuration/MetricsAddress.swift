package import EventLoop
import Glibc

/// Where metrics are served: a socket in the file system, or a port of this machine that only this machine reaches.
package enum MetricsAddress: Sendable, Hashable, CustomStringConvertible {
    case unix(String)
    /// In 127.0.0.0/8.
    case ipv4(String, port: UInt16)
    /// ::1.
    case ipv6(port: UInt16)

    /// `unix:/PATH`, `127.0.0.1:PORT` or `[::1]:PORT`; nil for anything else.
    package init?(_ text: String) {
        if text.hasPrefix("unix:/") {
            let path = String(text.dropFirst("unix:".count))
            guard path.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else { return nil }
            self = .unix(path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
            port > 0
        else {
            return nil
        }
        let host = String(text[..<colon])
        if host == "[::1]" {
            self = .ipv6(port: port)
            return
        }
        var address = in_addr()
        guard inet_pton(AF_INET, host, &address) == 1, UInt32(bigEndian: address.s_addr) >> 24 == 127 else {
            return nil
        }
        self = .ipv4(host, port: port)
    }

    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .ipv4(let host, let port): "\(host):\(port)"
        case .ipv6(let port): "[::1]:\(port)"
        }
    }

    /// A nonblocking socket that listens there. A socket in the file system that nobody listens at is replaced; it is for
    /// the group too. Throws what the system says.
    package func listen() throws(SystemError) -> OwnedFD {
        let family = if case .unix = self { AF_UNIX } else if case .ipv4 = self { AF_INET } else { AF_INET6 }
        let raw = socket(
            family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard raw >= 0 else { throw SystemError("socket") }
        let file = OwnedFD(raw)
        var yes: Int32 = 1
        setsockopt(raw, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        if case .unix(let path) = self { try Self.clear(path) }
        guard withAddress({ bind(raw, $0, $1) }) == 0 else { throw SystemError("bind") }
        if case .unix(let path) = self { chmod(path, 0o660) }
        guard Glibc.listen(raw, 8) == 0 else { throw SystemError("listen") }
        return file
    }

    /// Removes a socket that was left there; anything else stays, and so does one that is in use.
    private static func clear(_ path: String) throws(SystemError) {
        var info = stat()
        guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK else { return }
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { throw SystemError("socket") }
        let probe = OwnedFD(raw)
        if MetricsAddress.unix(path).withAddress({ connect(probe.rawValue, $0, $1) }) != 0,
            errno == ECONNREFUSED
        {
            unlink(path)
        }
    }

    /// The socket in the file system goes with who listened at it.
    package func remove() {
        if case .unix(let path) = self { unlink(path) }
    }

    private func withAddress(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        switch self {
        case .unix(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            return Self.pass(address, body)
        case .ipv4(let host, let port):
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            inet_pton(AF_INET, host, &address.sin_addr)
            return Self.pass(address, body)
        case .ipv6(let port):
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            inet_pton(AF_INET6, "::1", &address.sin6_addr)
            return Self.pass(address, body)
        }
    }

    private static func pass<Address>(
        _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }
}
