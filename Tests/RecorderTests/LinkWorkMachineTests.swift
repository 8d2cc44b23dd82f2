import ObjectTransfer
import Testing

@testable import Recorder

@Suite struct LinkWorkMachineTests {
    private typealias Step = LinkWorkMachine.Step
    private typealias Outcome = LinkWorkMachine.Outcome

    private static let manifestObject = ObjectMetadata(
        id: ObjectID(0x101)!, name: "m", type: RecorderProfile.manifestType, currentSize: 5)
    private static let audioObject = ObjectMetadata(
        id: ObjectID(0x100)!, name: "a", type: RecorderProfile.audioType, currentSize: 10)
    private static let manifest = Manifest(
        captureID: "00000000-0000-4000-8000-000000000001", startedAt: WrittenTime("2026-11-30T12:00:00Z")!,
        durationMs: 1,
        files: [
            Manifest.File(
                objectID: audioObject.id, kind: .audio, name: "a", mimeType: "audio/ogg", sizeBytes: 10)
        ])
    private static let key = AssetKey(serial: "S", storageGeneration: 3, objectID: audioObject.id)
    private static let manifestKey = AssetKey(serial: "S", storageGeneration: 3, objectID: manifestObject.id)

    private func status(_ flags: CaptureStatus.Flags = [], generation: UInt32 = 3) -> Outcome {
        .status(
            CaptureStatus(
                flags: flags, totalMiB: 1, freeMiB: 1, storageGeneration: generation, sealedCaptures: 1))
    }

    private func listing(_ objects: [ObjectMetadata]) -> Outcome {
        .listing(DirectoryListing(wire: objects.flatMap(\.directoryRecord)))
    }

    /// Feeds outcomes and returns every step that followed.
    private func run(
        _ machine: inout LinkWorkMachine, _ outcomes: [Outcome], ledger: FailureLedger = FailureLedger()
    ) -> [String] {
        outcomes.map { Self.name(machine.handle($0, ledger: ledger)) }
    }

    private static func name(_ step: Step) -> String {
        switch step {
        case .readManifest(let object): "manifest \(object.id.value)"
        case .pull(let asset, let resume): "pull \(asset.key.objectID.value) from \(resume?.offset ?? 0)"
        case .release(_, let key): "release \(key.objectID.value)"
        case .compare(let present): "compare \(present.count)"
        case .announce(_, let wanted, let bytes): "announce \(wanted) of \(bytes)"
        case .stop(let error): "stop \(error.code)"
        default: "\(step)"
        }
    }

    private var opening: [Outcome] {
        [
            .identity(RecorderIdentity(serial: "S")), .done, status(), .done,
            listing([Self.audioObject, Self.manifestObject]), status(), .manifest(.decoded(Self.manifest)),
        ]
    }

