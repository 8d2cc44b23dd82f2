import CaptureQueue
import Cloud
import Testing

@testable import Gateway

/// The three-way merge, as its table says.
@Suite struct SessionMergeTests {
    private typealias Event = SessionFacts.Event

    private static func facts(
        _ title: String = "a", end: Int64? = 1000, duration: Int64 = 10, events: [String] = []
    ) -> SessionFacts {
        SessionFacts(
            title: title, startMs: 0, endMs: end, durationMs: duration,
            events: events.map { Event(id: $0, relativeTimeMs: 1, type: "NOTE") })
    }

    @Test(
        arguments: [
            ("a", "a", "a", "a"), ("a", "b", "a", "b"), ("a", "a", "b", "b"), ("a", "b", "c", "c"),
            (nil, "b", "c", "c"),
            (nil, "b", "b", "b"),
        ] as [(String?, String, String, String)])
    func titles(_ base: String?, _ local: String, _ remote: String, _ merged: String) {
        let merge = SessionMerge(
            base: base.map { Self.facts($0) }, local: Self.facts(local), remote: Self.facts(remote))
        #expect(merge.title == merged)
    }

    @Test(
        arguments: [
            (10, 10, 10, 10), (10, 20, 10, 20), (10, 10, 5, 5), (10, 20, 30, 30), (10, 30, 20, 30),
            (nil, 7, 9, 9),
        ] as [(Int64?, Int64, Int64, Int64)])
    func durations(_ base: Int64?, _ local: Int64, _ remote: Int64, _ merged: Int64) {
        let merge = SessionMerge(
            base: base.map { Self.facts(duration: $0) }, local: Self.facts(duration: local),
            remote: Self.facts(duration: remote))
        #expect(merge.durationMs == merged)
    }

    @Test(
        arguments: [
            // The server rounds: no change.
            (1500, 1500, 1000, 1500), (nil, 5000, nil, 5000), (nil, nil, 5000, 5000),
            (1000, 9000, 5000, 9000),
            (1000, 1000, nil, nil),
        ] as [(Int64?, Int64?, Int64?, Int64?)])
    func ends(_ base: Int64?, _ local: Int64?, _ remote: Int64?, _ merged: Int64?) {
        let merge = SessionMerge(
            base: Self.facts(end: base), local: Self.facts(end: local), remote: Self.facts(end: remote))
        #expect(merge.endMs == merged)
    }

    @Test func eventsAreUnitedLessDeletions() {
        let base = Self.facts(events: ["1", "2", "3"])
        let local = Self.facts(events: ["1", "2", "4"])
        let remote = Self.facts(events: ["1", "3", "5"])
        let merge = SessionMerge(base: base, local: local, remote: remote)
        #expect(merge.deletions == ["2"])
        let sent = Self.facts(events: ["1", "4"]).upsert(
            clientID: "c", seen: remote, deletions: ["2", "3"], baseRevision: 6)
        #expect(sent.events.map(\.clientId) == ["1", "4", "5"])
        #expect(sent.deletedEventClientIds == ["2", "3"])
        #expect(sent.baseRevision == 6)
        #expect(SessionMerge(base: nil, local: local, remote: remote).deletions == [])
    }

    @Test func wordsThatWereEditedInTheCloudStay() {
        var remote = Self.facts(events: ["1"])
        remote.events[0].text = "edited"
        let sent = Self.facts(events: ["1"]).upsert(
            clientID: "c", seen: remote, deletions: [], baseRevision: 2)
        #expect(sent.events.map(\.textContent) == ["edited"])
    }

    /// C-8: an event type of the future is kept by the server, and cannot be sent by us.
    @Test func unknownTypesAreNotSent() {
        var remote = Self.facts(events: ["1"])
        remote.events[0].type = "HOLOGRAM"
        #expect(
            Self.facts().upsert(clientID: "c", seen: remote, deletions: [], baseRevision: 2).events.isEmpty)
    }

    @Test func theDigestSeesContentOnly() {
        let facts = Self.facts(events: ["1", "2"])
        #expect(facts.digest(deletions: []) == Self.facts(events: ["2", "1"]).digest(deletions: []))
        #expect(facts.digest(deletions: []) != facts.digest(deletions: ["3"]))
        #expect(facts.digest(deletions: []) != Self.facts("b", events: ["1", "2"]).digest(deletions: []))
        #expect(
            facts.digest(deletions: []) != Self.facts(end: nil, events: ["1", "2"]).digest(deletions: []))
        #expect(SessionFacts(snapshot: facts.snapshot) == facts)
        #expect(SessionFacts(snapshot: "{}") == nil)
    }
}

@Suite struct UploadBookkeepingTests {
    private static let now = ContinuousClock.now
    private static let ids = (1...3).compactMap { AssetID("00000000-0000-4000-8000-00000000000\($0)") }

    /// C-74: two files that fit alone do not fit together.
    @Test func theLedger() {
        var ledger = QuotaLedger()
        #expect(ledger.reserve(Self.ids[0], bytes: 60, remaining: 100) == .fits)
        #expect(ledger.reserve(Self.ids[0], bytes: 60, remaining: 100) == .fits)
        #expect(ledger.reserve(Self.ids[1], bytes: 60, remaining: 100) == .afterOthers)
        #expect(ledger.reserve(Self.ids[1], bytes: 101, remaining: 100) == .exceeds)
        #expect(ledger.reserve(Self.ids[1], bytes: 1, remaining: -5) == .exceeds)
        #expect(ledger.reserve(Self.ids[2], bytes: .max, remaining: nil) == .fits)
        ledger.release(Self.ids[0])
        #expect(ledger.reserve(Self.ids[1], bytes: 60, remaining: 100) == .fits)
    }

