import Foundation
import Testing

@testable import CaptureQueue

/// What sessions wait for, and that a clock that is set back does not make them wait for years.
@Suite struct WaitTests {
    private static let host = QueueFixture.host

    @Test func everyCauseIsCounted() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        #expect(try await queue.waits(host: Self.host) == QueueWaits())
        let held = [try await fixture.stored(Sample.id(1)), try await fixture.stored(Sample.id(2))]
        let (failed, ready) = (try await fixture.stored(Sample.id(3)), try await fixture.stored(Sample.id(4)))
        for id in held {
            _ = try await queue.beginUpload(id)
            try await queue.hold(id, .quota, detail: "full \(id)", requiredBytes: 1)
            fixture.advance(1)
        }
        _ = try await queue.beginUpload(failed)
        let next = QueueFixture.start + 7000
        try await queue.fail(failed, message: "the server answered 429", nextTry: next)
        let waits = try await queue.waits(host: Self.host)
        #expect(
            waits.tallies == [
                WaitTally(.hold(.quota), sessions: 2, first: held[0], detail: "full \(held[0])"),
                WaitTally(.retry, sessions: 1, first: failed, detail: "the server answered 429", until: next),
            ])
        #expect(waits.ready == 1)
        _ = try await queue.beginUpload(ready)
        #expect(try await queue.waits(host: Self.host).ready == 1)
        fixture.advance(7000)
        #expect(try await queue.waits(host: Self.host).ready == 2)
        let elsewhere = try await queue.waits(host: "https://other.test")
        #expect(elsewhere.tallies.map(\.cause) == [.hold(.quota), .otherHost])
        #expect(elsewhere.tallies.last?.detail == Self.host)
        #expect(elsewhere.tallies.last?.sessions == 2)
        #expect(elsewhere.ready == 0)
    }

    @Test func whatIsOverIsNotCounted() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        _ = try await fixture.queue.beginUpload(session)
        try await fixture.queue.hold(session, .rejected)
        try await fixture.queue.cancel(session)
        #expect(try await fixture.queue.waits(host: Self.host) == QueueWaits())
    }

    /// The hub starts years ahead, a session fails, and time synchronisation sets the clock.
    @Test func aClockThatIsSetBackHoldsNothingUp() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let (failed, held) = (try await fixture.stored(Sample.id(1)), try await fixture.stored(Sample.id(2)))
        fixture.advance(315_360_000)
        let ahead = QueueFixture.start + 315_360_000
        _ = try await queue.beginUpload(failed)
        try await queue.fail(failed, message: "no answer", nextTry: ahead + 60)
        try await queue.hold(held, .quota, until: ahead + 60)
        try await queue.holdQueue(.metered, until: ahead + 60)
        fixture.advance(-315_360_000)
        #expect(try await queue.nextUploadTime(host: Self.host) == QueueFixture.start)
        #expect(try await queue.nextUploads(host: Self.host).map(\.id) == [failed, held])
    }

    @Test func nothingIsPutOffForLongerThanTheLongestWait() async throws {
        let fixture = try await QueueFixture { $0.longestWait = .seconds(100) }
        let queue = fixture.queue
        let session = try await fixture.stored()
        _ = try await queue.beginUpload(session)
        try await queue.fail(session, message: "no answer", nextTry: QueueFixture.start + 1000)
        #expect(try await queue.nextUploadTime(host: Self.host) == QueueFixture.start + 100)
        #expect(try await queue.nextUploads(host: Self.host).isEmpty)
        fixture.advance(100)
        #expect(try await queue.nextUploads(host: Self.host).map(\.id) == [session])
        try await queue.hold(session, .quota, until: QueueFixture.start + 1000)
        #expect(try await queue.nextUploadTime(host: Self.host) == QueueFixture.start + 200)
    }

    @Test func bytesAreNotKeptForYearsAfterTheClockWasSetBack() async throws {
        let fixture = try await QueueFixture { $0.keepAfterUpload = .seconds(3600) }
        fixture.advance(315_360_000)
        let session = try await fixture.imported()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first)
        fixture.advance(-315_360_000)
        try await fixture.queue.releaseDueBytes()
        #expect(fixture.exists(session, asset.id.text))
        fixture.advance(3600)
        try await fixture.queue.releaseDueBytes()
        #expect(!fixture.exists(session, asset.id.text))
    }

    @Test func uploadsThatWereOpenedInTheFutureDoNotCount() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first).id
        _ = try await fixture.queue.beginUpload(session)
        try await fixture.upsert(session)
        fixture.advance(315_360_000)
        _ = try await fixture.queue.beginIntent(
            .initialise, session: session, asset: asset, payloadDigest: "i")
        try await fixture.queue.commitInit(
            asset, uploadID: "u", chunkSize: 1000, totalChunks: 3, expiresAt: QueueFixture.start + 400_000_000
        )
        let ahead = QueueFixture.start + 315_360_000
        #expect(try await fixture.queue.uploadStarts(asset, since: ahead - 3600) == 1)
        fixture.advance(-315_360_000)
        #expect(try await fixture.queue.uploadStarts(asset, since: QueueFixture.start - 3600) == 0)
    }

    @Test func whatDoesNotFitIsSaidInFiguresThatAddUp() {
        let space = FreeSpace(free: 3 << 30, total: 1 << 40)
        #expect(
            space.refusal(of: 3 << 20, reserve: 5 << 30)
                == "3 MiB do not fit: 3 GiB are free and 5 GiB are to stay free, so 2 GiB are missing")
        let cases: [(Int64, String)] = [
            (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"), (3_000_000, "2.8 MiB"),
            (.max, "8388607.9 TiB"),
        ]
        for (bytes, words) in cases { #expect(FreeSpace.words(bytes) == words) }
    }

    /// A capture of which the recorder still has a part is not in the cloud.
    @Test func theCheckpointWaitsForWhatARecorderStillHas() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        try await fixture.register(Sample.id(2))
        var recorder = RecorderUpdate(serial: Sample.serial)
        recorder.pairedAt = QueueFixture.start
        try await queue.record(recorder)
        _ = try await fixture.imported()
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        // Nothing more will come of it.
        try await queue.forgetRecorder(Sample.serial)
        #expect(try await queue.checkpointDue(host: Self.host) != nil)
    }
}
