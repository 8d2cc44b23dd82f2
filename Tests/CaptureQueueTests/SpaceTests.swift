import EventLoop
import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// The disk runs low, is full, and has room again.
@Suite struct SpaceTests {
    private static let total: Int64 = 100 << 30
    private static let reserve: Int64 = 5 << 30

    private func set(_ free: Int64, _ fixture: QueueFixture) {
        fixture.space.withLock { $0 = FreeSpace(free: free, total: Self.total) }
    }

    @Test func aLowDiskIsAHoldThatEndsWhenThereIsRoom() async throws {
        let fixture = try await QueueFixture()
        let asset = try await fixture.register(sizes: [1 << 20]).added[0]
        set(Self.reserve, fixture)
        #expect(await code { _ = try await fixture.queue.beginPull(asset) } == .lowSpace)
        #expect(try await fixture.queue.queueHolds(host: QueueFixture.host).map(\.reason) == [.lowDisk])
        #expect(try await fixture.queue.storageReport().lowSince != nil)
        #expect(try await fixture.queue.troubles().lowDisk != nil)
        // A little more is not enough: it would be low again with the next file.
        set(Self.reserve + (10 << 20), fixture)
        #expect(try await fixture.queue.reviewSpace() == false)
        set(Self.reserve + (2 << 30), fixture)
        #expect(try await fixture.queue.reviewSpace())
        #expect(try await fixture.queue.reviewSpace() == false)
        #expect(try await fixture.queue.queueHolds(host: QueueFixture.host).isEmpty)
        #expect(try await fixture.queue.beginPull(asset) == 0)
    }

    /// One file that is too large is no low disk: smaller ones are taken, and it is tried again when it fits.
    @Test func aFileThatDoesNotFitStopsNoOther() async throws {
        let fixture = try await QueueFixture { $0.ballastBytes = 1 << 20 }
        let assets = try await fixture.register(sizes: [1 << 30, 1 << 20]).added
        try FileManager.default.removeItem(atPath: fixture.state + "/ballast")
        set(Self.reserve + (1 << 30) - 1, fixture)
        #expect(await code { _ = try await fixture.queue.beginPull(assets[0]) } == .doesNotFit)
        #expect(try await !fixture.queue.isHeldForSpace())
        #expect(try await fixture.queue.troubles().misfit?.bytes == 1 << 30)
        #expect(try await fixture.queue.beginPull(assets[1]) == 0)
        #expect(try await fixture.queue.reviewSpace() == false)
        // The ballast depends on no file.
        #expect(try await fixture.queue.storageReport().ballast == 1 << 20)
        set(Self.reserve + (2 << 30), fixture)
        #expect(try await fixture.queue.reviewSpace())
        #expect(try await fixture.queue.troubles().misfit == nil)
        #expect(try await fixture.queue.beginPull(assets[0]) == 0)
    }

    /// Only taking files stops: what is here goes up, which is what frees space.
    @Test func uploadsGoOnWhileTheDiskIsLow() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        set(1, fixture)
        #expect(try await fixture.queue.reviewSpace() == false)
        #expect(try await fixture.queue.isHeldForSpace())
        #expect(try await fixture.queue.nextUploads(host: QueueFixture.host).map(\.id) == [session])
        let restarted = try await QueueFixture(try fixture.snapshot())
        // There the disk is as good as empty.
        #expect(try await !restarted.queue.isHeldForSpace())
    }

    @Test func nothingIsWrittenForWhatDoesNotFit() async throws {
        let fixture = try await QueueFixture()
        set(Self.reserve, fixture)
        #expect(await code { try await fixture.queue.requireSpace(for: 1) } == .lowSpace)
        #expect(await code { _ = try await fixture.queue.beginImport(size: 1) } == .lowSpace)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.state + "/spool").isEmpty)
    }

    /// What the cloud has is kept for convenience only: it goes, the oldest first, before a new file has to wait.
    @Test func keptFilesMakeRoomForNewOnes() async throws {
        let directory = TemporaryDirectory()
        let fixture = try await QueueFixture(directory) { configuration in
            configuration.keepAfterUpload = .seconds(3600)
            let state = configuration.directory
            configuration.freeSpace = { _ in
                // As much as each session that lies in the spool takes up.
                let count =
                    (try? FileManager.default.contentsOfDirectory(atPath: state + "/spool").count) ?? 0
                return FreeSpace(free: Self.reserve + (5 - Int64(count)) * 2500, total: Self.total)
            }
        }
        var sessions: [SessionID] = []
        for number in 1...3 {
            sessions.append(try await fixture.imported(Sample.id(number)))
            fixture.advance(1)
        }
        let unsent = try await fixture.stored(Sample.id(4))
        #expect(try await fixture.queue.storageReport().kept == 3 * 2500)
        try await fixture.queue.requireSpace(for: 3 * 2500)
        for (session, isKept) in zip(sessions, [false, false, true]) {
            let asset = try #require(try await fixture.queue.session(session)?.assets.first)
            #expect(asset.pullState == (isKept ? .stored : .released))
        }
        // What would not make room enough stays, and what the cloud does not have is never given up.
        #expect(await code { try await fixture.queue.requireSpace(for: 5 * 2500) } == .doesNotFit)
        let last = try #require(try await fixture.queue.session(sessions[2])?.assets.first)
        #expect(last.pullState == .stored)
        #expect(try await fixture.queue.session(unsent)?.assets.first?.pullState == .stored)
    }

    @Test func theBallastIsThereAndComesBack() async throws {
        let fixture = try await QueueFixture { $0.ballastBytes = 1 << 20 }
        let path = fixture.state + "/ballast"
        #expect(FileManager.default.contents(atPath: path)?.count == 1 << 20)
        #expect(try await fixture.queue.storageReport().ballast == 1 << 20)
        let session = try await fixture.stored()
        try await fixture.queue.fillDiskOnce()
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try await fixture.queue.session(session)?.summary.session.title == "written all the same")
        _ = try await fixture.queue.reviewSpace()
        #expect(FileManager.default.contents(atPath: path)?.count == 1 << 20)
    }

    @Test func theReportSaysWhereTheSpaceGoes() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.stored(Sample.id(1), sizes: [1000])
        let cancelled = try await fixture.stored(Sample.id(2), sizes: [200])
        try await fixture.queue.cancel(cancelled)
        let report = try await fixture.queue.storageReport()
        #expect(report.stored == 1200 && report.cancelled == 200 && report.kept == 0)
        #expect(report.database > 0 && report.troubles == QueueTroubles())
        #expect(report.lowSince == nil)
    }
}

extension CaptureQueue {
    /// One change on a disk that is full until the ballast is gone.
    func fillDiskOnce() throws {
        var attempts = 0
        try change { database throws(QueueError) in
            attempts += 1
            try database.run("UPDATE sessions SET title = 'written all the same'")
            if attempts == 1 { throw QueueError(.diskFull, "the disk is full") }
        }
    }
}
