package import FoundationEssentials

/// Sessions that wait for the same thing.
package struct WaitTally: Sendable, Equatable {
    package enum Cause: Sendable, Equatable {
        case hold(HoldReason)
        /// The last attempt failed; the next is made by itself.
        case retry
        /// They were queued for another host than the one that is configured.
        case otherHost
    }

    package let cause: Cause
    package let sessions: Int
    /// The one that waits longest; with a `retry`, the one that is tried next.
    package let first: SessionID
    /// What happened to that one, or the host that it is for.
    package let detail: String?
    /// When the first of them goes on by itself; nil when only a change from outside lets it.
    package let until: Date?

    package init(_ cause: Cause, sessions: Int, first: SessionID, detail: String? = nil, until: Date? = nil) {
        self.cause = cause
        self.sessions = sessions
        self.first = first
        self.detail = detail
        self.until = until
    }
}

/// What the sessions that are not in the cloud wait for.
package struct QueueWaits: Sendable, Equatable {
    /// The holds that have been there longest come first.
    package let tallies: [WaitTally]
    /// Sessions that are being sent, or could be at once.
    package let ready: Int

    package init(_ tallies: [WaitTally] = [], ready: Int = 0) {
        self.tallies = tallies
        self.ready = ready
    }
}

extension CaptureQueue {
    /// What every session waits for that is to be sent, as seen by who sends to `host`.
    package func waits(host: String) throws(QueueError) -> QueueWaits {
        let database = try database
        var holds: [(WaitTally, since: Int64)] = []
        let reasons = try database.all(WaitQueries.holdCounts) { row throws(QueueError) in
            (try row.value(HoldReason.self), try row.int())
        }
        for (reason, count) in reasons {
            let first = try database.first(WaitQueries.firstHeld, reason) { row throws(QueueError) in
                let tally = WaitTally(
                    .hold(reason), sessions: count, first: try row.sessionID(), detail: try row.textOrNil(),
                    until: try row.dateOrNil())
                return (tally, try row.int64())
            }
            if let first { holds.append(first) }
        }
        var tallies = holds.sorted { $0.since < $1.since }.map(\.0)
        let now = now
        let retries = try database.first(WaitQueries.retries, host, now) { row throws(QueueError) in
            let (count, first) = (try row.int(), try row.textOrNil())
            let (detail, until) = (try row.textOrNil(), try row.dateOrNil())
            return first.flatMap { SessionID($0) }.map { id in
                WaitTally(.retry, sessions: count, first: id, detail: detail, until: until)
            }
        }
        if let retries = retries ?? nil { tallies.append(retries) }
        tallies += try database.all(WaitQueries.otherHosts, host) { row throws(QueueError) in
            WaitTally(
                .otherHost, sessions: try row.int(), first: try row.sessionID(), detail: try row.text())
        }
        let free = try database.number(WaitQueries.free, host) ?? 0
        let later = (retries ?? nil).map { Int64($0.sessions) } ?? 0
        return QueueWaits(tallies, ready: Int(clamping: max(0, free - later)))
    }
}

enum WaitQueries {
    private static let isOpen =
        "state IN ('queued_offline', 'uploading', 'awaiting_confirmation', 'failed_retryable')"

    static let holdCounts = "SELECT reason, sessions FROM hold_counts WHERE sessions > 0 ORDER BY reason"
    static let firstHeld = """
        SELECT s.id, h.detail, h.until, h.since FROM holds AS h INDEXED BY holds_by_reason
        JOIN sessions AS s ON s.seq = h.session_seq WHERE h.reason = ? AND s.\(isOpen) ORDER BY h.since LIMIT 1
        """
    /// With min() SQLite takes the other columns from the row that has the minimum.
    static let retries = """
        SELECT count(*), id, last_error, min(next_try_at) FROM sessions INDEXED BY sessions_due
        WHERE target_host = ? AND next_try_at IS NOT NULL AND next_try_at > ? AND held = 0
            AND state IN ('queued_offline', 'failed_retryable', 'awaiting_confirmation')
        """
    static let otherHosts = """
        SELECT o.free, (SELECT id FROM sessions INDEXED BY sessions_open WHERE target_host = o.target_host
            AND held = 0 AND \(isOpen) ORDER BY seq LIMIT 1), o.target_host FROM open_sessions AS o
        WHERE o.target_host <> ? AND o.free > 0 ORDER BY o.target_host
        """
    static let free = "SELECT free FROM open_sessions WHERE target_host = ?"
    static let openHosts = """
        SELECT target_host FROM open_sessions WHERE free > 0 OR held > 0 OR drafts > 0 ORDER BY target_host
        """
}
