import EventLoop
import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

@Suite struct PullTests {
    @Test func registrationIsIdempotent() async throws {
        let fixture = try await QueueFixture()
        let first = try await fixture.register(sizes: [10, 20])
        #expect(first.isNew && first.state == .draft && first.added.count == 2)
        let again = try await fixture.register(Sample.captureID.lowercased(), sizes: [10, 20])
        #expect(!again.isNew && again.sessionID == first.sessionID && again.added.isEmpty)
        let page = try await fixture.queue.sessions()
        #expect(page.sessions.count == 1)
        // The client id is echoed verbatim, as first seen.
        #expect(page.sessions.first?.session.clientID == Sample.captureID)
    }

    @Test func aLaterManifestMayAddFilesToADraftOnly() async throws {
        let fixture = try await QueueFixture()
        try await fixture.register(sizes: [10])
        #expect(try await fixture.register(sizes: [10, 20]).added.count == 1)
        let session = try await fixture.stored(Sample.id(9), sizes: [10])
        let late = try await fixture.register(Sample.id(9), sizes: [10, 20])
        #expect(late.sessionID == session && late.added.isEmpty)
        #expect(late.notTaken.map(\.byteSize) == [20])
    }

    @Test func anotherSourceCannotTakeTheIdentity() async throws {
        let fixture = try await QueueFixture()
        try await fixture.register()
        #expect(
            await code { _ = try await fixture.queue.register(Sample.capture(serial: "OTHER")) }
                == .identityClash)
    }

    @Test func aCaptureWithoutFilesIsQueuedAtOnce() async throws {
        let fixture = try await QueueFixture()
        #expect(try await fixture.register(sizes: []).state == .queuedOffline)
    }

    @Test func bytesArriveInTheOrderOfDurability() async throws {
        let fixture = try await QueueFixture()
        let capture = try await fixture.register(sizes: [2500, 0])
        let asset = capture.added[0]
        #expect(try await fixture.queue.beginPull(asset) == 0)
        #expect(fixture.exists(capture.sessionID, ".\(asset).part"))
        #expect(try await fixture.queue.append(Sample.bytes(900), to: asset, at: 0) == 0)
        #expect(
            try await fixture.queue.append(Array(Sample.bytes(2500)[900..<1800]), to: asset, at: 900) == 1800)
        #expect(
            try await fixture.queue.append(Array(Sample.bytes(2500)[1800...]), to: asset, at: 1800) == 1800)
        let stored = try await fixture.queue.finishPull(asset, crc32: 0xDEAD_BEEF)
        #expect(!stored.isSessionSealed && stored.sha256 == SHA256.digest(of: Sample.bytes(2500)))
        #expect(!fixture.exists(capture.sessionID, ".\(asset).part"))
        #expect(
            FileManager.default.contents(atPath: fixture.path(capture.sessionID, asset.text))
                == Data(Sample.bytes(2500)))
        _ = try await fixture.queue.beginPull(capture.added[1])
        #expect(try await fixture.queue.finishPull(capture.added[1]).isSessionSealed)
        let detail = try #require(try await fixture.queue.session(capture.sessionID))
        #expect(detail.summary.session.state == .queuedOffline)
        #expect(detail.assets[0].crc32 == 0xDEAD_BEEF && detail.assets[1].exclusion == .empty)
    }

    @Test func aKilledPullGoesOnFromTheJournalWithTheSamePrefix() async throws {
        let fixture = try await QueueFixture()
        let asset = try await fixture.register().added[0]
        _ = try await fixture.queue.beginPull(asset)
        _ = try await fixture.queue.append(Sample.bytes(1500), to: asset, at: 0)
        _ = try await fixture.queue.append(Array(Sample.bytes(2500)[1500..<2000]), to: asset, at: 1500)
        let after = try await QueueFixture(try fixture.snapshot())
        let wanted = try await after.queue.wantedAssets(
            recorder: Sample.serial, storageGeneration: Sample.generation)
        #expect(wanted.map(\.pulledBytes) == [1500])
        let prefix = Locked([UInt8]())
        let offset = try await after.queue.beginPull(asset) { bytes in prefix.withLock { $0 += bytes } }
        #expect(offset == 1500)
        #expect(prefix.withLock { $0 } == Array(Sample.bytes(1500)))
        _ = try await after.queue.append(Array(Sample.bytes(2500)[1500...]), to: asset, at: 1500)
        #expect(try await after.queue.finishPull(asset).sha256 == SHA256.digest(of: Sample.bytes(2500)))
    }

    @Test func aPartShorterThanItsJournalIsBelieved() async throws {
        let fixture = try await QueueFixture()
        let capture = try await fixture.register()
        let asset = capture.added[0]
        _ = try await fixture.queue.beginPull(asset)
        _ = try await fixture.queue.append(Sample.bytes(2000), to: asset, at: 0)
        try await fixture.queue.suspendPull(asset)
        truncate(fixture.path(capture.sessionID, ".\(asset).part"), 700)
        #expect(try await fixture.queue.beginPull(asset) == 700)
        #expect(try await fixture.queue.asset(asset)?.pulledBytes == 700)
    }

    @Test func aPullCanBeRestarted() async throws {
        let fixture = try await QueueFixture()
        let asset = try await fixture.register().added[0]
        _ = try await fixture.queue.beginPull(asset)
        _ = try await fixture.queue.append([UInt8](repeating: 9, count: 2000), to: asset, at: 0)
        try await fixture.queue.restartPull(asset)
        _ = try await fixture.queue.append(Sample.bytes(2500), to: asset, at: 0)
        #expect(try await fixture.queue.finishPull(asset).sha256 == SHA256.digest(of: Sample.bytes(2500)))
    }

    @Test func wrongBytesAreRefused() async throws {
        let fixture = try await QueueFixture()
        let digest = SHA256.digest(of: Sample.bytes(100)).hex
        let capture = try await fixture.queue.register(Sample.capture(sizes: [100], sha256: digest))
        let asset = capture.added[0]
        let queue = fixture.queue
        #expect(await code { _ = try await queue.append([1], to: asset, at: 0) } == .illegalTransition)
        _ = try await queue.beginPull(asset)
        #expect(await code { _ = try await queue.beginPull(asset) } == .illegalTransition)
        #expect(await code { _ = try await queue.append([1], to: asset, at: 5) } == .offsetMismatch)
        #expect(
            await code { _ = try await queue.append(Sample.bytes(101), to: asset, at: 0) } == .sizeMismatch)
        _ = try await queue.append(Array(Sample.bytes(100).reversed()), to: asset, at: 0)
        try await queue.restartPull(asset)
        _ = try await queue.append(Sample.bytes(99), to: asset, at: 0)
        #expect(await code { _ = try await queue.finishPull(asset) } == .sizeMismatch)
        _ = try await queue.append([Sample.bytes(100)[99]], to: asset, at: 99)
        #expect(try await queue.finishPull(asset).isSessionSealed)
    }

    /// Nobody knows whether the file or its manifest is wrong: both copies are kept, and the session goes on.
    @Test func bytesThatWereNotAnnouncedAreKeptInBothPlaces() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let capture = try await queue.register(
            Sample.capture(sizes: [100], sha256: SHA256.digest(of: Sample.bytes(99)).hex))
        let asset = capture.added[0]
        _ = try await queue.beginPull(asset)
        _ = try await queue.append(Sample.bytes(100), to: asset, at: 0)
        let stored = try await queue.finishPull(asset)
        #expect(!stored.isAsAnnounced && stored.isSessionSealed)
        let record = try #require(try await queue.asset(asset))
        #expect(record.pullState == .stored && record.lastError?.contains("SHA-256") == true)
        let origin = try #require(Sample.capture().origin)
        #expect(
            try await queue.deletableObjects(
                recorder: origin.serial, storageGeneration: origin.storageGeneration, policy: .afterQueue)
                == [])
    }

    @Test func theReserveIsKeptFree() async throws {
        let fixture = try await QueueFixture()
        let asset = try await fixture.register().added[0]
        fixture.space.withLock { $0 = FreeSpace(free: (512 << 20) + 2499, total: 1 << 30) }
        #expect(await code { _ = try await fixture.queue.beginPull(asset) } == .doesNotFit)
        fixture.space.withLock { $0 = FreeSpace(free: (512 << 20) + 2500, total: 1 << 30) }
        #expect(try await fixture.queue.beginPull(asset) == 0)
    }

    @Test func whatIsGoneOnTheRecorderHoldsNothingUp() async throws {
        let fixture = try await QueueFixture()
        let capture = try await fixture.register(sizes: [10, 20])
        _ = try await fixture.queue.beginPull(capture.added[0])
        _ = try await fixture.queue.append(Sample.bytes(10), to: capture.added[0], at: 0)
        _ = try await fixture.queue.finishPull(capture.added[0])
        try await fixture.queue.markUnobtainable(capture.added[1], reason: "object not found")
        let detail = try #require(try await fixture.queue.session(capture.sessionID))
        #expect(detail.summary.session.state == .queuedOffline)
        #expect(
            detail.assets[1].pullState == .unobtainable && detail.assets[1].lastError == "object not found")
    }

    /// What can happen to an asset that was given up, and how it and its session are then.
    enum After: CaseIterable { case nothing, restart, takeUp, comeBack, purge }

    @Test(arguments: After.allCases)
    func bytesOfWhatIsGoneAreKept(_ after: After) async throws {
        let fixture = try await QueueFixture()
        let capture = try await fixture.register(sizes: [2500])
        let (id, asset) = (capture.sessionID, capture.added[0])
        _ = try await fixture.queue.beginPull(asset)
        _ = try await fixture.queue.append(Sample.bytes(700), to: asset, at: 0)
        try await fixture.queue.markUnobtainable(asset, reason: "gone")
        var current = fixture
        var expected: (SessionState, PullState, Bool) = (.failedTerminal, .unobtainable, true)
        switch after {
        case .nothing: break
        case .restart: current = try await QueueFixture(try fixture.snapshot())
        case .takeUp:
            #expect(try await fixture.queue.takeUp(asset))
            expected.1 = .wanted
        case .comeBack:
            #expect(try await fixture.queue.takeUp(asset))
            #expect(try await fixture.queue.beginPull(asset) == 700)
            _ = try await fixture.queue.append(Array(Sample.bytes(2500)[700...]), to: asset, at: 700)
            #expect(
                try await fixture.queue.finishPull(asset).sha256 == SHA256.digest(of: Sample.bytes(2500)))
            expected = (.queuedOffline, .stored, false)
        case .purge:
            try await fixture.queue.cancel(id)
            try await fixture.queue.purge(id)
            #expect(try await fixture.queue.takeUp(asset) == false)
            expected = (.cancelled, .unobtainable, false)
        }
        let detail = try #require(try await current.queue.session(id))
        #expect(detail.summary.session.state == expected.0)
        #expect(detail.assets[0].pullState == expected.1)
        #expect(current.exists(id, ".\(asset).part") == expected.2)
    }

    /// A session that went on without a file waits for it when it is there after all, and is imported with it.
    @Test func aFileMayComeBackWhileItsSessionIsSent() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let capture = try await fixture.register(sizes: [10, 20])
        let (id, late) = (capture.sessionID, capture.added[1])
        _ = try await queue.beginPull(capture.added[0])
        _ = try await queue.append(Sample.bytes(10), to: capture.added[0], at: 0)
        _ = try await queue.finishPull(capture.added[0])
        try await queue.markUnobtainable(late, reason: "gone")
        _ = try await queue.beginUpload(id)
        try await fixture.upsert(id)
        try await fixture.sendAssets(id)
        #expect(try await queue.takeUp(late))
        #expect(await code { try await queue.markImported(id) } == .illegalTransition)
        try await queue.fail(id, message: "not here yet", nextTry: QueueFixture.start + 900)
        _ = try await queue.beginPull(late)
        _ = try await queue.append(Sample.bytes(20), to: late, at: 0)
        _ = try await queue.finishPull(late)
        // Not after a quarter of an hour, but now.
        #expect(try await queue.nextUploads(host: QueueFixture.host).map(\.id) == [id])
        _ = try await queue.beginUpload(id)
        try await fixture.sendAssets(id)
        try await queue.markImported(id)
        #expect(try await queue.session(id)?.receipts.count == 3)
        // Once it is imported, nothing joins any more.
        #expect(try await queue.takeUp(late) == false)
    }

    @Test func aFormattedRecorderHasNothingOfTheOlderGeneration() async throws {
        let fixture = try await QueueFixture()
        var update = RecorderUpdate(serial: Sample.serial)
        update.storageGeneration = Sample.generation
        update.batteryPercent = 140
        try await fixture.queue.record(update)
        let capture = try await fixture.register()
        update.storageGeneration = Sample.generation + 1
        update.batteryPercent = nil
        try await fixture.queue.record(update)
        let detail = try #require(try await fixture.queue.session(capture.sessionID))
        #expect(detail.assets[0].pullState == .unobtainable && detail.assets[0].recorderState == .gone)
        #expect(try await fixture.queue.recorder(Sample.serial)?.batteryPercent == 100)
        try await fixture.queue.use(account: "a", name: "ada", host: "h")
        try await fixture.queue.bind(recorder: Sample.serial, host: "h", account: "a", deviceID: "d")
        #expect(try await fixture.queue.recorders().first?.deviceIDs == ["h": "d"])
    }

    static let invalid: [@Sendable (CaptureRegistration) -> CaptureRegistration] = [
        { _ in Sample.capture("../../x") }, { _ in Sample.capture(host: "") },
        { _ in Sample.capture(host: "localhost:8080") }, { _ in Sample.capture(host: "https://") },
        { _ in Sample.capture(sizes: [-1]) }, { _ in Sample.capture(sizes: [1 << 32]) },
        { _ in Sample.capture(sizes: Array(repeating: 1, count: 4097)) }, { _ in Sample.capture(serial: "") },
        { _ in Sample.capture(sha256: "abc") },
        { _ in Sample.capture(serial: String(repeating: "x", count: 257)) },
    ]

    @Test(arguments: invalid.indices)
    func outsideInputIsBounded(_ index: Int) async throws {
        let fixture = try await QueueFixture()
        let registration = Self.invalid[index](Sample.capture())
        #expect(await code { _ = try await fixture.queue.register(registration) } == .invalidInput)
        #expect(try await fixture.queue.sessions().sessions.isEmpty)
    }
}
