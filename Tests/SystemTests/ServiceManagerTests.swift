import EventLoop
import Glibc
import TestSupport
import Testing

extension SystemTests {
    /// What systemd is told, by a socket in its place.
    @Suite struct ServiceManagerTests {
        @Test func itIsToldWhenTheDaemonIsReadyLivesAndEnds() async throws {
            let folder = TemporaryDirectory()
            let socket = try NotifySocket(folder.path + "/notify")
            let environment = ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "1000000"]
            try await Laboratory.run(environment: environment) { lab in
                try await lab.waitUntil("it is fed, and fed again") {
                    socket.told().count { $0 == "WATCHDOG=1" } >= 3
                }
                #expect(socket.told().count { $0 == "READY=1" } == 1)
                #expect(socket.told().contains("STATUS=0 recorders, 0 connected; 0 files to upload"))
                #expect(!socket.told().contains("STOPPING=1"))
                #expect(await lab.endDaemon(SIGTERM) == 0)
                #expect(socket.told().contains("STOPPING=1"))
                #expect(!lab.log().contains("no sign of life"))
            }
        }
    }
}

/// The other end of sd_notify(3).
private final class NotifySocket: Sendable {
    let path: String
    private let fd: Int32
    private let messages = Locked<[String]>([])

    init(_ path: String) throws {
        self.path = path
        fd = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0)
    }

    deinit {
        close(fd)
    }

    /// Everything that was told until now.
    func told() -> [String] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(fd, &buffer, buffer.count, 0)
            guard count > 0 else { return messages.withLock { $0 } }
            let text = String(decoding: buffer[..<count], as: UTF8.self)
            messages.withLock { $0 += text.split(separator: "\n").map(String.init) }
        }
    }
}
