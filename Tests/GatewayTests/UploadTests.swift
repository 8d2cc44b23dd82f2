import CaptureQueue
import Cloud
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// The supervisor against the simulated cloud, which refuses and records whatever the contract does not allow.
@Suite(.serialized) struct UploadTests {
    static let mebibyte = 1 << 20

    @Test func bringsSessionsOfEveryAwkwardSize() async throws {
        let fixture = try await UploadFixture()
        var ids: [SessionID] = []
        ids.append(try await fixture.capture(1, sizes: [1, 70_000, 0]))
        ids.append(try await fixture.capture(2, sizes: [16 << 20, (16 << 20) - 1]))
        ids.append(try await fixture.capture(3, sizes: [(16 << 20) + 5, 300], title: nil))
        ids.append(try await fixture.capture(4, sizes: []))
        fixture.start()
        try await fixture.untilImported(ids)
        try await fixture.until(60, "the checkpoint") {
            try await fixture.queue.checkpointDue(host: fixture.api.base.description) == nil
        }
        try await fixture.stop()
        try await fixture.expectCloud(holds: ids, assets: 6)
        let state = try await fixture.cloud.state()
        #expect(state.users.first?.checkpoints ?? 0 >= 1)
        #expect(state.requests["initializeChunkedUpload"]?.requests == 2)
        #expect(state.requests["uploadChunk"]?.requests == 5)
        #expect(fixture.board.transfers.isEmpty)
    }

    @Test(arguments: [
        "upsertSession", "uploadAsset", "initializeChunkedUpload", "uploadChunk", "completeChunkedUpload",
        "getStorageQuota", "recordSyncCheckpoint",
    ]) func aLostAnswerDoublesNothing(_ route: String) async throws {
        let fixture = try await UploadFixture()
        try await fixture.cloud.addFaults(
            #"[{"route":"\#(route)","action":"drop_after_commit","times":2,"nth":1}]"#)
        let ids = [try await fixture.capture(1, sizes: [900, (16 << 20) + 1])]
        fixture.start()
        try await fixture.untilImported(ids)
        try await fixture.until(60, "the checkpoint") {
            try await fixture.queue.checkpointDue(host: fixture.api.base.description) == nil
        }
        try await fixture.stop()
        try await fixture.expectCloud(holds: ids, assets: 2)
    }
}
