package import FoundationEssentials

/// Keeps the limit of all uploads together at what the timetable says.
package struct UploadPacer: Sendable {
    let timetable: RateTimetable
    let log: Log
    let now: @Sendable () -> Date
    let minute: @Sendable (Date) -> Int
    let sleep: @Sendable (Duration) async throws -> Void
    let apply: @Sendable (Int64?) async -> Void

    /// `apply` is told the limit in bytes per second at the start and at each change; nil is no limit.
    package init(
        timetable: RateTimetable, log: Log, now: @escaping @Sendable () -> Date,
        minute: @escaping @Sendable (Date) -> Int = { RateTimetable.minute(of: $0) },
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        apply: @escaping @Sendable (Int64?) async -> Void
    ) {
        self.timetable = timetable
        self.log = log
        self.now = now
        self.minute = minute
        self.sleep = sleep
        self.apply = apply
    }

    /// Until the task is cancelled.
    package func run() async {
        var last: Int64??
        while !Task.isCancelled {
            let date = now()
            let rate = timetable.rate(at: minute(date))
            if last != .some(rate) {
                await apply(rate)
                if last != nil || rate != nil {
                    log.info(
                        rate.map { "uploads are held to \($0 >> 10) KiB/s" } ?? "uploads are not limited")
                }
                last = rate
            }
            // Each full minute, since the clock on the wall may be set, and jumps twice a year.
            let second = Int(date.timeIntervalSince1970.rounded(.down)) % 60
            let rest = timetable.isConstant ? Duration.seconds(1 << 30) : .seconds(60 - max(0, second))
            try? await sleep(rest)
        }
    }
}
