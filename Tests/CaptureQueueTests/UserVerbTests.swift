import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// What users do to a session: pause, resume, reconcile, cancel, purge, migrate.
@Suite struct UserVerbTests {
    static let other = "https://other.example.test/v1"

    @Test func aPausedSessionIsNotSentUntilItIsResumed() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        try await fixture.queue.pause(session)
        try await fixture.queue.pause(session)
        #expect(try await fixture.queue.nextUploads(host: QueueFixture.host).isEmpty)
        #expect(try await fixture.queue.session(session)?.summary.holds.map(\.reason) == [.paused])
        #expect(try await fixture.queue.sessions(.attention).sessions.count == 1)
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(try await after.queue.nextUploads(host: QueueFixture.host).isEmpty)
        try await fixture.queue.resume(session)
        try await fixture.queue.resume(session)
        #expect(try await fixture.queue.nextUploads(host: QueueFixture.host).map(\.id) == [session])
    }

    /// What is shown must be seen, and must not disturb what stands beside it.
    @Test(arguments: [
        ("Kitchen", true), ("録音機 2", true), ("👩‍👩‍👧 ❤️", true), ("e\u{301}tage", true),
        ("", false), (" ", false), ("\u{200B}", false), ("\u{200D}", false), (" Kitchen", false),
        ("Kitchen\u{A0}", false),
        ("Kit\u{202E}nehc", false), ("Kit\u{2066}chen", false), ("Kit\u{200B}chen", false), ("a\nb", false),
        ("a\u{7}b", false), ("a\u{2028}b", false), (String(repeating: "x", count: 64), true),
        (String(repeating: "x", count: 65), false), (String(repeating: "👩‍👩‍👧", count: 30), false),
    ])
    func namesAreShown(_ name: String, _ isOne: Bool) {
        #expect(
            (DisplayName.problem(with: name) == nil) == isOne, "\(DisplayName.problem(with: name) ?? "-")")
    }

    @Test func reconcilingLooksBeforeAnythingIsSent() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        try await fixture.queue.hold(session, .conflict, detail: "other bytes")
        #expect(try await fixture.queue.requestReconcile(session))
        #expect(try await fixture.queue.requestReconcile(session))
        let summary = try #require(try await fixture.queue.session(session)?.summary)
        #expect(summary.isAmbiguous && summary.holds.isEmpty)
        let job = try await fixture.queue.beginUpload(session)
        #expect(job.unsettled.map(\.operation) == [.upsert])
        #expect(await code { _ = try await fixture.queue.requestReconcile(session) } == .illegalTransition)
        // Nothing there: the question is settled, and the session is as it was.
        try await fixture.queue.withdrawIntent(job.unsettled[0].id)
        try await fixture.upsert(session)
        try await fixture.sendAssets(session)
        try await fixture.queue.markImported(session)
        #expect(try await fixture.queue.requestReconcile(session) == false)
    }

    /// The file is gone here, and the cloud has it after all: the receipt counts, not the loss.
    @Test func aLostFileThatTheCloudHasIsNoLoss() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first)
        try await fixture.queue.settleDelete(.asset(asset.id), .deleted)
        try FileManager.default.removeItem(atPath: fixture.path(session, asset.id.text))
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(try await after.queue.session(session)?.summary.isAmbiguous == true)
        _ = try await after.queue.beginUpload(session)
        let lost = try #require(try await after.queue.uploadJob(session).pending.first)
        try await after.queue.commitAsset(lost.id, Sample.remote(lost), sessionRevision: 3)
        try await after.queue.commitUpsert(session: session, remoteID: "r", revision: 3, payloadDigest: "p")
        try await after.queue.markImported(session)
        #expect(try await after.state(of: session) == .imported)
    }

    @Test func aCancelledSessionStaysSoWithoutItsDatabase() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        try await fixture.queue.cancel(session)
        let copy = try fixture.snapshot()
        for name in ["queue.db", "queue.db-wal"] {
            try FileManager.default.removeItem(atPath: "\(copy.path)/state/\(name)")
        }
        let after = try await QueueFixture(copy)
        #expect(try await after.state(of: session) == .cancelled)
        #expect(try await after.queue.session(session)?.assets.first?.pullState == .stored)
        try await after.queue.purge(session)
        #expect(after.exists(session, "session.json"))
        #expect(try await after.register().state == .cancelled)
    }

    @Test(arguments: [SessionState.imported, .cancelled])
    func whatIsOverStaysAsItIs(_ state: SessionState) async throws {
        let fixture = try await QueueFixture()
        let session = try await state == .imported ? fixture.imported() : fixture.stored()
        if state == .cancelled { try await fixture.queue.cancel(session) }
        let queue = fixture.queue
        #expect(await code { try await queue.pause(session) } == .illegalTransition)
        #expect(await code { try await queue.resume(session) } == .illegalTransition)
        #expect(await code { _ = try await queue.migrate(session, to: Self.other) } == .illegalTransition)
        if state == .imported {
            #expect(await code { try await queue.cancel(session) } == .illegalTransition)
            #expect(await code { try await queue.purge(session) } == .illegalTransition)
        } else {
            #expect(await code { _ = try await queue.requestReconcile(session) } == .illegalTransition)
        }
        #expect(try await fixture.state(of: session) == state)
    }

    /// A discarded session waits for nothing and needs nobody; what is in doubt is looked up once.
    @Test func aCancelledSessionKeepsNeitherHoldsNorAttention() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored()
        _ = try await queue.beginUpload(session)
        let intent = try await queue.beginIntent(.upsert, session: session, payloadDigest: "p")
        try await queue.markAmbiguous(intent.id, detail: "no answer")
        try await queue.hold(session, .rejected)
        #expect(await code { _ = try await queue.migrate(session, to: Self.other) } == .intentPending)
        try await queue.cancel(session)
        #expect(try await queue.session(session)?.summary.holds.isEmpty == true)
        #expect(try await queue.sessions(.attention).sessions.isEmpty)
        let counts = try await queue.counts()
        #expect(counts.ambiguous == 0 && counts.unsentFiles == 0)
        #expect(try await queue.discardedInDoubt(host: QueueFixture.host).map(\.id) == [session])
        #expect(try await queue.discardedInDoubt(host: Self.other).isEmpty)
        do {
            _ = try await queue.retry(session)
            Issue.record("a cancelled session was tried again")
        } catch {
            #expect(error.message.contains("is cancelled and cannot be tried again"))
        }
        try await queue.withdrawIntent(intent.id)
        #expect(try await queue.discardedInDoubt(host: QueueFixture.host).isEmpty)
    }

    @Test func whatIsDiscardedIsNotToBeSent() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let (first, second) = (
            try await fixture.stored(Sample.id(1)), try await fixture.stored(Sample.id(2), sizes: [40])
        )
        #expect(try await queue.counts().unsentBytes == 2540)
        try await queue.cancel(first)
        var counts = try await queue.counts()
        #expect(counts.unsentBytes == 40 && counts.unsentFiles == 1)
        #expect(try await queue.storageReport().cancelled == 2500)
        try await queue.purge(first)
        _ = try await queue.migrate(second, to: Self.other)
        counts = try await queue.counts()
        #expect(counts.unsentBytes == 40 && counts.unsentFiles == 1 && counts.storedBytes == 80)
    }

    /// The file is put back, by hand or by a disk that reads again.
    @Test(arguments: ["put back", "set aside for nothing"], [true, false])
    func aFileThatIsWholeAgainIsTakenBack(_ how: String, _ isRestarted: Bool) async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.asset(of: session))
        try await fixture.queue.settleDelete(.asset(asset), .deleted)
        let path = fixture.path(session, asset.text)
        try flip(path)
        _ = await code { _ = try await fixture.openFirst(session) }
        #expect(try await fixture.state(of: session) == .failedTerminal)
        // What was set aside can be read by its user.
        #expect(try await fixture.queue.openForReading(asset).size == 2500)
        if how == "put back" {
            try Data(Sample.bytes(2500)).write(to: URL(filePath: path))
        } else {
            try flip(path + ".damaged-1")
        }
        let after = isRestarted ? try await QueueFixture(try fixture.snapshot()) : fixture
        if !isRestarted || how != "put back" { #expect(try await after.queue.retry(session)) }
        #expect(try await after.state(of: session) == .queuedOffline)
        #expect(try await after.queue.session(session)?.summary.isAmbiguous == false)
        _ = try await after.openFirst(session)
    }

    /// What is still lost is asked for in the cloud before it is given up again.
    @Test func tryingAgainWithoutTheFileAsksTheCloud() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.asset(of: session))
        try await fixture.queue.settleDelete(.asset(asset), .deleted)
        try flip(fixture.path(session, asset.text))
        _ = await code { _ = try await fixture.openFirst(session) }
        #expect(try await fixture.queue.retry(session))
        #expect(try await fixture.queue.session(session)?.summary.isAmbiguous == true)
    }

    @Test func migratingMakesANewSessionAndKeepsTheOld() async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.stored(sizes: [2500, 40])
        _ = try await fixture.queue.beginUpload(old)
        try await fixture.queue.suspendUpload(old)
        let new = try await fixture.queue.migrate(old, to: Self.other)
        #expect(new != old)
        #expect(try await fixture.queue.migrate(old, to: Self.other) == new)
        let before = try #require(try await fixture.queue.session(old))
        let moved = try #require(try await fixture.queue.session(new))
        #expect(
            before.summary.session.state == .cancelled
                && before.summary.session.targetHost == QueueFixture.host)
        #expect(before.summary.session.migratedTo == new.text)
        #expect(
            moved.summary.session.state == .queuedOffline && moved.summary.session.targetHost == Self.other)
        #expect(moved.summary.session.migratedFrom == old.text)
        #expect(moved.assets.map(\.sha256) == before.assets.map(\.sha256))
        #expect(Set(moved.assets.map(\.clientID)).isDisjoint(with: before.assets.map(\.clientID)))
        #expect(moved.events.first?.assetID == moved.assets.first?.id)
        #expect(Array(moved.provenanceChain.prefix(before.provenanceChain.count)) == before.provenanceChain)
        #expect(moved.provenanceChain.last?["from"] == QueueFixture.host)
        // The bytes of the new one do not go with those of the old.
        try await fixture.queue.purge(old)
        let file = try await fixture.queue.openForUpload(moved.assets[0].id, verifying: true)
        #expect(file.size == 2500)
    }

    @Test func aMigrationThatIsKilledHalfwayIsFinishedAtTheStart() async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.stored()
        let before = try fixture.snapshot()
        let new = try await fixture.queue.migrate(old, to: Self.other)
        let after = try await QueueFixture(try fixture.snapshot(databaseOf: before))
        #expect(after.report.adoptedSessions == [new])
        #expect(try await after.state(of: new) == .queuedOffline)
        #expect(try await after.state(of: old) == .cancelled)
        #expect(try await after.queue.session(old)?.summary.session.migratedTo == new.text)
    }

    @Test func aSessionIsMovedWhole() async throws {
        let fixture = try await QueueFixture()
        let draft = try await fixture.register().sessionID
        #expect(
            await code { _ = try await fixture.queue.migrate(draft, to: Self.other) } == .illegalTransition)
        let stored = try await fixture.stored(Sample.id(1))
        #expect(
            await code { _ = try await fixture.queue.migrate(stored, to: QueueFixture.host) } == .invalidInput
        )
        #expect(await code { _ = try await fixture.queue.migrate(stored, to: "nowhere") } == .invalidInput)
        #expect(try await fixture.state(of: stored) == .queuedOffline)
    }
}