    @Test func theGateShutsForLongerUntilSomethingSucceeds() {
        var random = FixedGenerator()
        var gate = HostGate()
        let policy = RetryPolicy(base: .seconds(2), cap: .seconds(900))
        var delays: [Duration] = []
        for _ in 0..<3 {
            gate.shut(.hostNotCelestia, "a portal", at: Self.now, policy, using: &random)
            delays.append(Self.now.duration(to: gate.nextProbe ?? Self.now))
            gate.open()
            #expect(gate.isOpen)
        }
        #expect(delays[0] < delays[1] && delays[1] < delays[2])
        gate.succeeded()
        gate.shut(.redirected, "elsewhere", at: Self.now, policy, using: &random)
        #expect(Self.now.duration(to: gate.nextProbe ?? Self.now) == delays[0])
        gate.hurry(at: Self.now)
        #expect(gate.nextProbe == Self.now)
    }

    @Test func fourFailuresInARowAreTheHosts() {
        var random = FixedGenerator()
        var gate = HostGate()
        for _ in 0..<HostGate.patience * 2 {
            gate.failed("503", sawSuccess: true, at: Self.now, RetryPolicy(), using: &random)
        }
        #expect(gate.isOpen)
        for _ in 1..<HostGate.patience {
            #expect(gate.isOpen)
            gate.failed("503", sawSuccess: false, at: Self.now, RetryPolicy(), using: &random)
        }
        #expect(gate.reason == .unreachable)
        // No probe before the server wished for one.
        gate.shut(
            .unreachable, "429", after: .seconds(300), at: Self.now, RetryPolicy(), using: &random)
        #expect(Self.now.duration(to: gate.nextProbe ?? Self.now) >= .seconds(300))
    }

    /// C-75: 30 minutes, doubling up to 6 hours, at once when asked.
    @Test func quotaProbesBecomeSeldom() {
        var schedule = ProbeSchedule()
        let range: ClosedRange<Duration> = .seconds(1800)...(.seconds(21_600))
        #expect(schedule.next == nil)
        schedule.wait(from: Self.now, within: range)
        var gaps: [Int64] = []
        for _ in 0..<6 {
            let next = schedule.next ?? Self.now
            gaps.append(Self.now.duration(to: next).components.seconds)
            schedule.begin()
            schedule.probed(at: Self.now, isWaiting: true, within: range)
        }
        #expect(gaps == [1800, 3600, 7200, 14_400, 21_600, 21_600])
        schedule.hurry(at: Self.now)
        #expect(schedule.next == Self.now)
        schedule.begin()
        schedule.probed(at: Self.now, isWaiting: false, within: range)
        #expect(schedule.next == nil)
        // What began to wait while it was looked, and was not seen, is not forgotten.
        schedule.start(at: Self.now)
        schedule.begin()
        schedule.wait(from: Self.now, within: range)
        schedule.probed(at: Self.now, isWaiting: false, within: range)
        #expect(schedule.next == Self.now.advanced(by: .seconds(1800)))
    }

    private struct FixedGenerator: RandomNumberGenerator {
        // With a size: ThreadSanitizer looks at the address of what is passed inout, and nothing has none.
        let value: UInt64 = 1 << 63

        func next() -> UInt64 { value }
    }
}

/// What the account is told of a recorder, and when.
@Suite struct DeviceSyncMachineTests {
    private static let now = ContinuousClock.now

    private static func facts(battery: Int? = 80, connected: Bool = false) -> DeviceSyncMachine.Facts {
        DeviceSyncMachine.Facts(
            name: "Recorder", hardwareMAC: "00:11:22:33:44:55", firmware: "1.2", batteryPercent: battery,
            freeStorageMiB: 10, totalStorageMiB: 20, isConnected: connected)
    }

    @Test func bindsOnceThenTellsChanges() {
        var machine = DeviceSyncMachine()
        var now = Self.now
        #expect(machine.next(Self.facts(), id: nil, at: now) == .bind)
        machine.handle(.bound(Self.facts()), at: now)
        // Being connected is news that binding could not tell; but not yet.
        #expect(
            machine.next(Self.facts(connected: true), id: "d", at: now) == .rest(until: now + .seconds(60)))
        now += .seconds(60)
        let step = machine.next(Self.facts(battery: 79, connected: true), id: "d", at: now)
        guard case .update("d", let update) = step else { return #expect(Bool(false), "\(step)") }
        #expect(update.batteryLevel == 79)
        #expect(update.isConnected == true)
        #expect(update.name == nil)
        #expect(update.totalStorageMB == nil)
        machine.handle(.updated(Self.facts(battery: 79, connected: true)), at: now)
        #expect(
            machine.next(Self.facts(battery: 79, connected: true), id: "d", at: now + .seconds(60))
                == .rest(until: nil))
    }

    @Test func whatFailsIsDroppedAndGoneIsBoundAgain() {
        var machine = DeviceSyncMachine()
        machine.handle(.updated(Self.facts()), at: Self.now)
        machine.handle(.failed(backoff: .seconds(300)), at: Self.now)
        #expect(
            machine.next(Self.facts(battery: 1), id: "d", at: Self.now)
                == .rest(until: Self.now + .seconds(300)))
        machine.handle(.gone, at: Self.now)
        #expect(machine.next(Self.facts(), id: nil, at: Self.now) == .bind)
    }

    /// The id by which the server recognises a recorder is fixed for ever.
    @Test func thePeripheralUUIDIsStable() {
        let binding = Self.facts().binding(serial: "CR1-000042")
        #expect(binding.peripheralUUID == Identity.peripheral(serial: "CR1-000042"))
        #expect(binding.peripheralUUID != Identity.peripheral(serial: "CR1-000043"))
        #expect(binding.peripheralUUID.dropFirst(14).first == "5")
    }
}
