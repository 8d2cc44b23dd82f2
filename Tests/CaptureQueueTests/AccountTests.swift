import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// What is queued for one account is sent to no other.
@Suite struct AccountTests {
    private static let host = QueueFixture.host

    private func ready(_ queue: CaptureQueue) async throws -> [SessionID] {
        try await queue.nextUploads(host: Self.host).map(\.id)
    }

    private func use(_ queue: CaptureQueue, _ name: String) async throws {
        try await queue.use(account: "id-" + name, name: name, host: Self.host)
    }

    @Test func whatNobodyOwnsBelongsToWhoLogsInFirst() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        try await use(fixture.queue, "ada")
        #expect(try await ready(fixture.queue) == [session])
        #expect(try await fixture.queue.session(session)?.summary.session.account == "id-ada")
    }

    @Test func whatIsQueuedForOneAccountWaitsWhileAnotherIsLoggedIn() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await use(queue, "ada")
        let stored = try await fixture.stored(Sample.id(1))
        let draft = try await fixture.register(Sample.id(2)).sessionID
        let failed = try await fixture.stored(Sample.id(3))
        try await queue.failTerminally(failed, reason: .invalidHost, message: "x")
        try await queue.leaveAccount(host: Self.host)
        // Recorded while nobody is logged in: whoever logs in next has it.
        let between = try await fixture.stored(Sample.id(4))
        try await use(queue, "bob")
        #expect(try await ready(queue) == [between])
        let hold = try #require(try await queue.session(stored)?.summary.holds.first)
        #expect(hold.reason == .otherAccount)
        #expect(hold.detail == "queued for ada")
        #expect(hold.reason.clearedBy(session: stored.text).contains("session migrate \(stored)"))
        #expect(try await queue.session(draft)?.summary.holds.map(\.reason) == [.otherAccount])
        // No verb of a user makes it this account's.
        #expect(await code { _ = try await queue.retry(stored) } == .illegalTransition)
        try await queue.resume(stored)
        #expect(await code { _ = try await queue.requestReconcile(stored) } == .illegalTransition)
        #expect(await code { _ = try await queue.retry(failed) } == .illegalTransition)
        #expect(try await queue.session(failed)?.summary.holds.map(\.reason) == [.otherAccount])
        #expect(try await ready(queue) == [between])
        #expect(await code { _ = try await queue.beginUpload(stored) } == .illegalTransition)
        // …nor does a restart.
        let after = try await QueueFixture(try fixture.snapshot())
        try await use(after.queue, "bob")
        #expect(try await ready(after.queue) == [between])
        try await queue.leaveAccount(host: Self.host)
        try await use(queue, "ada")
        #expect(try await ready(queue) == [stored])
        #expect(try await queue.retry(failed))
        #expect(try await ready(queue) == [stored, failed])
        #expect(try await queue.session(between)?.summary.holds.map(\.reason) == [.otherAccount])
    }

    @Test func whatIsBeingSentIsPutDown() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await use(queue, "ada")
        let session = try await fixture.stored()
        _ = try await queue.beginUpload(session)
        // A logout and a login that nobody noticed in between.
        try await use(queue, "bob")
        #expect(await !queue.isInHand(session))
        #expect(try await fixture.state(of: session) == .queuedOffline)
        #expect(try await ready(queue).isEmpty)
    }

    /// The description beside the files has it too.
    @Test func aRebuiltQueueKnowsWhoseItsSessionsAre() async throws {
        let fixture = try await QueueFixture()
        try await use(fixture.queue, "ada")
        let session = try await fixture.stored()
        let copy = try fixture.snapshot()
        for name in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            try? FileManager.default.removeItem(atPath: "\(copy.path)/state/\(name)")
        }
        let after = try await QueueFixture(copy)
        try await use(after.queue, "bob")
        #expect(try await ready(after.queue).isEmpty)
        let hold = try #require(try await after.queue.session(session)?.summary.holds.first)
        #expect(hold.detail == "queued for ada")
    }

    private func withoutDatabase(_ fixture: QueueFixture) throws -> TemporaryDirectory {
        let copy = try fixture.snapshot()
        for name in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            try? FileManager.default.removeItem(atPath: "\(copy.path)/state/\(name)")
        }
        return copy
    }

    /// What was claimed after it was described: with one account it can only be hers, with several nobody's.
    @Test func aRebuiltQueueDoesNotGiveAwayWhatWasClaimed() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        try await use(fixture.queue, "ada")
        let alone = try await QueueFixture(try withoutDatabase(fixture))
        try await use(alone.queue, "bob")
        #expect(try await ready(alone.queue).isEmpty)
        #expect(try await alone.queue.session(session)?.summary.session.account == "id-ada")
        try await use(fixture.queue, "bob")
        let several = try await QueueFixture(try withoutDatabase(fixture))
        for name in ["bob", "ada"] {
            try await use(several.queue, name)
            #expect(try await ready(several.queue).isEmpty)
        }
        let hold = try #require(try await several.queue.session(session)?.summary.holds.first)
        #expect(hold.detail == "queued for an account that is not known any more")
        let new = try await several.queue.migrate(session, to: Self.host)
        #expect(try await ready(several.queue) == [new])
    }

    private func importing(_ queue: CaptureQueue, _ bytes: [UInt8]) async throws -> ImportOutcome {
        try await ImportTests.take(bytes, queue)
    }

    /// What is imported is whose login it is, and what another has is not here already.
    @Test func importsBelongToWhoIsLoggedIn() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await use(queue, "ada")
        let first = try await importing(queue, Sample.bytes(500))
        #expect(try await queue.session(first.session)?.summary.session.account == "id-ada")
        try await use(queue, "bob")
        #expect(try await ready(queue).isEmpty)
        let second = try await importing(queue, Sample.bytes(500))
        #expect(second.isNew && second.session != first.session)
        #expect(try await ready(queue) == [second.session])
        #expect(try await importing(queue, Sample.bytes(500)).session == second.session)
    }

    /// Who hears of an earlier login late, changes nothing.
    @Test func anEarlierLoginIsNotTakenForALaterOne() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored()
        try await queue.use(account: "b", name: "bob", host: Self.host, generation: 7)
        try await queue.use(account: "a", name: "ada", host: Self.host, generation: 5)
        #expect(try await queue.currentAccount(host: Self.host) == "b")
        try await queue.leaveAccount(host: Self.host, after: 7)
        try await queue.use(account: "b", name: "bob", host: Self.host, generation: 7)
        #expect(try await queue.currentAccount(host: Self.host) == nil)
        #expect(try await queue.session(session)?.summary.session.account == "b")
    }

    /// Each account has its own, and waits for nobody else's sessions.
    @Test func theCheckpointIsAnAccounts() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await use(queue, "ada")
        _ = try await fixture.imported(Sample.id(1))
        _ = try await fixture.stored(Sample.id(2))
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        try await use(queue, "bob")
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        _ = try await fixture.imported(Sample.id(3))
        let ticket = try #require(try await queue.checkpointDue(host: Self.host))
        try await queue.checkpointDone(host: Self.host, ticket: ticket, syncedAt: "x")
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        try await use(queue, "ada")
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        try await queue.cancel(try #require(SessionID(Sample.id(2))))
        #expect(try await queue.checkpointDue(host: Self.host) != nil)
    }

    /// A wish about one account is none about another.
    @Test func unboundIsUnboundFromOneAccount() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        var update = RecorderUpdate(serial: Sample.serial)
        update.pairedAt = QueueFixture.start
        try await queue.record(update)
        func isUnbound() async throws -> Bool { try await queue.recorder(Sample.serial)?.unboundAt != nil }
        try await use(queue, "bob")
        try await queue.setUnbound(recorder: Sample.serial, true)
        #expect(try await isUnbound())
        try await queue.leaveAccount(host: Self.host)
        #expect(try await isUnbound())
        try await use(queue, "ada")
        #expect(try await !isUnbound())
        try await use(queue, "bob")
        #expect(try await isUnbound())
    }

    @Test func aSessionCanBeGivenToTheAccountThatIsLoggedIn() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await use(queue, "ada")
        let old = try await fixture.stored()
        #expect(await code { _ = try await queue.migrate(old, to: Self.host) } == .invalidInput)
        try await use(queue, "bob")
        let new = try await queue.migrate(old, to: Self.host)
        #expect(try await queue.migrate(old, to: Self.host) == new)
        #expect(try await ready(queue) == [new])
        let session = try #require(try await queue.session(new)?.summary.session)
        #expect(session.account == "id-bob" && session.clientID != old.text)
        #expect(try await fixture.state(of: old) == .cancelled)
    }

    @Test func whatWasDiscardedInDoubtIsLookedUpByItsOwnAccount() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await use(queue, "ada")
        let session = try await fixture.stored()
        _ = try await queue.beginUpload(session)
        let intent = try await queue.beginIntent(.upsert, session: session, payloadDigest: "p")
        try await queue.markAmbiguous(intent.id, detail: "no answer")
        try await queue.cancel(session)
        try await use(queue, "bob")
        #expect(try await queue.discardedInDoubt(host: Self.host).isEmpty)
        try await use(queue, "ada")
        #expect(try await queue.discardedInDoubt(host: Self.host).map(\.id) == [session])
    }

    @Test func aRecorderHasAnIdInEachAccount() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await queue.record(RecorderUpdate(serial: Sample.serial))
        func id() async throws -> String? { try await queue.recorder(Sample.serial)?.deviceIDs[Self.host] }
        try await use(queue, "ada")
        try await queue.bind(recorder: Sample.serial, host: Self.host, account: "id-ada", deviceID: "d1")
        try await use(queue, "bob")
        #expect(try await id() == nil)
        #expect(try await queue.otherAccounts(of: Sample.serial, host: Self.host) == ["ada"])
        try await queue.bind(recorder: Sample.serial, host: Self.host, account: "id-bob", deviceID: "d2")
        #expect(try await id() == "d2")
        try await use(queue, "ada")
        #expect(try await id() == "d1")
    }

    @Test(arguments: ["", String(repeating: "x", count: 257), "a\u{0}b"])
    func anIdThatCannotBeKeptIsRefused(_ account: String) async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        #expect(await code { try await queue.use(account: account, name: "x", host: "h") } == .invalidInput)
    }
}
