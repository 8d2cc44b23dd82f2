import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// A file can always be imported again, whatever became of what was imported before.
@Suite struct ImportRepairTests {
    private let bytes = Sample.bytes(2500)

    private func names(_ fixture: QueueFixture) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: fixture.state + "/spool")
    }

    private func isWhole(_ session: SessionID, _ fixture: QueueFixture) async throws -> Bool {
        let detail = try #require(try await fixture.queue.session(session))
        let asset = try #require(detail.assets.first)
        _ = try await fixture.queue.openForUpload(asset.id, verifying: true)
        return detail.summary.session.state == .queuedOffline && !detail.summary.isAmbiguous
            && asset.pullState == .stored
    }

    /// The directory is in place and its COMMIT failed: the bytes are no session, and were in the way for ever.
    @Test func aFailedCommitIsHealedByTheNextImport() async throws {
        let fixture = try await QueueFixture()
        try await fixture.queue.failCommits(true)
        #expect(await code { _ = try await ImportTests.take(bytes, fixture.queue) } == .illegalTransition)
        #expect(try await fixture.queue.sessions().sessions.isEmpty)
        #expect(try names(fixture).count == 1)
        try await fixture.queue.failCommits(false)
        let outcome = try await ImportTests.take(bytes, fixture.queue)
        #expect(outcome.isNew && !outcome.isRestored)
        #expect(try names(fixture) == [outcome.session.text])
        #expect(try await isWhole(outcome.session, fixture))
    }

    /// The same, but nobody imports it again: the next start looks, even after a stop in order.
    @Test func aFailedCommitIsHealedByTheNextStart() async throws {
        let fixture = try await QueueFixture()
        try await fixture.queue.failCommits(true)
        _ = await code { _ = try await ImportTests.take(bytes, fixture.queue) }
        try await fixture.queue.failCommits(false)
        await fixture.queue.failRead()
        try await fixture.queue.close()
        let after = try await QueueFixture(fixture.directory)
        #expect(!after.report.wasClean)
        let session = try #require(after.report.adoptedSessions.first)
        #expect(try await isWhole(session, after))
    }

    @Test(arguments: ["flipped", "shortened", "missing", "folder missing", "sidecar cut"], [true, false])
    func theOriginalMendsADamagedImport(_ harm: String, _ isRestarted: Bool) async throws {
        let fixture = try await QueueFixture()
        let session = try await ImportTests.take(bytes, fixture.queue).session
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        let path = fixture.path(session, asset.text)
        switch harm {
        case "flipped", "sidecar cut": try flip(path)
        case "shortened": truncate(path, 10)
        case "missing": try FileManager.default.removeItem(atPath: path)
        default: try FileManager.default.removeItem(atPath: fixture.path(session, ""))
        }
        if harm == "sidecar cut" { truncate(path + ".json", 3) }
        let after = isRestarted ? try await QueueFixture(try fixture.snapshot()) : fixture
        _ = await code { _ = try await after.queue.openForUpload(asset, verifying: true) }
        let outcome = try await ImportTests.take(bytes, after.queue)
        #expect(outcome == ImportOutcome(session: session, isNew: false, isRestored: true))
        _ = try await after.queue.openForUpload(asset, verifying: true)
        #expect(try await after.queue.asset(asset)?.pullState == .stored)
        #expect([.queuedOffline].contains(try await after.state(of: session)))
        #expect(after.exists(session, "\(asset).damaged-1") == !harm.contains("missing"))
        #expect(try await ImportTests.take(bytes, after.queue).isRestored == false)
    }

    @Test func theOriginalMendsARecordingToo() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        try await fixture.queue.settleDelete(.asset(asset), .deleted)
        try flip(fixture.path(session, asset.text))
        _ = await code { _ = try await fixture.queue.openForUpload(asset, verifying: true) }
        #expect(try await fixture.state(of: session) == .failedTerminal)
        let outcome = try await ImportTests.take(bytes, fixture.queue)
        #expect(outcome.session == session && outcome.isRestored)
        #expect(try await isWhole(session, fixture))
    }

    @Test func afterARebuildWhatWasPurgedCanBeImportedAgain() async throws {
        let fixture = try await QueueFixture()
        let first = try await ImportTests.take(bytes, fixture.queue).session
        try await fixture.queue.cancel(first)
        try await fixture.queue.purge(first)
        let after = try await QueueFixture(try fixture.withoutDatabase())
        #expect(try await after.state(of: first) == .cancelled)
        #expect(try await after.queue.session(first)?.assets.first?.pullState == .released)
        let second = try await ImportTests.take(bytes, after.queue)
        #expect(second.isNew && second.session != first)
        #expect(try await isWhole(second.session, after))
    }

    /// Another address is another cloud: that one does not have it.
    @Test func anotherHostsCopyIsNoCopy() async throws {
        let fixture = try await QueueFixture()
        let first = try await ImportTests.take(bytes, fixture.queue).session
        var file = ImportTests.file()
        file.targetHost = UserVerbTests.other
        let second = try await ImportTests.take(bytes, fixture.queue, file)
        #expect(second.isNew && second.session != first)
        #expect(try await ImportTests.take(bytes, fixture.queue, file).session == second.session)
        #expect(try await ImportTests.take(bytes, fixture.queue).session == first)
    }
}

