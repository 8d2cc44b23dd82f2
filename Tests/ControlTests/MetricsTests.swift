import Control
import EventLoop
import Foundation
import Gateway
import Glibc
import TestSupport
import Testing

@testable import celestiad

/// Prometheus' text format 0.0.4, read strictly.
private struct MetricsParser {
    struct Family {
        var help: String?
        var type: String?
        var samples: [String: Double] = [:]
    }

    struct Violation: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var families: [String: Family] = [:]

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Violation(description: "the last line has no end") }
        var current: String?
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            if line.hasPrefix("# ") {
                let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(
                    String.init)
                guard words.count == 4, Self.isName(words[2]) else {
                    throw Violation(description: "comment: \(line)")
                }
                try take(words, &current)
            } else {
                try sample(String(line), of: current)
            }
        }
        for (name, family) in families
        where family.help == nil || family.type == nil || family.samples.isEmpty {
            throw Violation(description: "\(name) lacks HELP, TYPE or samples")
        }
    }

    private mutating func take(_ words: [String], _ current: inout String?) throws {
        switch words[1] {
        case "HELP":
            guard families[words[2]] == nil, !words[3].isEmpty else {
                throw Violation(description: "second HELP: \(words)")
            }
            families[words[2]] = Family(help: words[3])
            current = words[2]
        case "TYPE":
            guard current == words[2], families[words[2]]?.type == nil,
                ["gauge", "counter"].contains(words[3])
            else {
                throw Violation(description: "TYPE: \(words)")
            }
            families[words[2]]?.type = words[3]
        default: throw Violation(description: "comment: \(words)")
        }
    }

    private mutating func sample(_ line: String, of current: String?) throws {
        guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...])
        else {
            throw Violation(description: "sample: \(line)")
        }
        let key = String(line[..<space])
        let name = String(key.prefix { $0 != "{" })
        guard name == current, Self.isName(name), families[name]?.samples[key] == nil else {
            throw Violation(description: "sample out of place or twice: \(line)")
        }
        try Self.check(labels: key.dropFirst(name.count))
        families[name]?.samples[key] = value
    }

    /// `{name="value",…}` with \\, \" and \n as the only escapes.
    private static func check(labels: Substring) throws {
        guard !labels.isEmpty else { return }
        var rest = labels
        var names: Set<String> = []
        guard rest.popFirst() == "{" else { throw Violation(description: "labels: \(labels)") }
        while true {
            let name = String(rest.prefix { $0 != "=" })
            guard isName(name), !name.contains(":"), names.insert(name).inserted else {
                throw Violation(description: "label: \(labels)")
            }
            rest = rest.dropFirst(name.count)
            guard rest.hasPrefix("=\"") else { throw Violation(description: "label: \(labels)") }
            rest = rest.dropFirst(2)
            while let character = rest.popFirst(), character != "\"" {
                guard character != "\\" || ["\\", "\"", "n"].contains(rest.popFirst()) else {
                    throw Violation(description: "escape: \(labels)")
                }
            }
            switch rest.popFirst() {
            case "}":
                guard rest.isEmpty else { throw Violation(description: "labels: \(labels)") }
                return
            case ",": continue
            default: throw Violation(description: "labels: \(labels)")
            }
        }
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.first, first.isASCII, first.isLetter || first == "_" else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    }
}

