package import FoundationEssentials

extension CaptureQueue {
    /// Stores a failed attempt: `failed_retryable`, to be taken up again at `nextTry`, at the latest after the
    /// configuration's `longestWait`. Identities and
    /// idempotency keys stay as they are. Throws `illegalTransition` when the session was cancelled or held
    /// as failed meanwhile.
    package func fail(
        _ id: SessionID, asset: AssetID? = nil, message: String, nextTry: Date
    ) throws(QueueError) {
        let session = try requireSession(id)
        let text = Self.bounded(message)
        let nextTry = min(nextTry, horizon)
        try change { database throws(QueueError) in
            try transition(session.sequence, .failedRetryably)
            try database.run(
                "UPDATE sessions SET last_error = ?, next_try_at = ? WHERE seq = ?", text, nextTry,
                session.sequence)
            try noteFailure(of: asset, text)
        }
        active.remove(id)
    }

    /// Stores that the session cannot go on without help. The bytes stay.
    package func failTerminally(
        _ id: SessionID, asset: AssetID? = nil, reason: TerminalReason, message: String
    ) throws(QueueError) {
        let session = try requireSession(id)
        let text = Self.bounded(message)
        try change { database throws(QueueError) in
            try transition(session.sequence, .failedTerminally, terminal: reason)
            try database.run("UPDATE sessions SET last_error = ? WHERE seq = ?", text, session.sequence)
            try noteFailure(of: asset, text)
        }
        active.remove(id)
    }

    /// Places a hold, which takes the session out of the uploader's hands until it is released, until `until`
    /// or (for `quota`) until `releaseQuotaHolds` finds room for `requiredBytes`.
    package func hold(
        _ id: SessionID, _ reason: HoldReason, detail: String? = nil, until: Date? = nil,
        requiredBytes: Int64? = nil
    ) throws(QueueError) {
        let session = try requireSession(id)
        let now = now
        let until = until.map { min($0, horizon) }
        try change { database throws(QueueError) in
            try transition(session.sequence, .held)
            try database.run(
                """
                INSERT INTO holds (session_seq, reason, since, until, required_bytes, detail)
                VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (session_seq, reason) DO UPDATE SET
                    until = excluded.until, required_bytes = excluded.required_bytes, detail = excluded.detail
                """,
                session.sequence, reason, now, until, requiredBytes, detail.map(Self.bounded))
        }
        active.remove(id)
    }

    /// Releases a session's hold; no error when there is none.
    package func releaseHold(_ id: SessionID, _ reason: HoldReason) throws(QueueError) {
        let session = try requireSession(id)
        try change { database throws(QueueError) in
            try database.run(
                "DELETE FROM holds WHERE session_seq = ? AND reason = ?", session.sequence, reason)
        }
    }

    /// Releases every quota hold on a host's sessions that `remaining` bytes satisfy (upload.md C-75).
    package func releaseQuotaHolds(host: String, remaining: Int64) throws(QueueError) {
        try change { database throws(QueueError) in
            try database.run(HoldQueries.releaseQuota, remaining, host)
        }
    }

    /// Whether a session for the host is held for this reason.
    package func hasHolds(_ reason: HoldReason, host: String) throws(QueueError) -> Bool {
        try database.number(HoldQueries.isHeld, reason, host) != nil
    }

    /// Releases every hold of this reason on a host's sessions, so that they are looked at again.
    package func releaseHolds(_ reason: HoldReason, host: String) throws(QueueError) {
        guard try hasHolds(reason, host: host) else { return }
        try change { database throws(QueueError) in
            try database.run(HoldQueries.release, reason, host)
        }
    }

    /// Holds the whole queue for one host (`host` empty: for all): nothing is offered for upload meanwhile.
    /// `lowDisk` holds pulls only, as uploads are what frees space. Allowed: quota, auth, paused, lowDisk,
    /// metered, clock.
    package func holdQueue(
        _ reason: HoldReason, host: String = "", detail: String? = nil, until: Date? = nil
    ) throws(QueueError) {
        let now = now
        let until = until.map { min($0, horizon) }
        try change { database throws(QueueError) in
            try database.run(
                """
                INSERT INTO queue_holds (reason, host, since, until, detail) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (reason, host) DO UPDATE SET until = excluded.until, detail = excluded.detail
                """, reason, host, now, until, detail.map(Self.bounded))
        }
    }

    /// Releases a hold on the whole queue; no error when there is none.
    package func releaseQueueHold(_ reason: HoldReason, host: String = "") throws(QueueError) {
        let isHeld = try database.number(
            "SELECT 1 FROM queue_holds WHERE reason = ? AND host = ?", reason, host)
        guard isHeld != nil else { return }
        try change { database throws(QueueError) in
            try database.run("DELETE FROM queue_holds WHERE reason = ? AND host = ?", reason, host)
        }
    }