/// The queue without its database: what is left is said, and nothing is taken for what it is not.
@Suite struct RebuildTests {
    private let bytes = Sample.bytes(2500)

    private func imported() async throws -> (QueueFixture, SessionID, AssetID) {
        let fixture = try await QueueFixture()
        let session = try await ImportTests.take(bytes, fixture.queue).session
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        return (fixture, session, asset)
    }

    @Test func theAnnouncedDigestIsProofEnough() async throws {
        let (fixture, session, asset) = try await imported()
        try FileManager.default.removeItem(atPath: fixture.path(session, asset.text + ".json"))
        let after = try await QueueFixture(try fixture.withoutDatabase())
        #expect(after.report.adoptedAssets == [asset] && after.report.lostAssets.isEmpty)
        #expect(try await after.state(of: session) == .queuedOffline)
        #expect(try await after.queue.asset(asset)?.sha256 == SHA256.digest(of: bytes))
    }

    @Test func aChangedFileFailsItsSessionAndIsReported() async throws {
        let (fixture, session, asset) = try await imported()
        try flip(fixture.path(session, asset.text))
        let copy = try fixture.withoutDatabase()
        let after = try await QueueFixture(copy)
        #expect(after.report.lostAssets == [asset])
        #expect(try await after.state(of: session) == .failedTerminal)
        #expect(try await after.queue.asset(asset)?.pullState == .damaged)
        #expect(try await after.queue.troubles().damagedFiles == 1)
        #expect(try await after.queue.sessions(.attention).sessions.map(\.session.id) == [session])
        // Lost again: what was known to be damaged is so still.
        try await after.queue.close()
        let again = try await QueueFixture(try after.withoutDatabase())
        #expect(again.report.lostAssets == [asset])
        #expect(try await again.state(of: session) == .failedTerminal)
    }

    @Test func aFileThatIsGoneIsAskedForInTheCloud() async throws {
        let (fixture, session, asset) = try await imported()
        try FileManager.default.removeItem(atPath: fixture.path(session, asset.text))
        let after = try await QueueFixture(try fixture.withoutDatabase())
        #expect(after.report.lostAssets == [asset])
        #expect(try await after.queue.sessions(.attention).sessions.map(\.isAmbiguous) == [true])
        let job = try await after.queue.beginUpload(session)
        #expect(job.unsettled.map(\.operation) == [.upsert])
        try await after.queue.withdrawIntent(job.unsettled[0].id)
        #expect(await code { _ = try await after.queue.openForUpload(asset) } == .assetMissing)
        #expect(try await after.state(of: session) == .failedTerminal)
    }

