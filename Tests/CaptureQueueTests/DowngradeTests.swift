import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// The package of an older version is refused by what the queue's files say while the newer one runs.
@Suite struct DowngradeTests {
    private static let newest = Schema.migrations.count

    /// SQLite's user_version in the header of the file itself, whatever its log says.
    private func versionInHeader(_ path: String) throws -> Int {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        try #require(bytes.count >= 64)
        return bytes[60..<64].reduce(0) { $0 << 8 | Int($1) }
    }

    /// Runs debian/celestiad.preinst of a version that knows the schema up to `known`; returns what it says, nil when it lets
    /// the installation go on.
    private func preinst(knowing known: Int, queue: String) throws -> String? {
        let project = URL(filePath: #filePath).appending(path: "../../..").standardized
        let script = try String(
            contentsOf: project.appending(path: "debian/celestiad.preinst"), encoding: .utf8
        )
        .replacing("#QUEUE_SCHEMA#", with: "\(known)")
        .replacing("queue=/var/lib/celestiad/queue.db", with: "queue='\(queue)'")
        let process = Process()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", script, "preinst", "upgrade", "0.1.0"]
        let pipe = Pipe()
        process.standardError = pipe
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let text = String(decoding: output, as: UTF8.self)
        if process.terminationStatus == 0 { #expect(text.isEmpty) }
        return process.terminationStatus == 0 ? nil : text
    }

    private func expectRefusal(of known: Int, having version: Int, _ queue: String) throws {
        let text = try preinst(knowing: known, queue: queue)
        #expect(
            text?.contains("schema version \(version), this celestiad knows up to \(known).") == true,
            "\(text ?? "let in")")
    }

    @Test func aNewQueueSaysItsVersionInItsFileWhileItIsOpen() async throws {
        let fixture = try await QueueFixture()
        let path = fixture.state + "/queue.db"
        #expect(try versionInHeader(path) == Self.newest)
        try expectRefusal(of: Self.newest - 1, having: Self.newest, path)
        #expect(try preinst(knowing: Self.newest, queue: path) == nil)
        #expect(try preinst(knowing: Self.newest + 1, queue: path) == nil)
    }

    /// Also one that was killed after it had migrated, before its log was folded into the file.
    @Test(arguments: [1, Schema.migrations.count]) func anOlderQueueDoesOnceItIsOpen(_ version: Int)
        async throws
    {
        let directory = TemporaryDirectory()
        let state = directory.path + "/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
        let old = try Database(path: state + "/queue.db")
        for sql in Schema.migrations.prefix(version) { try old.execute(sql) }
        try old.execute("PRAGMA application_id = \(Schema.applicationID)")
        try old.execute("PRAGMA user_version = \(version)")
        old.abandon()
        #expect(try versionInHeader(state + "/queue.db") == 0)
        let fixture = try await QueueFixture(directory)
        #expect(try versionInHeader(fixture.state + "/queue.db") == Self.newest)
    }

    @Test func aVersionThatIsInTheLogAloneCounts() throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/queue.db"
        let database = try Database(path: path)
        try Schema.prepare(database)
        #expect(try versionInHeader(path) == 0)
        try expectRefusal(of: Self.newest - 1, having: Self.newest, path)
        #expect(try preinst(knowing: Self.newest, queue: path) == nil)
        // The newest of both.
        try Schema.settle(database)
        try database.execute("PRAGMA user_version = 99")
        #expect(try versionInHeader(path) == Self.newest)
        try expectRefusal(of: Self.newest, having: 99, path)
    }

    /// What no celestiad has written into does not stand in the way of one.
    @Test(arguments: [nil, "", "short", String(repeating: "\0", count: 4096)])
    func whatHasNoVersionIsLetIn(_ content: String?) throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/queue.db"
        if let content { try Data(content.utf8).write(to: URL(filePath: path)) }
        for log in [nil, "", "short", String(repeating: "\u{1}", count: 100)] as [String?] {
            if let log { try Data(log.utf8).write(to: URL(filePath: path + "-wal")) }
            #expect(try preinst(knowing: Self.newest, queue: path) == nil)
        }
    }
}
