import EventLoop
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Gateway

/// What the log writes, and where.
@Suite struct LogWritingTests {
    private static func entry(_ text: String, _ level: LogLevel = .warning) -> LogEntry {
        LogEntry(level: level, text: text)
    }

    /// Lines that come → lines that are written.
    @Test(
        arguments: [
            (
                ["w:a", "w:b", "w:a", "w:b", "i:c"],
                ["w:a", "w:b", "w:a (repeated 1 times)", "w:b (repeated 1 times)", "i:c"]
            ),
            (["i:a", "i:a", "i:b", "i:a"], ["i:a", "i:a (repeated 1 times)", "i:b", "i:a"]),
            (["w:a", "i:b", "w:a"], ["w:a", "i:b", "w:a"]),
            (["w:1", "w:2", "w:3", "w:4", "w:1", "w:5"], ["w:1", "w:2", "w:3", "w:4", "w:5"]),
            (["i:a", "w:a"], ["i:a", "w:a"]),
        ] as [([String], [String])])
    func repeatsAreCounted(_ lines: [String], _ written: [String]) {
        var filter = RepeatFilter()
        let result = lines.flatMap { line in
            filter.note(Self.entry(String(line.dropFirst(2)), line.hasPrefix("w") ? .warning : .info))
        }
        #expect(result.map { ($0.level == .warning ? "w:" : "i:") + $0.text } == written)
    }

    @Test func whatFailsForEverIsToldEverMoreSeldom() {
        var filter = RepeatFilter()
        let written = (0..<100_001).flatMap { _ in filter.note(Self.entry("it")) }
        #expect(
            written.map(\.text) == ["it"]
                + [10, 100, 1000, 10_000, 100_000].map { "it (repeated \($0) times)" })
    }

    @Test func fieldsGoToTheJournal() {
        var entry = Self.entry("session s: waits")
        (entry.kind, entry.recorder, entry.session) = (.sessionHeld, "CEL-0001", "s")
        let text = String(decoding: JournalSocket.datagram(entry), as: UTF8.self)
        #expect(
            text
                == "MESSAGE=session s: waits\nPRIORITY=4\nSYSLOG_IDENTIFIER=celestiad\n"
                + "MESSAGE_ID=\(EventKind.sessionHeld.messageID)\nCELESTIAD_RECORDER=CEL-0001\nCELESTIAD_SESSION=s\n"
        )
        // A value of more lines than one cannot pass for another field.
        let tricky = JournalSocket.datagram(Self.entry("a\nPRIORITY=0", .info))
        #expect(
            tricky.starts(
                with: Array("MESSAGE\n".utf8) + [12, 0, 0, 0, 0, 0, 0, 0] + Array("a\nPRIORITY=0\n".utf8)))
    }

    @Test func journaldIsSentTo() throws {
        let folder = TemporaryDirectory()
        let path = folder.path + "/socket"
        let socket = JournalSocket(path: path)
        #expect(!socket.send(Self.entry("nobody listens")))
        let fd = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        defer { close(fd) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0)
        #expect(socket.send(Self.entry("hello")))
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(fd, &buffer, buffer.count, 0)
        #expect(
            String(decoding: buffer.prefix(max(0, count)), as: UTF8.self).hasPrefix(
                "MESSAGE=hello\nPRIORITY=4\n"))
    }

    @Test func levelAndTargetChangeWhileItRuns() {
        let (console, journal) = (Lines(), Lines())
        let log = Log(
            level: .info, target: .console,
            sinks: [.console: { console.append($0.text) }, .journal: { journal.append($0.text) }])
        log.debug("left out")
        log.level = .debug
        log.debug("written")
        log.target = .journal
        log.info("elsewhere", .recorderConnected)
        log.level = .error
        log.warning("left out", .recorderProblem)
        #expect(console.all == ["written"] && journal.all == ["elsewhere"])
        #expect(log.tally.levels == [.debug: 2, .info: 1, .warning: 1])
        #expect(log.tally.kinds == [.recorderConnected: 1, .recorderProblem: 1])
        #expect(log.standardTarget == .console)
    }

    @Test func everyKindIsDocumentedByItsId() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../docs/logging.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(Set(EventKind.allCases.map(\.messageID)).count == EventKind.allCases.count)
        for kind in EventKind.allCases {
            #expect(
                kind.messageID.count == 32 && kind.messageID.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            #expect(text.contains("\n| \(kind.name) | "), "\(kind)")
            #expect(text.contains("`\(kind.messageID)`"), "\(kind)")
        }
    }
}
