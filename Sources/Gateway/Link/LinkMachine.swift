import Cloud

/// What one recorder's link goes through: which step comes next, decided from what the step before brought.
/// Pure; `RecorderLink` does the steps and waits.
package struct LinkMachine: Sendable, Hashable {
    /// Where the link is, as users see it (architecture.md, "Two state machines").
    package enum State: String, Sendable, Hashable, CaseIterable {
        case absent, seen, connecting, pairing, resolving, syncing, idle
        case backingOff = "backing_off"
    }

    package enum Step: Sendable, Hashable {
        /// Wait until the recorder is in reach of a powered adapter.
        case watch
        case connect
        /// Wait for the GATT services.
        case resolve
        /// Identity, clock, status, files.
        case sync
        /// Stay connected until there is a reason to sync again.
        case linger
        /// Drop the link, then wait so long.
        case rest(Duration)
        /// Drop the link and wait until the user has done something about it.
        case waitForUser
    }

    package enum Outcome: Sendable, Hashable {
        case inReach
        case connected
        case resolved
        /// `progressed`: at least one byte or deletion came of it.
        case synced(progressed: Bool)
        /// Something new on the recorder, something to delete there, the interval, or the user.
        case wanted
        case rested
        /// The user acted: paired anew, asked for a sync.
        case userActed
        case failed(Failure)
    }

    /// Why a step failed.
    package struct Failure: Error, Sendable, Hashable {
        package enum Kind: Sendable, Hashable {
            /// No adapter, it is off, or bluetoothd is gone: nothing to blame the recorder for.
            case adapterUnavailable
            /// The link broke or did not come up; another try may do.
            case transient
            /// The other side ended it. Once the services are known that is as good as transient; before, again and
            /// again, it is how a lost bond looks where BlueZ cannot tell (before 5.82).
            case endedByRecorder
            /// The recorder does not know our keys any more.
            case keyMissing
            /// The hub does not know the recorder any more.
            case notPaired
            /// It is not what it was taken for, or refuses what every recorder allows.
            case unusable
            /// The hub cannot take more now.
            case storage
        }

        package let kind: Kind
        /// What happened, for a person.
        package let reason: String
        /// Whether bytes came or an object went before it.
        package let hasProgressed: Bool

        package init(_ kind: Kind, _ reason: String, hasProgressed: Bool = false) {
            self.kind = kind
            self.reason = reason
            self.hasProgressed = hasProgressed
        }
    }

    package private(set) var state = State.absent
    /// Why the link is in that state, where it is not as it should be.
    package private(set) var reason: String?
    private var failures = 0
    private var keyFailures = 0
    private var earlyEnds = 0

    /// So many failed authentications in a row mean that the recorder has lost the bond.
    static let keyFailuresUntilUser = 2
    /// So many links in a row that the recorder ends at once may mean it too; the hub tells and goes on trying.
    static let earlyEndsUntilTold = 3
    /// What a reason ends with when only the user can make it good.
    package static let repairAdvice = "pair it again with celestiad pair --repair"

    package init() {}

    /// The step to begin with.
    package var first: Step { .watch }

    /// Takes what a step brought and returns the next.
    package mutating func handle(_ outcome: Outcome, using generator: inout some RandomNumberGenerator)
        -> Step
    {
        switch outcome {
        case .inReach:
            return enter(.connecting, then: .connect)
        case .connected:
            return enter(.resolving, then: .resolve)
        case .resolved:
            (keyFailures, earlyEnds) = (0, 0)
            return enter(.syncing, then: .sync)
        case .synced(let progressed):
            // A sync that brought nothing is no proof that the link holds.
            if progressed { failures = 0 }
            return enter(.idle, then: .linger)
        case .wanted:
            return enter(.syncing, then: .sync)
        case .rested, .userActed:
            if outcome == .userActed { (failures, keyFailures, earlyEnds) = (0, 0, 0) }
            return enter(.absent, then: .watch)
        case .failed(let failure):
            return handle(failure, using: &generator)
        }
    }

    /// The watch saw the recorder, or lost sight of it; for show only.
    package mutating func note(inReach: Bool, reason: String? = nil) {
        guard state == .absent || state == .seen else { return }
        state = inReach ? .seen : .absent
        self.reason = reason
    }

    private mutating func handle(
        _ failure: Failure, using generator: inout some RandomNumberGenerator
    ) -> Step {
        switch failure.kind {
        case .adapterUnavailable:
            return enter(.absent, failure.reason, then: .watch)
        case .notPaired:
            return enter(.backingOff, failure.reason, then: .waitForUser)
        case .keyMissing:
            keyFailures += 1
            guard keyFailures < Self.keyFailuresUntilUser else {
                return enter(.backingOff, failure.reason, then: .waitForUser)
            }
            return rest(failure, RetryPolicy(base: .seconds(2), cap: .seconds(60)), &generator)
        case .endedByRecorder, .transient:
            // A link that is cut while bytes come is as good as any: what it brought is kept.
            if failure.hasProgressed { failures = 0 }
            return rest(told(failure), Self.patient, &generator)
        case .unusable, .storage:
            return rest(failure, RetryPolicy(base: .seconds(60), cap: .seconds(900)), &generator)
        }
    }

    private static let patient = RetryPolicy(base: .seconds(1), cap: .seconds(300))

    /// The failure as it is told: with what it may mean, when it came too often too early.
    private mutating func told(_ failure: Failure) -> Failure {
        guard failure.kind == .endedByRecorder, state == .connecting || state == .resolving else {
            return failure
        }
        earlyEnds += 1
        guard earlyEnds >= Self.earlyEndsUntilTold else { return failure }
        return Failure(
            failure.kind,
            "the recorder ends every link at once (\(failure.reason)); if that goes on it has lost the bond: "
                + Self.repairAdvice)
    }

    private mutating func rest(
        _ failure: Failure, _ policy: RetryPolicy, _ generator: inout some RandomNumberGenerator
    ) -> Step {
        failures += 1
        return enter(
            .backingOff, failure.reason, then: .rest(policy.delay(failures: failures, using: &generator)))
    }

    private mutating func enter(_ state: State, _ reason: String? = nil, then step: Step) -> Step {
        self.state = state
        self.reason = reason
        return step
    }
}
