/// When to try again: exponential with full jitter, the server's wish if that is longer, and a little more so
/// that clients which were told the same time do not return together. Pure: randomness comes in.
package struct RetryPolicy: Sendable, Equatable {
    /// The first delay's upper end.
    package var base: Duration
    /// No backoff is longer than this.
    package var cap: Duration
    /// No wish of the server counts beyond this.
    package var retryAfterCap: Duration

    package init(
        base: Duration = .seconds(2), cap: Duration = .seconds(900), retryAfterCap: Duration = .seconds(3600)
    ) {
        self.base = base
        self.cap = cap
        self.retryAfterCap = retryAfterCap
    }

    /// The delay after the `failures`th failure in a row, from 1.
    package func delay(
        failures: Int, retryAfter: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        // Doubling past 2^30 would only overflow: the cap is long reached.
        let doubled = base * (1 << min(max(failures - 1, 0), 30))
        let ceiling = min(doubled, cap)
        let backoff = ceiling * Double.random(in: 0...1, using: &generator)
        let wish = min(max(retryAfter ?? .zero, .zero), retryAfterCap)
        let delay = max(backoff, wish)
        return delay + delay * Double.random(in: 0...0.2, using: &generator)
    }
}

/// The failures in a row of one piece of work. There is no last attempt: bytes are never given up.
package struct RetryState: Sendable, Equatable {
    package private(set) var failures: Int

    package init(failures: Int = 0) {
        self.failures = max(0, failures)
    }

    /// Counts a failure and says how long to wait.
    package mutating func failed(
        _ policy: RetryPolicy, retryAfter: Duration? = nil, using generator: inout some RandomNumberGenerator
    ) -> Duration {
        failures = min(failures + 1, 1_000_000)
        return policy.delay(failures: failures, retryAfter: retryAfter, using: &generator)
    }

    /// An acknowledged chunk, or any other success, begins the count anew.
    package mutating func progressed() {
        failures = 0
    }
}
