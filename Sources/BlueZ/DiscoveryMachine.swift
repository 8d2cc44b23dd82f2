/// The rules of one adapter's discovery: it runs while somebody wants it, stands still while a device is being
/// connected (most controllers cannot do both), and starts afresh when it went quiet. Pure: time comes as timers
/// that it asks for.
struct DiscoveryMachine {
    enum StartOutcome: Hashable {
        case started
        /// InProgress: we or the controller scan already, or it is still busy.
        case alreadyScanning
        case failed
    }

    enum Input: Hashable {
        /// Whether somebody wants to find devices.
        case wanted(Bool)
        /// Whether a connect is under way.
        case paused(Bool)
        /// Whether the adapter is powered.
        case powered(Bool)
        /// The adapter's Discovering property.
        case discovering(Bool)
        case advertisement
        case startEnded(StartOutcome)
        case stopEnded
        case timer(Int)
    }

    enum Action: Hashable {
        /// SetDiscoveryFilter and StartDiscovery; answered by `startEnded`.
        case start
        /// StopDiscovery; answered by `stopEnded`, whatever came of it.
        case stop
        /// Answered by `timer` after the duration; an older timer is void.
        case schedule(Int, Duration)
    }

    enum Phase: Hashable {
        case idle
        case starting
        case scanning
        case stopping
        /// Waits before it starts again after a failure.
        case backingOff
    }

    /// How often the watchdog looks, and how many looks without an advertisement are too many: 90 s in all.
    static let checkInterval = Duration.seconds(30)
    static let mostQuietChecks = 3
    /// How long a scan that somebody else ended may take to come back by itself, as BlueZ's own pauses do.
    static let grace = Duration.seconds(10)
    static let longestBackoff = 32

    private(set) var phase = Phase.idle
    private var isWanted = false
    private var isPaused = false
    private var isPowered = false
    private var isDiscovering = false
    private var isInGrace = false
    private var heardSinceCheck = false
    private var quietChecks = 0
    private var failures = 0
    private var timer = 0

    mutating func handle(_ input: Input) -> [Action] {
        switch input {
        case .wanted(let value):
            isWanted = value
            return reconcile()
        case .paused(let value):
            isPaused = value
            return reconcile()
        case .powered(let value):
            isPowered = value
            return reconcile()
        case .discovering(let value):
            return setDiscovering(value)
        case .advertisement:
            heardSinceCheck = true
            return []
        case .startEnded(let outcome):
            return startEnded(outcome)
        case .stopEnded:
            guard phase == .stopping else { return [] }
            phase = .idle
            return reconcile()
        case .timer(let id):
            return id == timer ? timerFired() : []
        }
    }

    private var shouldScan: Bool { isWanted && !isPaused && isPowered }

    private mutating func reconcile() -> [Action] {
        switch phase {
        case .idle:
            guard shouldScan else { return [] }
            phase = .starting
            return [.start]
        case .scanning:
            guard !shouldScan else { return [] }
            return stop()
        case .backingOff:
            if !shouldScan { phase = .idle }
            return []
        case .starting, .stopping:
            return []
        }
    }

    private mutating func stop() -> [Action] {
        timer += 1  // voids the watchdog
        guard isPowered else {
            phase = .idle  // switching an adapter off ends its discovery
            return []
        }
        phase = .stopping
        return [.stop]
    }

    private mutating func startEnded(_ outcome: StartOutcome) -> [Action] {
        guard phase == .starting else { return [] }
        if outcome == .failed {
            phase = .backingOff
            let retry = schedule(backoff())
            return reconcile() + (phase == .backingOff ? [retry] : [])
        }
        phase = .scanning
        if outcome == .alreadyScanning, !isDiscovering {
            // For ten seconds or so a controller does what a bluetoothd wanted of it that has died since; nobody hears
            // of it, and it does not come back by itself.
            isInGrace = true
            return [schedule(backoff())] + reconcile()
        }
        failures = 0
        quietChecks = 0
        heardSinceCheck = false
        isInGrace = false
        let check = schedule(Self.checkInterval)
        return [check] + reconcile()
    }

    private mutating func backoff() -> Duration {
        defer { failures += 1 }
        return .seconds(min(Self.longestBackoff, 1 << min(failures, 10)))
    }

    private mutating func setDiscovering(_ value: Bool) -> [Action] {
        let ended = isDiscovering && !value
        isDiscovering = value
        guard phase == .scanning else { return [] }
        if ended {
            isInGrace = true
            return [schedule(Self.grace)]
        }
        guard value, isInGrace else { return [] }
        isInGrace = false
        failures = 0
        return [schedule(Self.checkInterval)]
    }

    private mutating func timerFired() -> [Action] {
        switch phase {
        case .backingOff:
            phase = .idle
            return reconcile()
        case .scanning:
            quietChecks = heardSinceCheck ? 0 : quietChecks + 1
            heardSinceCheck = false
            // Stopping first: BlueZ holds a session of ours that no longer does anything.
            guard !isInGrace, quietChecks < Self.mostQuietChecks else { return stop() }
            guard isDiscovering else {
                isInGrace = true
                return [schedule(Self.grace)]
            }
            return [schedule(Self.checkInterval)]
        case .idle, .starting, .stopping:
            return []
        }
    }

    private mutating func schedule(_ delay: Duration) -> Action {
        timer += 1
        return .schedule(timer, delay)
    }
}