    @Test func aRecordersFileThatWasSetAsideIsNoSilentDraft() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        try await fixture.queue.settleDelete(.asset(asset), .deleted)
        try flip(fixture.path(session, asset.text))
        _ = await code { _ = try await fixture.queue.openForUpload(asset, verifying: true) }
        let after = try await QueueFixture(try fixture.withoutDatabase())
        #expect(try await after.state(of: session) == .failedTerminal)
        // The recorder has it after all.
        #expect(try await after.queue.takeUp(asset))
        _ = try await after.queue.beginPull(asset)
        _ = try await after.queue.append(bytes, to: asset, at: 0)
        #expect(try await after.queue.finishPull(asset).isSessionSealed)
        #expect(try await after.state(of: session) == .queuedOffline)
    }

    @Test func aSessionWithoutADescriptionIsShownUntilItIsMended() async throws {
        let (fixture, session, _) = try await imported()
        truncate(fixture.path(session, "session.json"), 20)
        let after = try await QueueFixture(try fixture.withoutDatabase())
        #expect(after.report.undescribed == [session] && after.report.foreign.isEmpty)
        #expect(try await after.queue.troubles().undescribed == [session])
        try await after.queue.close()
        // A stop in order makes nobody forget it.
        let again = try await QueueFixture(after.directory)
        #expect(try await again.queue.troubles().undescribed == [session])
        #expect(try await ImportTests.take(bytes, again.queue).session == session)
        #expect(try await again.queue.troubles().undescribed.isEmpty)
        #expect(try await again.state(of: session) == .queuedOffline)
    }

    @Test func aReadErrorProvesNothing() async throws {
        let (fixture, session, asset) = try await imported()
        let path = fixture.path(session, asset.text)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".elsewhere")
        // Opening a link is an error of the system (ELOOP), as EIO would be: the file may be well.
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nonexistent")
        let copy = try fixture.withoutDatabase()
        let after = try await QueueFixture(copy)
        #expect(after.report.unreadAssets == [asset] && after.report.lostAssets.isEmpty)
        #expect(!after.exists(session, "\(asset).damaged-1"))
        try await after.queue.close()
        try FileManager.default.removeItem(atPath: after.path(session, asset.text))
        try FileManager.default.moveItem(
            atPath: after.path(session, asset.text + ".elsewhere"), toPath: after.path(session, asset.text))
        let again = try await QueueFixture(copy)
        #expect(again.report.adoptedAssets == [asset])
        #expect(try await again.state(of: session) == .queuedOffline)
    }

    @Test func aRecordersSessionIsMendedByItsManifest() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        truncate(fixture.path(session, "session.json"), 20)
        let after = try await QueueFixture(try fixture.withoutDatabase())
        #expect(after.report.undescribed == [session])
        #expect(try await after.register().state == .queuedOffline)
        #expect(try await after.queue.troubles().undescribed.isEmpty)
        #expect(try await after.queue.session(session)?.assets.first?.pullState == .stored)
    }
}

extension QueueFixture {
    func asset(of session: SessionID) async throws -> AssetID? {
        try await queue.session(session)?.assets.first?.id
    }

    /// Opens the session's first file as the uploader does.
    func openFirst(_ session: SessionID) async throws -> AssetFile? {
        guard let asset = try await asset(of: session) else { return nil }
        return try await queue.openForUpload(asset, verifying: true)
    }

    /// A copy of everything but the database.
    func withoutDatabase() throws -> TemporaryDirectory {
        let copy = try snapshot()
        for name in ["queue.db", "queue.db-wal"] {
            try? FileManager.default.removeItem(atPath: "\(copy.path)/state/\(name)")
        }
        return copy
    }
}

extension CaptureQueue {
    /// Has every change refused that makes a session.
    func failCommits(_ fails: Bool) throws {
        let sql =
            "CREATE TEMP TRIGGER refusal BEFORE INSERT ON main.sessions BEGIN SELECT RAISE(ABORT, 'no'); END"
        try database.execute(fails ? sql : "DROP TRIGGER refusal")
    }

    /// What a read that failed leaves behind.
    func failRead() {
        _ = try? guarding { () throws(QueueError) in throw QueueError(.io, "a disk error") }
    }
}
