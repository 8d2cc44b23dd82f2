import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// Databases that are damaged, old, or from elsewhere; disks that fail. Nothing is deleted, nothing is lost.
@Suite struct DamageTests {
    enum Harm: String, CaseIterable, Sendable {
        case overwritten, truncated, pages, empty, missing
    }

    /// A queue with a stored, an imported and a cancelled session and a paired recorder, closed or killed.
    private func prepared(killed: Bool) async throws -> (
        TemporaryDirectory, stored: SessionID, cancelled: SessionID
    ) {
        let fixture = try await QueueFixture()
        let stored = try await fixture.stored(sizes: [2500, 40])
        _ = try await fixture.imported(Sample.id(2))
        let cancelled = try await fixture.stored(Sample.id(3))
        try await fixture.queue.cancel(cancelled)
        var recorder = RecorderUpdate(serial: Sample.serial)
        recorder.pairedAt = QueueFixture.start
        try await fixture.queue.record(recorder)
        let copy = try fixture.snapshot()
        if killed { return (copy, stored, cancelled) }
        let again = try await QueueFixture(copy)
        try await again.queue.close()
        return (copy, stored, cancelled)
    }

    private func harm(_ path: String, _ harm: Harm) throws {
        let url = URL(filePath: path)
        let data = try Data(contentsOf: url)
        switch harm {
        case .overwritten: try Data(String(repeating: "no database ", count: 900).utf8).write(to: url)
        case .truncated: try data.prefix(data.count / 2).write(to: url)
        case .empty: try Data().write(to: url)
        case .missing: try FileManager.default.removeItem(at: url)
        case .pages:
            var copy = data
            for offset in stride(from: 8192, to: copy.count, by: 4096) {
                copy.replaceSubrange(offset..<offset + 64, with: Data(repeating: 0xEE, count: 64))
            }
            try copy.write(to: url)
        }
    }

    @Test(arguments: Harm.allCases)
    func aDamagedDatabaseIsSetAsideAndRebuilt(_ harm: Harm) async throws {
        let (directory, stored, cancelled) = try await prepared(killed: false)
        let path = directory.path + "/state/queue.db"
        // As a crash leaves it, so that the start looks.
        try? FileManager.default.removeItem(atPath: directory.path + "/state/queue.clean")
        try self.harm(path, harm)
        let harmed = FileManager.default.contents(atPath: path)
        let after = try await QueueFixture(directory)
        if [.overwritten, .truncated, .pages].contains(harm) {
            let name = try #require(after.report.setAside)
            #expect(after.report.finding != nil)
            #expect(FileManager.default.contents(atPath: after.state + "/" + name) == harmed)
            #expect(try await after.queue.troubles().setAside == [name])
        } else {
            // Nothing is left to be set aside, but it is said all the same, as long as the user leaves the note.
            #expect(try await after.queue.troubles().setAside == ["queue.db.missing-1"])
        }
        let session = try #require(try await after.queue.session(stored))
        #expect(session.summary.session.state == .queuedOffline)
        #expect(session.assets.allSatisfy { $0.pullState == .stored })
        #expect(try await after.state(of: cancelled) == .cancelled)
        _ = try await after.queue.openForUpload(session.assets[0].id, verifying: true)
    }

