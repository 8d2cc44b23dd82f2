/// How fast something goes, over the last seconds. Pure: instants come in.
package struct RateMeter: Sendable {
    private struct Sample {
        let instant: ContinuousClock.Instant
        let bytes: Int64
    }

    /// The rate is that of this last stretch.
    private static let window = Duration.seconds(5)
    /// Samples nearer to each other than this are one.
    private static let spacing = Duration.milliseconds(250)

    private var samples: [Sample]

    package init(at instant: ContinuousClock.Instant, bytes: Int64 = 0) {
        samples = [Sample(instant: instant, bytes: bytes)]
    }

    /// Notes how many bytes there are in all now.
    package mutating func note(_ bytes: Int64, at instant: ContinuousClock.Instant) {
        if samples.count > 1, instant - samples[samples.count - 2].instant < Self.spacing {
            samples.removeLast()
        }
        samples.append(Sample(instant: instant, bytes: bytes))
        while samples.count > 2, instant - samples[1].instant >= Self.window { samples.removeFirst() }
    }

    /// Bytes per second; nil until something was measured.
    package var bytesPerSecond: Int64? {
        guard let first = samples.first, let last = samples.last, last.instant > first.instant else {
            return nil
        }
        let seconds = (last.instant - first.instant) / .seconds(1)
        let rate = Double(max(0, last.bytes - first.bytes)) / seconds
        return rate.isFinite && rate < 1e15 ? Int64(rate) : nil
    }

    /// How long the rest will take at this rate; nil when nothing moves.
    package func secondsLeft(of total: Int64) -> Int64? {
        guard let rate = bytesPerSecond, rate > 0, let bytes = samples.last?.bytes else { return nil }
        return max(0, total - bytes) / rate
    }
}
