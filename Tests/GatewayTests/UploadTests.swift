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

    /// The oldest capture before the others, in it the small files before the large (upload.md C-79).
    @Test func theOldestCaptureGoesFirst() async throws {
        var configuration = UploadFixture.quick
        configuration.parallelUploads = 1
        let fixture = try await UploadFixture([], configuration)
        let ids = [
            try await fixture.capture(1, sizes: [90_000, 300, 20_000]),
            try await fixture.capture(2, sizes: [40_000]), try await fixture.capture(3, sizes: [7]),
        ]
        fixture.start()
        try await fixture.untilImported(ids)
        try await fixture.stop()
        struct Journal: Decodable {
            struct Request: Decodable {
                let operation: String?
                let bodyBytes: Int
            }
            let requests: [Request]
        }
        let journal = try JSONDecoder().decode(
            Journal.self, from: Data(try await fixture.cloud.get("requests")))
        let sent = journal.requests.filter { $0.operation == "uploadAsset" }.map(\.bodyBytes)
        // The parts' headers are not 4,000 bytes.
        #expect(sent.map { $0 / 4000 * 4 } == [0, 20, 88, 40, 0])
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
