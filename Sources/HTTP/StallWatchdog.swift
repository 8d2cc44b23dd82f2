/// What the watchdog accepts.
package struct StallLimits: Sendable, Equatable {
    /// No byte for this long ends the transfer.
    package var silence: Duration
    /// An average below this many bytes per second over `window` ends it too: a trickle is never silent.
    package var floor: Int64
    package var window: Duration

    package init(silence: Duration = .seconds(90), floor: Int64 = 1024, window: Duration = .seconds(600)) {
        self.silence = silence
        self.floor = floor
        self.window = window
    }
}

/// Decides whether a transfer has stalled, from the byte counts it is shown.
struct StallWatchdog {
    enum Verdict: Equatable {
        case alive
        case silent
        case trickle
    }

    private let limits: StallLimits
    private var bytes: Int64 = 0
    private var lastProgress: ContinuousClock.Instant
    private var windowStart: ContinuousClock.Instant
    private var windowBytes: Int64 = 0

    init(limits: StallLimits, now: ContinuousClock.Instant) {
        self.limits = limits
        lastProgress = now
        windowStart = now
    }

    /// `total` counts both directions. Once the whole request is out, `isWaiting`, only the total deadline
    /// bounds the server's thinking.
    mutating func observe(total: Int64, isWaiting: Bool, now: ContinuousClock.Instant) -> Verdict {
        if total != bytes || isWaiting {
            bytes = total
            lastProgress = now
        }
        if isWaiting {
            windowStart = now
            windowBytes = total
        }
        if now - lastProgress >= limits.silence { return .silent }
        guard now - windowStart >= limits.window else { return .alive }
        let isTrickle = total - windowBytes < limits.floor * limits.window.components.seconds
        windowStart = now
        windowBytes = total
        return isTrickle ? .trickle : .alive
    }
}
