package import Dates
import EventLoop
import HTTP

/// The server's time, from the `Date` of its answers carried on by a clock that no one sets: a hub without a
/// battery-backed clock may boot in 1970 (C-22).
package final class ServerClock: Sendable {
    private struct Anchor {
        let server: Int64
        let local: ContinuousClock.Instant
    }

    private let anchor = Locked<Anchor?>(nil)
    private let monotonic: @Sendable () -> ContinuousClock.Instant

    /// `monotonic` must count suspend, as `ContinuousClock` does.
    package init(monotonic: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
        self.monotonic = monotonic
    }

    /// The server's time to about a second; nil before its first answer.
    package var now: Timestamp? {
        let local = monotonic()
        return anchor.withLock { anchor in
            anchor.map {
                Timestamp(secondsSince1970: $0.server + ($0.local.duration(to: local)).components.seconds)
            }
        }
    }

    func observe(_ response: HTTPResponse) {
        guard let date = response.date else { return }
        let local = monotonic()
        anchor.withLock { $0 = Anchor(server: date, local: local) }
    }

    /// Time left until `instant` of the server's clock; nil when that is not known.
    package func timeLeft(until instant: Timestamp) -> Duration? {
        guard let now else { return nil }
        let (seconds, overflow) = instant.secondsSince1970.subtractingReportingOverflow(now.secondsSince1970)
        return overflow ? nil : .seconds(seconds)
    }
}
