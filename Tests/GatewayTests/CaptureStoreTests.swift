import CaptureQueue
import EventLoop
import Foundation
import ObjectTransfer
import TestSupport
import Testing

@testable import Gateway
@testable import Recorder

/// A queue of its own, filled as a link does it.
private struct StoreFixture {
    let directory = TemporaryDirectory()
    let queue: CaptureQueue
    let store: QueueCaptureStore
    let recorder = RecorderIdentity(serial: "CEL-1")

    init() async throws {
        var settings = QueueConfiguration(directory: directory.path)
        (settings.reservedBytes, settings.reservedPercent) = (0, 0)
        queue = CaptureQueue(settings, executor: try EventLoop.start(name: "queue"))
        _ = try await queue.open()
        store = Self.store(queue)
    }

    static func store(_ queue: CaptureQueue) -> QueueCaptureStore {
        QueueCaptureStore(
            queue: queue, targetHost: "https://api.example/v1", policy: .afterUpload, now: { Date() })
    }

    static func key(_ id: UInt64) throws -> AssetKey {
        AssetKey(serial: "CEL-1", storageGeneration: 7, objectID: try #require(ObjectID(id)))
    }

    private static func asset(_ id: UInt64) throws -> RecorderAsset {
        RecorderAsset(
            key: try key(id), kind: .audio, name: SafeName("a.wav", fallback: "a"), mimeType: "audio/wav",
            object: ObjectMetadata(
                id: try #require(ObjectID(id)), name: "a.wav", type: RecorderProfile.audioType,
                currentSize: 4),
            sha256: nil)
    }

    /// A sealed capture of these files, of which the recorder lists `listed`.
    func capture(_ files: [UInt64] = [0x101, 0x102], listed: Set<UInt64>) throws -> RecorderCapture {
        let manifest = Manifest(
            captureID: "6f0f3f0e-9d1f-4f55-8f7e-2a4d1c3b5a69", title: "two",
            startedAt: try #require(WrittenTime("2026-11-30T10:00:00Z")), durationMs: 1000,
            files: try files.map {
                Manifest.File(
                    objectID: try #require(ObjectID($0)), kind: .audio, name: "\($0).wav",
                    mimeType: "audio/wav", sizeBytes: 4)
            })
        let object = ObjectMetadata(
            id: try #require(ObjectID(0x100)), name: "manifest", type: RecorderProfile.manifestType,
            currentSize: 10)
        return RecorderCapture(
            origin: .manifest(manifest, object), storageGeneration: 7,
            assets: try files.filter(listed.contains).map(Self.asset),
            missing: manifest.files.filter { !listed.contains($0.objectID.value) })
    }

    func salvage(_ ids: [UInt64]) throws -> RecorderCapture {
        RecorderCapture(
            origin: .salvage, storageGeneration: 7, assets: try ids.map(Self.asset), missing: [])
    }

    @discardableResult
    func plan(_ capture: RecorderCapture) async throws -> [UInt64: AssetPlan] {
        let plans = try await store.plan(capture, from: recorder)
        return Dictionary(uniqueKeysWithValues: plans.map { ($0.key.objectID.value, $0.value) })
    }

    func append(_ bytes: [UInt8], at offset: UInt32 = 0, to id: UInt64) async throws {
        try await store.append(bytes, at: offset, to: try Self.key(id))
    }

    func finish(_ id: UInt64) async throws {
        let bytes: [UInt8] = [1, 2, 3, 4]
        _ = try await store.finish(try Self.asset(id), proof: .checksum(CRC32.checksum(bytes)))
    }

    func pull(_ id: UInt64) async throws {
        try await append([1, 2, 3, 4], to: id)
        try await finish(id)
    }

    func absent(besides present: [UInt64]) async throws -> [UInt64] {
        let present = Set(try present.map { try #require(ObjectID($0)) })
        return try await store.wanted(besides: present, from: recorder, storageGeneration: 7)
            .map(\.objectID.value)
    }

    func states() async throws -> [SessionState] {
        try await queue.sessions().sessions.map(\.session.state)
    }
}

@Suite struct CaptureStoreTests {
    /// What a manifest announces is waited for, whether it is listed or not; what is gone holds up nothing.
    @Test func aFileThatVanishedDoesNotHoldUpTheOthers() async throws {
        let fixture = try await StoreFixture()
        #expect(try await fixture.plan(fixture.capture(listed: [0x101])) == [0x101: .wanted(nil)])
        try await fixture.pull(0x101)
        #expect(try await fixture.states() == [.draft])
        #expect(try await fixture.absent(besides: [0x100, 0x101]) == [0x102])
        #expect(try await fixture.absent(besides: [0x102]) == [])
        try await fixture.store.giveUp(StoreFixture.key(0x102))
        #expect(try await fixture.states() == [.queuedOffline])
        #expect(try await fixture.absent(besides: []) == [])
    }

    @Test func aFileThatComesBackIsTakenUpAgain() async throws {
        let fixture = try await StoreFixture()
        try await fixture.plan(fixture.capture(listed: [0x101, 0x102]))
        try await fixture.pull(0x101)
        try await fixture.append([1, 2], to: 0x102)
        try await fixture.store.giveUp(StoreFixture.key(0x102))
        // It goes on where it stopped, on another link.
        let later = StoreFixture.store(fixture.queue)
        let plans = try await later.plan(fixture.capture(listed: [0x101, 0x102]), from: fixture.recorder)
        #expect(plans[try StoreFixture.key(0x101)] == .held)
        let point = ResumePoint(offset: 2, crc32: CRC32.checksum([1, 2]), objectSize: 4)
        #expect(plans[try StoreFixture.key(0x102)] == .wanted(point))
        try await later.append([3, 4], at: 2, to: StoreFixture.key(0x102))
        let whole = try #require(fixture.capture(listed: [0x102]).assets.first)
        #expect(try await later.finish(whole, proof: .checksum(CRC32.checksum([1, 2, 3, 4]))) == .durable)
        #expect(try await fixture.states() == [.queuedOffline])
        let session = try #require(try await fixture.queue.sessions().sessions.first)
        #expect(session.progress.storedAssets == 2)
    }

    /// A recorder can list thousands of objects that it does not have: none of them leaves a trace.
    @Test func aSalvagedObjectBecomesASessionWithItsFirstBytes() async throws {
        let fixture = try await StoreFixture()
        let ids = (0..<UInt64(4096)).map { 0x1000 + $0 }
        #expect(try await fixture.plan(fixture.salvage(ids)).count == 4096)
        #expect(try await fixture.states() == [])
        try await fixture.pull(0x1234)
        #expect(try await fixture.states() == [.queuedOffline])
        let plans = try await fixture.plan(fixture.salvage([0x1233, 0x1234]))
        #expect(plans == [0x1233: .wanted(nil), 0x1234: .held])
    }

    /// What had come of it is kept, and the session says what became of it.
    @Test func aSalvagedObjectThatVanishesEndsItsSession() async throws {
        let fixture = try await StoreFixture()
        try await fixture.plan(fixture.salvage([0x1234]))
        try await fixture.append([1, 2, 3], to: 0x1234)
        #expect(try await fixture.states() == [.draft])
        #expect(try await fixture.absent(besides: []) == [0x1234])
        try await fixture.store.giveUp(StoreFixture.key(0x1234))
        let session = try #require(try await fixture.queue.sessions(.attention).sessions.first?.session)
        #expect(session.state == .failedTerminal && session.terminalReason == .assetMissing)
        #expect(
            session.lastError
                == "the recorder does not have it any more; the 3 of 4 bytes that had come are kept")
        let part =
            "\(fixture.directory.path)/spool/\(session.id)/.\(try StoreFixture.key(0x1234).queueID).part"
        #expect(FileManager.default.contents(atPath: part) == Data([1, 2, 3]))
        await #expect(throws: QueueError.self) { _ = try await fixture.queue.retry(session.id) }
        // Listed again, it is read to its end.
        let point = ResumePoint(offset: 3, crc32: CRC32.checksum([1, 2, 3]), objectSize: 4)
        #expect(try await fixture.plan(fixture.salvage([0x1234])) == [0x1234: .wanted(point)])
        try await fixture.append([4], at: 3, to: 0x1234)
        try await fixture.finish(0x1234)
        #expect(try await fixture.states() == [.queuedOffline])
    }

    /// A manifest that grew after its session was sealed: the new file is not left behind.
    @Test func aFileThatJoinsTooLateIsSalvaged() async throws {
        let fixture = try await StoreFixture()
        try await fixture.plan(fixture.capture([0x101], listed: [0x101]))
        try await fixture.pull(0x101)
        let plans = try await fixture.plan(fixture.capture(listed: [0x101, 0x102]))
        #expect(plans == [0x101: .held, 0x102: .wanted(nil)])
        try await fixture.pull(0x102)
        #expect(try await fixture.states() == [.queuedOffline, .queuedOffline])
        let sessions = try await fixture.queue.sessions().sessions.map(\.session)
        #expect(sessions.map(\.isSalvaged) == [true, false])
    }
}