@Suite(.timeLimit(.minutes(5))) struct MetricsTests {
    private static var facts: MetricsFacts {
        var status = Fixtures.status
        status.queue.waits = [WaitDocument(cause: "quota", sessions: 2, text: "", hint: "")]
        status.recorders[0].lastSeen = Fixtures.now
        status.recorders[0].lastSync = Fixtures.now
        var tally = LogTally()
        tally.kinds[.sessionUploaded] = 3
        return MetricsFacts(
            status: status, storage: Fixtures.storage, tally: tally, bytes: [.deviceToHub: 42],
            isClockSynchronized: true)
    }

    @Test func theTextIsAsPrometheusReadsIt() throws {
        let families = try MetricsParser(MetricsText.text(Metrics.families(Self.facts))).families
        #expect(
            families["celestiad_transferred_bytes_total"]?.samples[
                #"celestiad_transferred_bytes_total{leg="device_to_hub"}"#] == 42)
        #expect(
            families["celestiad_events_total"]?.samples[#"celestiad_events_total{kind="sessionUploaded"}"#]
                == 3)
        #expect(families["celestiad_queue_waiting_sessions"]?.samples.values.first == 2)
        for (name, family) in families {
            #expect(name.hasPrefix("celestiad_"))
            #expect((family.type == "counter") == name.hasSuffix("_total"), "\(name)")
            #expect(family.help?.hasSuffix(".") == true, "\(name)")
        }
        #expect(
            families["celestiad_recorder_battery_ratio"]?.samples.values.allSatisfy { (0...1).contains($0) }
                == true)
    }

    @Test func whatIsUnknownIsLeftOut() throws {
        var facts = Self.facts
        facts.status.recorders = []
        facts.status.disk = nil
        facts.storage = nil
        facts.isClockSynchronized = nil
        let families = try MetricsParser(MetricsText.text(Metrics.families(facts))).families
        for name in ["recorder_connected", "disk_free_bytes", "spool_bytes", "clock_synchronized"] {
            #expect(families["celestiad_\(name)"] == nil)
        }
    }

    /// A recorder says itself what it is called.
    @Test func labelsAreEscaped() throws {
        var facts = Self.facts
        facts.status.recorders[0].id = "a\"b\\c\nd"
        let text = MetricsText.text(Metrics.families(facts))
        #expect(text.contains(#"{recorder="a\"b\\c\nd"}"#))
        _ = try MetricsParser(text)
    }

    @Test func everyMetricIsDocumented() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../docs/metrics.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        for family in Metrics.families(Self.facts) {
            #expect(!family.samples.isEmpty, "\(family.name) has no sample here")
            #expect(text.contains("\n| `\(family.name)` | \(family.kind.rawValue) | "), "\(family.name)")
        }
    }

    @Test(
        arguments: [
            ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", .metrics(hasBody: true)),
            ("GET / HTTP/1.0\n\n", .metrics(hasBody: true)),
            ("HEAD /metrics?x=1 HTTP/1.1\r\n\r\n", .metrics(hasBody: false)),
            ("GET /metrics HTTP/1.1\r\n", .incomplete),
            ("", .incomplete),
            ("POST /metrics HTTP/1.1\r\n\r\n", .refused(status: 405, reason: "Method Not Allowed")),
            ("GET /etc/passwd HTTP/1.1\r\n\r\n", .refused(status: 404, reason: "Not Found")),
            ("GET  /metrics HTTP/1.1\r\n\r\n", .refused(status: 400, reason: "Bad Request")),
            ("GET /metrics HTTP/2\r\n\r\n", .refused(status: 400, reason: "Bad Request")),
            ("\u{16}\u{3}\u{1}\n\n", .refused(status: 400, reason: "Bad Request")),
            ("\n\n", .refused(status: 400, reason: "Bad Request")),
            (
                String(repeating: "x", count: 8192),
                .refused(status: 431, reason: "Request Header Fields Too Large")
            ),
        ] as [(String, MetricsRequest)])
    func requestsAreRead(_ text: String, _ request: MetricsRequest) {
        #expect(MetricsRequest.parse(Array(text.utf8)) == request)
    }

    @Test func addressesAreOfThisMachineOnly() {
        for text in ["127.0.0.1:9799", "127.9.9.9:1", "[::1]:9799", "unix:/run/x.sock"] {
            #expect(MetricsAddress(text)?.description == text)
        }
        for text in [
            "", "0.0.0.0:1", "192.168.0.1:80", "[::]:80", "localhost:80", "127.0.0.1:0", "127.0.0.1",
            "127.0.0.1:65536", "unix:x", "unix:/" + String(repeating: "x", count: 200),
        ] {
            #expect(MetricsAddress(text) == nil, "\(text)")
        }
    }

    // MARK: Served

    private func ask(_ address: MetricsAddress, _ request: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            "-c",
            """
            import socket, sys
            address, request = sys.argv[1], sys.argv[2].encode()
            if address.startswith("unix:"):
                s = socket.socket(socket.AF_UNIX); s.connect(address[5:])
            else:
                host, port = address.rsplit(":", 1)
                s = socket.create_connection((host, int(port)))
            s.sendall(request)
            data = b""
            while True:
                piece = s.recv(65536)
                if not piece: break
                data += piece
            sys.stdout.buffer.write(data)
            """, address.description, request,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }

    private func freePort() -> UInt16 {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(fd) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(fd, $0, length)
                _ = getsockname(fd, $0, &length)
            }
        }
        return UInt16(bigEndian: address.sin_port)
    }

    @Test(arguments: [true, false]) func metricsAreServed(_ isUnix: Bool) async throws {
        let folder = TemporaryDirectory()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let address =
            isUnix
            ? try #require(MetricsAddress("unix:\(folder.path)/m.sock"))
            : .ipv4("127.0.0.1", port: freePort())
        // Larger than a socket takes at once.
        let body = String(repeating: "# 0123456789abcdef\n", count: 400_000)
        let listener = MetricsListener(address, on: loop) { body }
        try await listener.start()
        let answer = try ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1)
        #expect(parts.first?.hasPrefix("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4") == true)
        #expect(parts.first?.contains("Content-Length: \(body.utf8.count)\r\n") == true)
        #expect(parts.last.map(String.init) == body)
        #expect(try ask(address, "HEAD / HTTP/1.1\r\n\r\n").hasSuffix("\r\n\r\n"))
        #expect(try ask(address, "DELETE / HTTP/1.1\r\n\r\n").contains("Allow: GET, HEAD\r\n"))
        #expect(try ask(address, String(repeating: "x", count: 9000)).hasPrefix("HTTP/1.1 431 "))
        // A second one may not take the place of the first, and may after it.
        let second = MetricsListener(address, on: loop) { "" }
        await #expect(throws: SystemError.self) { try await second.start() }
        await listener.stop()
        if case .unix(let path) = address { #expect(!FileManager.default.fileExists(atPath: path)) }
        try await second.start()
        await second.stop()
    }

    @Test func theFileIsReplacedWhole() throws {
        let folder = TemporaryDirectory()
        let file = ReplacedFile(path: folder.path + "/celestiad.prom")
        try Data("left over".utf8).write(to: URL(filePath: file.path + ".new"))
        for text in ["one\n", "two\n"] {
            try file.write(text)
            #expect(try String(contentsOfFile: file.path, encoding: .utf8) == text)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o644)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["celestiad.prom"])
        file.remove()
        #expect(throws: SystemError.self) { try ReplacedFile(path: folder.path + "/none/x.prom").write("") }
    }
}
