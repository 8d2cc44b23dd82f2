import FoundationEssentials

/// The wall clock of a hub jumps: without a battery it starts in the past, and time synchronisation sets it. A time that
/// lies further ahead than anything is ever put off was written by a clock that has been set back since, and is over.
extension CaptureQueue {
    /// The furthest time that something can be put off to.
    var horizon: Date { now + configuration.longestWait }

    /// Brings schedules and ends of holds back within reach.
    func boundSchedules(host: String) throws(QueueError) {
        let (now, horizon) = (now, horizon)
        let isBeyond = try database.number(ClockQueries.isBeyond, host, horizon)
        guard isBeyond == 1 else { return }
        try change { database throws(QueueError) in
            try database.run(ClockQueries.boundTries, host, horizon, now)
            try database.run("UPDATE holds SET until = ? WHERE until > ?", now, horizon)
            try database.run("UPDATE queue_holds SET until = ? WHERE until > ?", now, horizon)
        }
    }

    /// What seems to have been imported later than now was so before the clock was set back: its bytes are kept from now.
    func boundReleases() throws(QueueError) {
        let (now, furthest) = (now, now + configuration.keepAfterUpload)
        let isBeyond = try database.number(
            "SELECT 1 FROM sessions WHERE release_at > ? AND imported_at > ? LIMIT 1", furthest, now)
        guard isBeyond != nil else { return }
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE sessions SET release_at = ?1 WHERE release_at > ?1 AND imported_at > ?2", furthest,
                now)
        }
    }
}

extension Date {
    static func + (date: Date, duration: Duration) -> Date {
        date.addingTimeInterval(Double(duration.components.seconds))
    }
}

enum ClockQueries {
    private static let isScheduled = """
        target_host = ?1 AND next_try_at IS NOT NULL AND next_try_at > ?2 AND held = 0
            AND state IN ('queued_offline', 'failed_retryable', 'awaiting_confirmation')
        """
    static let isBeyond = """
        SELECT EXISTS (SELECT 1 FROM sessions INDEXED BY sessions_due WHERE \(isScheduled))
            OR EXISTS (SELECT 1 FROM holds WHERE until > ?2)
            OR EXISTS (SELECT 1 FROM queue_holds WHERE until > ?2)
        """
    static let boundTries = "UPDATE sessions SET next_try_at = ?3 WHERE \(isScheduled)"
}
