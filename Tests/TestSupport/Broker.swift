import EventLoop
import Foundation
import Glibc

/// A real MQTT broker (mosquitto) of its own for one test, on a port of loopback.
package final class Broker: Sendable {
    package let port: UInt16
    private let folder = TemporaryDirectory()
    private let child: StdinTetheredProcess

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// With `user` nobody else is let in; with `tls` it speaks nothing else; on `port` where one is given.
    package init(
        port: UInt16? = nil, user: (name: String, password: String)? = nil, tls: TestAuthority.Identity? = nil
    ) throws {
        self.port = try port ?? Self.freePort()
        var lines = [
            "listener \(self.port) 127.0.0.1", "persistence false", "user root", "log_dest none",
            "allow_anonymous \(user == nil)",
        ]
        if let user {
            let file = folder.path + "/users"
            let status = try StdinTetheredProcess([
                "sh", "-c", "mosquitto_passwd -b -c '\(file)' '\(user.name)' '\(user.password)' && echo done",
            ]).readLine()
            guard status == "done" else { throw Failure(description: "mosquitto_passwd: \(status)") }
            lines.append("password_file \(file)")
        }
        if let tls { lines += ["certfile \(tls.certificate)", "keyfile \(tls.key)"] }
        let file = folder.path + "/mosquitto.conf"
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: file))
        child = try StdinTetheredProcess(["/usr/sbin/mosquitto", "-c", file])
        // It does not say when it listens.
        for _ in 0..<3000 {
            if Self.isOpen(self.port) { return }
            usleep(10_000)
        }
        throw Failure(description: "mosquitto does not listen")
    }

    /// Ends the broker now, as a crash would.
    package func stop() {
        child.kill()
    }

    /// Publishes as somebody else.
    package func publish(_ topic: String, _ payload: String) throws {
        let line = try StdinTetheredProcess([
            "sh", "-c",
            "mosquitto_pub -h 127.0.0.1 -p \(port) -q 1 -t '\(topic)' -m '\(payload)' && echo done",
        ]).readLine()
        guard line == "done" else { throw Failure(description: "mosquitto_pub: \(line)") }
    }

    private static func freePort() throws -> UInt16 {
        var port: UInt16 = 0
        try with(0) { fd, address, length in
            var length = length
            guard bind(fd, address, length) == 0, getsockname(fd, address, &length) == 0 else {
                throw Failure(description: "no free port")
            }
            port = UInt16(
                bigEndian: UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
        return port
    }

    private static func isOpen(_ port: UInt16) -> Bool {
        var isOpen = false
        try? with(port) { fd, address, length in isOpen = connect(fd, address, length) == 0 }
        return isOpen
    }

    private static func with(
        _ port: UInt16, _ body: (Int32, UnsafeMutablePointer<sockaddr>, socklen_t) throws -> Void
    ) throws {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(fd) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                try body(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}

/// Sees everything that a broker has and gets.
package final class BrokerObserver: Sendable {
    private let child: StdinTetheredProcess
    private let lines = Locked<[String]>([])

    package init(_ broker: Broker, user: (name: String, password: String)? = nil, caFile: String? = nil)
        throws
    {
        var command = [
            "mosquitto_sub", "-h", "127.0.0.1", "-p", String(broker.port), "-t", "#", "-F", "%t %p",
        ]
        if let user { command += ["-u", user.name, "-P", user.password] }
        if let caFile { command += ["--cafile", caFile] }
        child = try StdinTetheredProcess(command)
        let (child, lines) = (child, lines)
        Thread.detachNewThread {
            while let line = try? child.readLine() { lines.withLock { $0.append(line) } }
        }
    }

    /// Every message until now, as `TOPIC PAYLOAD`.
    package var all: [String] { lines.withLock { $0 } }

    /// The last payload on a topic.
    package func last(_ topic: String) -> String? {
        all.last { $0.hasPrefix(topic + " ") }.map { String($0.dropFirst(topic.count + 1)) }
    }

    package func stop() {
        child.kill()
    }
}