    @Test func recordersAreSalvagedFromADamagedDatabase() async throws {
        let (directory, _, _) = try await prepared(killed: false)
        let path = directory.path + "/state/queue.db"
        let database = try Database(path: path)
        try database.run("DELETE FROM meta WHERE key = 'clean_stop'")
        let page = try #require(
            try database.number("SELECT rootpage FROM sqlite_schema WHERE name = 'assets'"))
        database.close()
        var data = try Data(contentsOf: URL(filePath: path))
        let start = Int(page - 1) * 4096
        data.replaceSubrange(start..<start + 64, with: Data(repeating: 0xEE, count: 64))
        try data.write(to: URL(filePath: path))
        let after = try await QueueFixture(directory)
        #expect(after.report.setAside == "queue.db.damaged-1")
        #expect(try await after.queue.recorder(Sample.serial)?.pairedAt == QueueFixture.start)
    }

    @Test func anOlderDatabaseThatWasPutBackIsNotBelieved() async throws {
        let (directory, stored, _) = try await prepared(killed: false)
        let older = try Data(contentsOf: URL(filePath: directory.path + "/state/queue.db"))
        let between = try await QueueFixture(directory)
        let newer = try await between.stored(Sample.id(9))
        try await between.queue.close()
        try older.write(to: URL(filePath: directory.path + "/state/queue.db"))
        let after = try await QueueFixture(directory)
        #expect(!after.report.wasClean)
        #expect(after.report.adoptedSessions == [newer])
        #expect(try await after.state(of: newer) == .queuedOffline)
        #expect(try await after.state(of: stored) == .queuedOffline)
    }

    /// The older one knows a file that the cloud has got since, and that is gone here: that is no loss.
    @Test func whatAnOlderDatabaseMissesIsAskedForInTheCloud() async throws {
        let fixture = try await QueueFixture()
        let session = try await ImportTests.take(Sample.bytes(2500), fixture.queue).session
        let before = try fixture.snapshot()
        _ = try await fixture.queue.beginUpload(session)
        try await fixture.upsert(session)
        try await fixture.sendAssets(session)
        try await fixture.queue.markImported(session)
        let after = try await QueueFixture(try fixture.snapshot(databaseOf: before))
        let summary = try #require(try await after.queue.session(session)?.summary)
        #expect(summary.session.state == .queuedOffline && summary.isAmbiguous)
        // Importing it again meanwhile puts it back, and says nothing of SQL.
        let again = try await ImportTests.take(Sample.bytes(2500), after.queue)
        #expect(again.session == session && again.isRestored)
        _ = try await after.queue.beginUpload(session)
        try await after.sendAssets(session)
        try await after.queue.commitUpsert(session: session, remoteID: "r", revision: 3, payloadDigest: "p")
        try await after.queue.markImported(session)
        #expect(try await after.state(of: session) == .imported)
    }

    @Test func aFailedFlushEndsTheQueueAndHasEveryFileReadAgain() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored(sizes: [2500, 40])
        let asset = try #require(try await fixture.queue.session(session)?.assets.first).id
        var failures = await fixture.queue.suspicions().makeAsyncIterator()
        await fixture.queue.failFlush()
        #expect(await code { try await fixture.queue.pause(session) } == .storageSuspect)
        #expect(await failures.next()?.code == .storageSuspect)
        try await fixture.queue.close()
        // One bit, the size unchanged: only reading finds it.
        try flip(fixture.path(session, asset.text))
        let after = try await QueueFixture(fixture.directory)
        #expect(after.report.isUnverified && !after.report.wasClean)
        let policy = RecorderDeletePolicy.afterQueue
        #expect(try await after.deletable(policy) == 0)
        #expect(try await after.queue.verifyContents() == [asset])
        #expect(after.exists(session, "\(asset).damaged-1"))
        #expect(try await after.deletable(policy) == 1)
        try await after.queue.close()
        let again = try await QueueFixture(fixture.directory)
        #expect(!again.report.isUnverified)
        #expect(try await again.queue.verifyContents().isEmpty)
    }

    @Test func aMigrationKeepsTheDatabaseOfBefore() async throws {
        let directory = TemporaryDirectory()
        let state = directory.path + "/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
        let old = try Database(path: state + "/queue.db")
        try old.transaction { () throws(QueueError) in
            try old.execute(Schema.migrations[0])
            try old.execute("PRAGMA application_id = \(Schema.applicationID)")
            try old.execute("PRAGMA user_version = 1")
            try old.run(SchemaTests.insertSession, Sample.id(1), Sample.id(1))
        }
        old.close()
        let fixture = try await QueueFixture(directory)
        #expect(try await fixture.queue.sessions().sessions.map(\.session.id.text) == [Sample.id(1)])
        #expect(try await fixture.queue.counts().sessions == [.draft: 1])
        try await fixture.queue.close()
        let path = state + "/queue.db.before-v2"
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
        #expect(mode & 0o077 == 0)
        let backup = try Database(path: path)
        #expect(try backup.number("PRAGMA user_version") == 1)
        #expect(try backup.number("SELECT count(*) FROM sessions") == 1)
    }
}

extension QueueFixture {
    /// How many objects the recorder may be told to delete.
    fileprivate func deletable(_ policy: RecorderDeletePolicy) async throws -> Int {
        try await queue.deletableObjects(
            recorder: Sample.serial, storageGeneration: Sample.generation, policy: policy
        ).count
    }
}

extension CaptureQueue {
    /// What a disk that cannot be flushed leads to.
    func failFlush() {
        _ = try? guarding { () throws(QueueError) in
            throw QueueError(.storageSuspect, "cannot flush to the disk: Input/output error")
        }
    }
}
