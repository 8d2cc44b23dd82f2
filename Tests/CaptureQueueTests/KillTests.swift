import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

extension CaptureQueue {
    /// The tallies, added up from the rows.
    func summedBytes() throws -> [Int64] {
        try [ByteTallies.wanted(""), ByteTallies.stored(""), ByteTallies.unsent("")].map { sum in
            try database.number("SELECT sum(\(sum)) FROM assets") ?? 0
        }
    }
}

/// The whole way of one capture in a process of its own, which is killed after each durable step: what the next process
/// finds must be whole. `./torture-queue` kills between and within the steps as well.
@Suite struct KillTests {
    typealias Step = @Sendable (QueueFixture, SessionID, AssetID) async throws -> Void

    static let steps: [Step] = [
        { fixture, _, asset in _ = try await fixture.queue.beginPull(asset) },
        { fixture, _, asset in _ = try await fixture.queue.append(Sample.bytes(1200), to: asset, at: 0) },
        { fixture, _, asset in
            _ = try await fixture.queue.append(Array(Sample.bytes(2500)[1200...]), to: asset, at: 1200)
        },
        { fixture, _, asset in _ = try await fixture.queue.finishPull(asset) },
        { fixture, session, _ in _ = try await fixture.queue.beginUpload(session) },
        { fixture, session, _ in
            _ = try await fixture.queue.beginIntent(.upsert, session: session, payloadDigest: "p")
        },
        { fixture, session, _ in
            try await fixture.queue.commitUpsert(
                session: session, remoteID: "r", revision: 1, payloadDigest: "p")
        },
        { fixture, session, asset in
            _ = try await fixture.queue.beginIntent(
                .initialise, session: session, asset: asset, payloadDigest: "i")
        },
        { fixture, _, asset in
            try await fixture.queue.commitInit(
                asset, uploadID: "u", chunkSize: 2000, totalChunks: 2, expiresAt: .distantFuture)
        },
        { fixture, _, asset in try await fixture.queue.commitChunk(asset, uploadID: "u", index: 0) },
        { fixture, _, asset in try await fixture.queue.commitChunk(asset, uploadID: "u", index: 1) },
        { fixture, session, asset in
            _ = try await fixture.queue.beginIntent(
                .complete, session: session, asset: asset, payloadDigest: "c")
        },
        { fixture, _, asset in
            guard let record = try await fixture.queue.asset(asset) else { return }
            try await fixture.queue.commitAsset(asset, Sample.remote(record), sessionRevision: 2)
        },
        { fixture, session, _ in try await fixture.queue.markImported(session) },
    ]

    @Test(arguments: steps.indices)
    func everyStepSurvivesAKill(_ last: Int) async throws {
        let directory = TemporaryDirectory()
        let path = directory.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, last = last as Int] in
            _ = try await Self.live(through: last, in: TemporaryDirectory(existing: path))
            kill(getpid(), SIGKILL)
        }
        // What it must have left: what a life that goes on has after the same steps.
        let (twin, session) = try await Self.live(through: last, in: TemporaryDirectory())
        let before = try #require(try await twin.queue.session(session))
        try await check(try await QueueFixture(directory), before, step: last)
        #expect(last < Self.steps.count - 1 || before.summary.session.state == .imported)
    }

    /// F-3: everything that was registered, the provenance with it, is there in the next process.
    @Test func everyFieldSurvivesAKill() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try await QueueFixture(TemporaryDirectory(existing: path)).register(sizes: [10, 20])
            kill(getpid(), SIGKILL)
        }
        let twin = try await QueueFixture()
        let session = try await twin.register(sizes: [10, 20]).sessionID
        let after = try await QueueFixture(directory)
        #expect(!after.report.wasClean)
        let found = try #require(try await after.queue.session(session))
        #expect(try await twin.queue.session(session) == found)
        let record = found.summary.session
        #expect(record.targetHost == QueueFixture.host)
        #expect(record.provenance.image == ["equipment": "CR1"])
        #expect(record.startedAt.text == "2026-11-30T07:00:00+01:00")
        #expect(found.provenanceChain == [["step": "captured on CR1"]])
        #expect(found.events.first?.assetID == found.assets.first?.id)
    }

    /// Registers one capture and takes the steps up to `last`.
    private static func live(
        through last: Int, in directory: TemporaryDirectory
    ) async throws -> (QueueFixture, SessionID) {
        let fixture = try await QueueFixture(directory)
        let capture = try await fixture.register()
        let (session, asset) = (capture.sessionID, try #require(capture.added.first))
        for step in steps[...last] { try await step(fixture, session, asset) }
        return (fixture, session)
    }

    private func check(_ after: QueueFixture, _ before: SessionDetail, step: Int) async throws {
        let (old, id) = (before.summary.session, before.summary.session.id)
        let found = try #require(try await after.queue.session(id), "step \(step)")
        let new = found.summary.session
        #expect(after.report.lostAssets.isEmpty && after.report.foreign.isEmpty, "step \(step)")
        #expect(!after.report.wasClean && new.sequence == old.sequence, "step \(step)")
        #expect(
            new.provenance == old.provenance && found.provenanceChain == before.provenanceChain,
            "step \(step)")
        #expect(new.clientID == old.clientID && new.idempotencyScope == old.idempotencyScope, "step \(step)")
        #expect(new.targetHost == old.targetHost && new.uploadBeganAt == old.uploadBeganAt, "step \(step)")
        #expect(found.assets == before.assets && found.receipts == before.receipts, "step \(step)")
        #expect(found.intents.map(\.id) == before.intents.map(\.id), "step \(step)")
        #expect(found.intents.allSatisfy { $0.isAmbiguous }, "step \(step)")
        #expect(new.state == (old.state == .uploading ? .queuedOffline : old.state), "step \(step)")
        let counts = try await after.queue.counts()
        let tallies = [counts.wantedBytes, counts.storedBytes, counts.unsentBytes]
        #expect(try await after.queue.summedBytes() == tallies, "step \(step)")
        // Every acknowledged byte is in the spool or in a receipt.
        for asset in found.assets where asset.pullState == .stored {
            let bytes = FileManager.default.contents(atPath: after.path(id, asset.id.text)) ?? Data()
            #expect(SHA256.digest(of: Array(bytes)) == asset.sha256, "step \(step)")
        }
        for asset in found.assets where asset.pullState == .released {
            #expect(found.receipts.contains { $0.assetID == asset.id && $0.sha256 == asset.sha256 })
        }
    }
}