    /// The holds on the whole queue that concern a host.
    package func queueHolds(host: String) throws(QueueError) -> [Hold] {
        try database.all(
            "SELECT reason, since, until, NULL, detail FROM queue_holds WHERE host IN (?, '') ORDER BY since",
            host
        ) { row throws(QueueError) in try Hold(&row) }
    }

    /// The user asks for another attempt now: the schedule and every hold that looking again can settle are cleared. An
    /// attempt begins by looking at the server: what is still as it was, such as a deletion there, holds it again, and
    /// nothing is sent.
    /// Returns false for a session that is imported already, which stays as it is (F-15).
    ///
    /// Files that were lost and are in place again are taken back; of what is still lost the cloud is asked first.
    ///
    /// Throws `illegalTransition` for a session that is cancelled, or that has none of its files: there is nothing to send.
    package func retry(_ id: SessionID) async throws(QueueError) -> Bool {
        _ = try require(id, notIn: [.cancelled], to: "be tried again")
        try await takeBack(id)
        let session = try require(id, notIn: [.cancelled], to: "be tried again")
        try requireOwnAccount(session)
        guard try !hasNothing(session.sequence) else {
            throw QueueError(
                .illegalTransition, "session \(id) has none of its files",
                hint: "it goes on by itself when the recorder has them again")
        }
        return try change { database throws(QueueError) in
            let actions = try transition(session.sequence, .retryRequested)
            guard !actions.contains(.suppress) else { return false }
            try database.run(
                "DELETE FROM holds WHERE session_seq = ? AND reason NOT IN ('paused', 'low_disk', 'other_account')",
                session.sequence)
            if let lost = try database.first(
                RestoreQueries.lost, session.sequence, read: RestoreQueries.reason)
            {
                try askCloud(session.sequence, lost)
            }
            return true
        }
    }

    /// Changes what the cloud shows of a session: the result of a merge, or an edit. nil keeps a field.
    /// `deletedEvents` are named to the cloud until it has acknowledged them.
    package func updateMetadata(
        _ id: SessionID, title: String? = nil, endedAt: CaptureTime? = nil, durationMs: Int64? = nil,
        deletedEvents: [String] = []
    ) throws(QueueError) {
        let session = try requireSession(id)
        guard (title?.utf8.count ?? 0) <= 4096, (durationMs ?? 0) >= 0 else {
            throw QueueError(.invalidInput, "a title that is too long or a negative duration")
        }
        let now = now
        try change { database throws(QueueError) in
            try database.run(
                """
                UPDATE sessions SET title = coalesce(?2, title), ended_text = coalesce(?3, ended_text),
                    ended_at = coalesce(?4, ended_at), duration_ms = coalesce(?5, duration_ms),
                    updated_at = ?6 WHERE seq = ?1
                """, session.sequence, title, endedAt?.text, endedAt?.instant, durationMs, now)
            for event in deletedEvents {
                try database.run(
                    "UPDATE events SET is_deleted = 1 WHERE session_seq = ? AND id = ?", session.sequence,
                    event)
            }
        }
    }

    /// Adds a step to the session's provenance chain; earlier steps are never changed (F-23).
    package func addProvenance(_ id: SessionID, step: [String: String]) throws(QueueError) {
        let session = try requireSession(id)
        try change { _ throws(QueueError) in try appendProvenance(step, to: session.sequence) }
    }

    private func noteFailure(of asset: AssetID?, _ message: String) throws(QueueError) {
        guard let asset else { return }
        try database.run(
            "UPDATE assets SET last_error = ?, upload_state = 'failed' WHERE id = ?"
                + " AND upload_state <> 'uploaded'", message, asset)
    }
}

/// Of a host's sessions, by looking at the holds: there are fewer of them.
enum HoldQueries {
    /// Another account's holds are not this one's to lift, nor to wait for.
    private static let isOfHost = """
        (SELECT target_host FROM sessions WHERE seq = session_seq AND (account IS NULL OR account IN
            (SELECT account FROM accounts WHERE host = ?2 AND is_current = 1))) = ?2
        """
    static let isHeld = "SELECT 1 FROM holds WHERE reason = ?1 AND \(isOfHost) LIMIT 1"
    static let release = "DELETE FROM holds WHERE reason = ?1 AND \(isOfHost)"
    static let releaseQuota = """
        DELETE FROM holds WHERE reason = 'quota' AND ifnull(required_bytes, 0) <= ?1 AND \(isOfHost)
        """
}