    @Test func wholeLink() {
        var machine = LinkWorkMachine(policy: .afterQueue)
        #expect(machine.step == .readIdentity)
        let resume = ResumePoint(offset: 4, crc32: 1, objectSize: 10)
        let steps = run(
            &machine,
            opening + [
                .planned([Self.key: .wanted(resume)]), .done, .done, .pulled(isReleasable: true),
                .released(true),
                .released(true),
            ])
        #expect(
            steps == [
                "writeClock", "readStatus", "readBattery", "list", "confirmStatus", "manifest 257", "plan(0)",
                "compare 2", "announce 1 of 6", "pull 256 from 4", "release 256", "release 257", "finished",
            ])
    }

    static let afterPlan: [(DeletePolicy, AssetPlan, [String])] = [
        (.afterUpload, .held, ["announce 0 of 0", "release 256"]),
        (.never, .held, ["announce 0 of 0", "finished"]),
        (.afterUpload, .wanted(nil), ["announce 1 of 10", "pull 256 from 0"]),
        (.afterUpload, .refused("full"), ["announce 0 of 0", "finished"]),
    ]

    @Test(arguments: afterPlan)
    func planDecides(policy: DeletePolicy, plan: AssetPlan, expected: [String]) {
        var machine = LinkWorkMachine(policy: policy)
        let steps = run(&machine, opening + [.planned([Self.key: plan]), .done, .done])
        #expect(Array(steps.suffix(2)) == expected)
    }

    @Test func manifestStaysWhileAFileDoes() {
        var machine = LinkWorkMachine(policy: .afterQueue)
        let steps = run(&machine, opening + [.planned([Self.key: .held]), .done, .done, .released(false)])
        #expect(steps.last == "finished")
    }

    @Test func doubtfulBytesAreNotReleased() {
        var machine = LinkWorkMachine(policy: .afterQueue)
        let steps = run(
            &machine,
            opening + [.planned([Self.key: .wanted(nil)]), .done, .done, .pulled(isReleasable: false)])
        #expect(steps.last == "finished")
    }

    @Test func recordingAtEitherStatusForbidsSalvage() {
        let flags: [(CaptureStatus.Flags, CaptureStatus.Flags)] = [(.recording, []), ([], .recording)]
        for (before, after) in flags {
            var machine = LinkWorkMachine(policy: .afterQueue)
            let steps = run(
                &machine,
                [
                    .identity(RecorderIdentity(serial: "S")), .done, status(before), .done,
                    listing([Self.audioObject]), status(after), .done, .done,
                ])
            #expect(steps.suffix(3) == ["compare 1", "announce 0 of 0", "finished"])
        }
    }

    @Test func formattedStorageStops() {
        var machine = LinkWorkMachine(policy: .afterQueue)
        let steps = run(&machine, Array(opening.prefix(5)) + [status(generation: 4)])
        #expect(steps.last == "stop objectChanged")
    }

    static let failures: [(Int, Bool, String)] = [
        (0, false, "stop store"), (1, false, "readStatus"), (2, false, "stop store"), (3, false, "list"),
        (4, false, "stop store"), (5, false, "stop store"), (6, false, "compare 2"),
        (7, false, "compare 2"), (8, false, "announce 1 of 10"), (10, false, "finished"),
        (1, true, "stop store"), (10, true, "stop store"),
    ]

    @Test(arguments: failures)
    func failureOfAStep(after count: Int, endsLink: Bool, next: String) {
        var machine = LinkWorkMachine(policy: .afterQueue)
        let outcomes = opening + [.planned([Self.key: .wanted(nil)]), .done, .done]
        _ = run(&machine, Array(outcomes.prefix(count)))
        let step = machine.handle(
            .failed(RecorderError(.store, "no", endsLink: endsLink)), ledger: FailureLedger())
        #expect(Self.name(step) == next)
    }

    @Test func failingObjectsComeLastOrNotAtAll() {
        let objects = (0..<3).map {
            ObjectMetadata(
                id: ObjectID(0x100 + $0)!, name: "a", type: RecorderProfile.audioType, currentSize: 10)
        }
        let keys = objects.map { AssetKey(serial: "S", storageGeneration: 3, objectID: $0.id) }
        var ledger = FailureLedger()
        for _ in 0..<FailureLedger.deferAfter { ledger.noteFailure(of: keys[0]) }
        for _ in 0..<FailureLedger.giveUpAfter { ledger.noteFailure(of: keys[1]) }
        var machine = LinkWorkMachine(policy: .never)
        let steps = run(
            &machine,
            [
                .identity(RecorderIdentity(serial: "S")), .done, status(), .done, listing(objects), status(),
                .planned(Dictionary(uniqueKeysWithValues: keys.map { ($0, .wanted(nil)) })), .done, .done,
                .pulled(isReleasable: true), .pulled(isReleasable: true),
            ], ledger: ledger)
        #expect(steps.suffix(4) == ["announce 2 of 20", "pull 258 from 0", "pull 256 from 0", "finished"])
    }

    @Test func aListingInDoubtIsNotCompared() {
        var machine = LinkWorkMachine(policy: .afterQueue)
        let twice = listing([Self.audioObject, Self.audioObject])
        let steps = run(
            &machine,
            [
                .identity(RecorderIdentity(serial: "S")), .done, status(), .done, twice, status(),
                .planned([Self.key: .held]),
            ])
        #expect(steps.last == "announce 0 of 0")
    }

    /// Five thousand objects that are not there cost so many tries on a link, others on the next; what a manifest names
    /// comes before them.
    @Test func phantomsAreTriedInTurns() {
        let limit = UInt64(LinkWorkMachine.salvageFailuresPerLink)
        let phantoms = (0..<limit * 3).map {
            ObjectMetadata(
                id: ObjectID(0x1000 + $0)!, name: "p", type: RecorderProfile.audioType, currentSize: 1)
        }
        let keys = phantoms.map { AssetKey(serial: "S", storageGeneration: 3, objectID: $0.id) }
        let planned = Outcome.planned(Dictionary(uniqueKeysWithValues: keys.map { ($0, .wanted(nil)) }))
        var ledger = FailureLedger()
        var tried: [[UInt64]] = []
        for _ in 0..<3 {
            var machine = LinkWorkMachine(policy: .afterQueue)
            _ = run(
                &machine,
                [
                    .identity(RecorderIdentity(serial: "S")), .done, status(), .done,
                    listing(phantoms + [Self.audioObject, Self.manifestObject]), status(),
                    .manifest(.decoded(Self.manifest)), .planned([Self.key: .wanted(nil)]), planned, .done,
                    .done,
                ], ledger: ledger)
            guard case .pull(let first, _) = machine.step else {
                return #expect(Bool(false), "\(machine.step)")
            }
            #expect(first.key == Self.key)
            var step = machine.handle(.pulled(isReleasable: false), ledger: ledger)
            tried.append([])
            while case .pull(let asset, _) = step {
                tried[tried.count - 1].append(asset.key.objectID.value)
                ledger.noteFailure(of: asset.key)
                let failure = RecorderError(.transfer(.list(.objectIDNotFound)), "not there")
                step = machine.handle(.failed(failure), ledger: ledger)
            }
            #expect(step == .finished)
            // Each was told when it was left out; here only that there are more.
            #expect(machine.problems.count <= 3, "\(machine.problems)")
        }
        #expect(tried.map(\.count) == [Int(limit), Int(limit), Int(limit)])
        #expect(Set(tried.joined()).count == phantoms.count)
    }
}

@Suite struct FailureLedgerTests {
    private static let keys = (0..<3).map {
        AssetKey(serial: "S", storageGeneration: 3, objectID: ObjectID(0x100 + $0)!)
    }

    /// Which objects each complete listing lacked, and which are gone after the last.
    @Test(
        arguments: [
            ([[0]], []), ([[0], [0]], [0]), ([[0], [], [0]], []), ([[0, 1], [1, 2]], [1]),
            ([[0], [0], [0]], [0]),
        ] as [([[Int]], [Int])])
    func anObjectIsGoneWhenTwoListingsInARowLackIt(listings: [[Int]], gone: [Int]) {
        var ledger = FailureLedger()
        var last: [AssetKey] = []
        for absent in listings { last = ledger.noteAbsent(absent.map { Self.keys[$0] }) }
        #expect(last == gone.map { Self.keys[$0] })
    }
}
