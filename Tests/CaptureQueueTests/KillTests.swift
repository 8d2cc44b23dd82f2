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

/// The whole way of one capture, killed after each durable step: what is found again must be whole.
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

    @Test func everyStepSurvivesAKill() async throws {
        let fixture = try await QueueFixture()
        let capture = try await fixture.register()
        let (session, asset) = (capture.sessionID, capture.added[0])
        for (index, step) in Self.steps.enumerated() {
            try await step(fixture, session, asset)
            let before = try #require(try await fixture.queue.session(session))
            let after = try await QueueFixture(try fixture.snapshot())
            try await check(after, before, step: index)
        }
        #expect(try await fixture.state(of: session) == .imported)
    }

    private func check(_ after: QueueFixture, _ before: SessionDetail, step: Int) async throws {
        let (old, id) = (before.summary.session, before.summary.session.id)
        let found = try #require(try await after.queue.session(id), "step \(step)")
        let new = found.summary.session
        #expect(after.report.lostAssets.isEmpty && after.report.foreign.isEmpty, "step \(step)")
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
