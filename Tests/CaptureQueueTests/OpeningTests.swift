import EventLoop
import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

@Suite struct OpeningTests {
    @Test func secondOpenerIsRefusedWithThePid() async throws {
        let fixture = try await QueueFixture()
        let other = CaptureQueue(QueueConfiguration(directory: fixture.state), executor: fixture.loop)
        do {
            _ = try await other.open()
            Issue.record("a second owner was let in")
        } catch {
            #expect(error.code == .alreadyInUse)
            #expect(error.message.contains("\(getpid())"))
        }
        try await fixture.queue.close()
        _ = try await other.open()
        try await other.close()
    }

    // No user, not even root, can make a directory there.
    @Test func unwritableDirectoryIsNamed() async throws {
        let queue = CaptureQueue(
            QueueConfiguration(directory: "/sys/celestiad"), executor: try EventLoop.start())
        do {
            _ = try await queue.open()
            Issue.record("opened a directory that cannot be")
        } catch {
            #expect(error.code == .notWritable)
            #expect(error.message.contains("/sys/celestiad"))
        }
    }

    @Test func newerSchemaIsRefusedAndUntouched() async throws {
        let fixture = try await QueueFixture()
        try await fixture.queue.close()
        let database = try Database(path: fixture.state + "/queue.db")
        try database.execute("PRAGMA user_version = 7")
        database.close()
        #expect(await code { _ = try await fixture.queue.open() } == .foreignSchema)
    }

    @Test func filesArePrivate() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first)
        let modes = try [
            fixture.state, fixture.state + "/queue.db", fixture.state + "/queue.db-wal",
            fixture.state + "/spool",
            fixture.path(session, ""), fixture.path(session, asset.id.text),
            fixture.path(session, "session.json"),
            fixture.path(session, asset.id.text + ".json"),
        ].map { path in
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
        }
        #expect(modes.allSatisfy { $0 & 0o077 == 0 })
    }

    @Test func closedQueueSaysSo() async throws {
        let fixture = try await QueueFixture()
        try await fixture.queue.close()
        try await fixture.queue.close()
        #expect(await code { _ = try await fixture.queue.sessions() } == .closed)
        let report = try await fixture.queue.open()
        #expect(report.wasClean)
    }

    @Test func changesAreAnnouncedAndCoalesced() async throws {
        let fixture = try await QueueFixture()
        let stream = await fixture.queue.changes()
        try await fixture.register(Sample.id(1))
        try await fixture.register(Sample.id(2))
        try await fixture.queue.close()
        var count = 0
        for await _ in stream { count += 1 }
        #expect(count == 1)
    }
}
