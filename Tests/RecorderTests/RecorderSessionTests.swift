import EventLoop
import ObjectTransfer
import TestSupport
import Testing

@testable import Recorder

@Suite(.timeLimit(.minutes(2))) struct RecorderSessionTests {
    enum Plane: CaseIterable { case stream, notifications }

    private let store = MemoryStore()
    private let log = EventLog()
    private let server = ObjectServerDouble()

    private static func key(_ id: UInt64) -> AssetKey {
        AssetKey(serial: "CR-1", storageGeneration: 9, objectID: ObjectID(id)!)
    }

    private static func content(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededGenerator(seed: seed)
        return random.bytes(count)
    }

    private static func manifest(_ files: [(UInt64, Int)]) -> [UInt8] {
        Manifest(
            captureID: "00000000-0000-4000-8000-000000000001",
            startedAt: WrittenTime("2026-11-30T12:00:00Z")!,
            durationMs: 1,
            files: files.map { id, size in
                Manifest.File(
                    objectID: ObjectID(id)!, kind: .audio, name: "f", mimeType: "audio/ogg",
                    sizeBytes: UInt32(size))
            }
        ).json
    }

    /// A recorder with one sealed capture of these files.
    private func prepare(_ files: [[UInt8]], flags: CaptureStatus.Flags = []) async {
        let status = CaptureStatus(
            flags: flags, totalMiB: 64, freeMiB: 32, storageGeneration: 9, sealedCaptures: 1)
        await server.configure { server in
            server.values[RecorderProfile.serialNumber] = Array("CR-1".utf8)
            server.values[RecorderProfile.firmwareRevision] = Array("1.2\0".utf8)
            server.values[RecorderProfile.captureStatus] = status.wire
            server.values[RecorderProfile.batteryLevel] = [87]
        }
        var named: [(UInt64, Int)] = []
        for (index, bytes) in files.enumerated() {
            let id = 0x100 + UInt64(index)
            named.append((id, bytes.count))
            await server.add(id, bytes, type: RecorderProfile.audioType)
        }
        if !files.isEmpty {
            await server.add(0x200, Self.manifest(named), type: RecorderProfile.manifestType)
        }
    }

    @discardableResult
    private func link(
        _ plane: Plane = .stream, policy: DeletePolicy = .afterQueue, window: UInt32 = 1024,
        ledger: FailureLedger = FailureLedger(), deadlines: ObjectTransferDeadlines = Self.impatient
    ) async -> LinkReport {
        let server = server
        let channel: any DataChannel =
            switch plane {
            case .stream:
                StreamDataChannel { () async throws(ObjectTransferError) in try await server.openStream() }
            case .notifications:
                NotificationDataChannel(link: server, quiet: .milliseconds(20)) {
                    () async throws(ObjectTransferError) in
                    try await server.openFrames()
                }
            }
        var options = RecorderSession.Options(policy: policy, window: window)
        options.deadlines = deadlines
        let log = log
        let session = RecorderSession(
            link: server, channel: channel, store: store, options: options, ledger: ledger,
            time: { ClockValue(unixMilliseconds: 1_796_014_740_000, zoneOffsetMinutes: 60) },
            onEvent: { log.add($0) })
        return await session.run()
    }

    private static var impatient: ObjectTransferDeadlines {
        var deadlines = ObjectTransferDeadlines()
        deadlines.lockedBackoff = [.zero, .zero, .zero]
        return deadlines
    }

    @Test(arguments: Plane.allCases)
    func pullsAndDeletesEverything(plane: Plane) async {
        let files = [Self.content(10_000), [], [7], Self.content(1024)]
        await prepare(files)
        let report = await link(plane)
        #expect(report.failure == nil)
        #expect(report.pulled == 4 && report.deleted == 5)
        for (index, bytes) in files.enumerated() {
            #expect(await store.finished[Self.key(0x100 + UInt64(index))] == bytes)
        }
        #expect(await server.objects.isEmpty)
        #expect(await store.deleted.last == Self.key(0x200))
        #expect(report.recorder == RecorderIdentity(serial: "CR-1", firmware: "1.2"))
        #expect(log.all.contains(.battery(87)) && log.problems.isEmpty)
        #expect(
            await server.writes[RecorderProfile.clock]
                == [ClockValue(unixMilliseconds: 1_796_014_740_000, zoneOffsetMinutes: 60).wire])
        let listed = RecorderEvent.listed(captures: 1, wanted: 4, bytes: 11_025)
        #expect(log.all.contains(listed))
    }

    @Test(arguments: Plane.allCases, 0..<12)
    func resumesAfterCutsAtRandomPoints(plane: Plane, seed: UInt64) async {
        var random = SeededGenerator(seed: seed)
        let files = [Self.content(9000, seed: seed), Self.content(3000, seed: seed &+ 99)]
        await prepare(files)
        var ledger = FailureLedger()
        for _ in 0..<3 {
            let cut = Int.random(in: 1...4000, using: &random)
            await server.configure { $0.faults.cutAfterBytes = cut }
            let report = await link(plane, policy: .never, ledger: ledger)
            #expect(report.failure?.endsLink == true)
            ledger = report.ledger
            await server.reconnect()
        }
        await server.configure { $0.faults.cutAfterBytes = nil }
        let report = await link(plane, policy: .never, ledger: ledger)
        #expect(report.failure == nil)
        #expect(await store.finished[Self.key(0x100)] == files[0])
        #expect(await store.finished[Self.key(0x101)] == files[1])
        #expect(await store.restarts.isEmpty)
    }

    @Test func spoiledPrefixIsReadAgain() async {
        let bytes = Self.content(5000)
        await prepare([bytes])
        // The listing and the manifest pass, two windows and a bit of the file come.
        await server.configure { $0.faults.cutAfterBytes = 3000 }
        #expect(await link().failure != nil)
        #expect(await store.part(Self.key(0x100)) != nil)
        await store.spoil(Self.key(0x100))
        await server.reconnect()
        #expect(await link().failure == nil)
        #expect(await store.restarts == [Self.key(0x100)])
        #expect(await store.finished[Self.key(0x100)] == bytes)
    }

    @Test func corruptByteIsFoundAndReadAgain() async {
        let bytes = Self.content(5000)
        await prepare([bytes])
        // The manifest and the listing are shorter than this.
        await server.configure { $0.faults.corruptsOnceAt = 3333 }
        #expect(await link().failure == nil)
        #expect(await store.finished[Self.key(0x100)] == bytes)
        #expect(await store.restarts == [Self.key(0x100)])
    }

    @Test func checksumThatNeverAgreesLeavesTheObject() async {
        await prepare([Self.content(100), Self.content(50, seed: 2)])
        await store.configure { $0.manifests[Self.key(0x200)] = Self.manifest([(0x100, 100), (0x101, 50)]) }
        await server.configure { $0.faults.wrongChecksums = 2 }
        let report = await link()
        #expect(report.failure == nil && report.pulled == 1)
        #expect(log.skipped == [0x100])
        #expect(await server.objects.map(\.metadata.id.value) == [0x100, 0x200])
        #expect(report.ledger.isDeferred(Self.key(0x100)))
    }

    @Test(arguments: [4, 7, 25])
    func lostNotificationsAreReadAgain(every: Int) async {
        let bytes = Self.content(20_000)
        await prepare([bytes])
        await server.configure { $0.faults.losesEvery = every }
        let report = await link(.notifications, window: 8192)
        #expect(report.failure == nil && log.skipped.isEmpty, "\(log.problems)")
        #expect(await store.finished[Self.key(0x100)] == bytes)
        #expect(await store.appends[Self.key(0x100)] == bytes.count)
    }

    @Test func creditsStayBounded() async throws {
        await prepare([Self.content(50_000)])
        await link(.notifications, window: 32 * 1024)
        var outstanding = 0
        for value in await server.writes[RecorderProfile.objectDataControl] ?? [] {
            switch try ObjectDataControl(wire: value) {
            case .start(_, _, let credits): outstanding = Int(credits)
            case .credit(let more): outstanding = Int(more)
            case .stop: break
            }
            #expect(outstanding <= 64)
        }
        #expect(outstanding > 0)
    }

    @Test func objectThatStaysLockedEndsTheLinkAndComesLastNextTime() async {
        await prepare([Self.content(100), Self.content(50, seed: 2)])
        var ledger = FailureLedger()
        for _ in 0..<2 {
            await store.configure {
                $0.manifests[Self.key(0x200)] = Self.manifest([(0x100, 100), (0x101, 50)])
            }
            await server.configure { $0.hasDirectory = false }
            await server.configure { $0.faults.lockedAnswers = 4 }
            let report = await link(ledger: ledger)
            #expect(report.failure?.code == .transfer(.action(.objectLocked)))
            ledger = report.ledger
            await server.reconnect()
        }
        #expect(ledger.isDeferred(Self.key(0x100)))
        let report = await link(ledger: ledger)
        #expect(report.failure == nil && report.pulled == 2)
    }

    @Test func growingObjectIsLeftAlone() async {
        await prepare([Self.content(100)])
        let grown = Self.content(500)
        await server.configure { $0.growsWhenSelected = (ObjectID(0x100)!, grown) }
        let report = await link()
        #expect(report.failure == nil && report.pulled == 0)
        #expect(log.skipped == [0x100])
        #expect(await server.objects.count == 2)
    }

    @Test func recordingRecorderKeepsWhatItHasNotSealed() async {
        await prepare([Self.content(100)], flags: .recording)
        await server.add(0x300, Self.content(70), type: RecorderProfile.audioType)
        let report = await link()
        #expect(report.pulled == 1)
        #expect(await server.objects.map(\.metadata.id.value) == [0x300])
    }

    @Test func malformedManifestIsReportedAndItsFilesSalvaged() async {
        await prepare([])
        await server.add(0x100, Self.content(70), type: RecorderProfile.audioType, name: "../x")
        await server.add(0x200, Array("{\"version\":1".utf8), type: RecorderProfile.manifestType)
        let report = await link()
        #expect(report.failure == nil && report.pulled == 1)
        #expect(await store.captures.map(\.origin) == [.salvage])
        #expect(log.problems.contains { $0.contains("manifest 000000000200") })
        #expect(await server.objects.map(\.metadata.id.value) == [0x200])
    }

    @Test func fullStoreEndsTheLink() async {
        await prepare([Self.content(10_000)])
        await store.configure { $0.capacity = 4000 }
        let report = await link()
        #expect(report.failure?.code == .store)
        #expect(await server.objects.count == 2)
    }

    @Test func digestMismatchIsKeptOnTheRecorder() async {
        await prepare([Self.content(100)])
        await store.configure { $0.verdict = .digestMismatch }
        let report = await link()
        #expect(report.pulled == 1 && report.deleted == 0)
        #expect(log.problems.count == 1)
    }

    @Test func recorderWithoutChecksumsIsKept() async {
        let bytes = Self.content(100)
        await prepare([bytes])
        await server.configure { $0.features.actions = [.read, .delete] }
        let report = await link()
        #expect(report.pulled == 1 && report.deleted == 0)
        #expect(await store.proofs == [Self.key(0x100): AssetProof.none(CRC32.checksum(bytes))])
    }

    @Test func deletesOnlyWhatTheCloudHolds() async {
        await prepare([Self.content(100), Self.content(50)])
        await link(policy: .afterUpload)
        #expect(await server.objects.count == 3)
        await store.configure { $0.uploaded = [Self.key(0x101)] }
        await server.reconnect()
        let report = await link(policy: .afterUpload)
        #expect(report.pulled == 0 && report.deleted == 1)
        #expect(await server.objects.map(\.metadata.id.value) == [0x100, 0x200])
    }

    @Test func refusedAssetsStay() async {
        await prepare([Self.content(100)])
        await store.configure { $0.refused = [Self.key(0x100)] }
        let report = await link()
        #expect(report.failure == nil && report.pulled == 0 && log.problems.count == 1)
    }

    static let strangers: [(String, @Sendable (isolated ObjectServerDouble) -> Void)] = [
        ("no serial number", { $0.values[RecorderProfile.serialNumber] = nil }),
        ("a serial number that is a path", { $0.values[RecorderProfile.serialNumber] = Array("../x".utf8) }),
        ("no capture service", { $0.missing.insert(RecorderProfile.captureStatus) }),
        ("no control point", { $0.missing.insert(ObjectTransferService.actionControlPoint) }),
    ]

    @Test(arguments: strangers.indices)
    func strangersAreNoRecorders(index: Int) async {
        await prepare([[1]])
        await server.configure(Self.strangers[index].1)
        let report = await link()
        #expect(report.failure?.code == .notARecorder)
        #expect(report.failure?.hint != nil)
    }

    @Test func cancelledWorkEnds() async {
        await prepare([Self.content(100)])
        await server.configure { $0.faults.silentActions = [ObjectActionOpcode.read.rawValue] }
        let work = Task { await link() }
        while await !server.log.contains(where: { $0.hasPrefix("read") }) { await Task.yield() }
        work.cancel()
        #expect(await work.value.failure?.code == .transfer(.cancelled))
    }

    @Test func whatTwoListingsLackIsGivenUp() async {
        await prepare([Self.content(100)])
        await store.configure { $0.expected = [Self.key(0x999)] }
        var ledger = await link(policy: .never).ledger
        #expect(await store.givenUp.isEmpty)
        for _ in 0..<2 {
            await server.reconnect()
            ledger = await link(policy: .never, ledger: ledger).ledger
        }
        #expect(await store.givenUp == [Self.key(0x999)])
    }

    @Test func planningEndsWithTheLink() async {
        await prepare([])
        for number in 0..<40 {
            var manifest = Manifest(
                captureID: "00000000-0000-4000-8000-0000000000\(10 + number)",
                startedAt: WrittenTime("2026-11-30T12:00:00Z")!, durationMs: 1, files: [])
            manifest.title = "\(number)"
            await server.add(0x200 + UInt64(number), manifest.json, type: RecorderProfile.manifestType)
        }
        let server = server
        // A store that takes its time, as one on a slow card does.
        await store.configure {
            $0.onPlan = {
                await server.cut()
                try? await Task.sleep(for: .milliseconds(10))
            }
        }
        let report = await link()
        #expect(report.failure?.code == .transfer(.linkLost))
        #expect(await store.captures.count < 40)
    }
}
