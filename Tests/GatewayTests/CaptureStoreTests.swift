import CaptureQueue
import EventLoop
import Foundation
import ObjectTransfer
import TestSupport
import Testing

@testable import Gateway
@testable import Recorder

@Suite struct CaptureStoreTests {
    private let recorder = RecorderIdentity(serial: "CEL-1")

    /// A sealed capture of two files, of which the recorder still lists `listed`.
    private func capture(listed: Set<UInt64>) throws -> RecorderCapture {
        let ids = try [0x101, 0x102].map { try #require(ObjectID(UInt64($0))) }
        let manifest = Manifest(
            captureID: "6f0f3f0e-9d1f-4f55-8f7e-2a4d1c3b5a69", title: "two",
            startedAt: try #require(Timestamp("2026-11-30T10:00:00Z")), durationMs: 1000,
            files: ids.map {
                Manifest.File(
                    objectID: $0, kind: .audio, name: "\($0).wav", mimeType: "audio/wav", sizeBytes: 4)
            })
        let object = ObjectMetadata(
            id: try #require(ObjectID(0x100)), name: "manifest", type: RecorderProfile.manifestType,
            currentSize: 10)
        let assets = ids.filter { listed.contains($0.value) }.map { id in
            RecorderAsset(
                key: AssetKey(serial: "CEL-1", storageGeneration: 7, objectID: id), kind: .audio,
                name: SafeName("a.wav", fallback: "a"), mimeType: "audio/wav",
                object: ObjectMetadata(
                    id: id, name: "a.wav", type: RecorderProfile.audioType, currentSize: 4),
                sha256: nil)
        }
        return RecorderCapture(
            origin: .manifest(manifest, object), storageGeneration: 7, assets: assets,
            missing: ids.filter { !listed.contains($0.value) })
    }

    @Test func aFileThatVanishedDoesNotHoldUpTheOthers() async throws {
        let directory = TemporaryDirectory()
        let loop = try EventLoop.start(name: "queue")
        defer { loop.stop() }
        var settings = QueueConfiguration(directory: directory.path)
        (settings.reservedBytes, settings.reservedPercent) = (0, 0)
        let queue = CaptureQueue(settings, executor: loop)
        _ = try await queue.open()
        let store = QueueCaptureStore(
            queue: queue, targetHost: "https://api.example/v1", policy: .afterUpload, now: { Date() })
        let whole = try capture(listed: [0x101, 0x102])
        #expect(try await store.plan(whole, from: recorder).count == 2)
        let first = try #require(whole.assets.first)
        try await store.append([1, 2, 3, 4], at: 0, to: first.key)
        #expect(try await store.finish(first, proof: .checksum(CRC32.checksum([1, 2, 3, 4]))) == .durable)
        #expect(try await queue.counts().sessions[.draft] == 1)
        // The second file is gone before it was read.
        _ = try await store.plan(try capture(listed: [0x101]), from: recorder)
        #expect(try await queue.counts().sessions[.queuedOffline] == 1)
        try await queue.close()
    }
}
