import FoundationEssentials

extension CaptureQueue {
    /// Removes the bytes of imported sessions whose time of keeping is over; the records stay. Every receipt
    /// was stored before: a crash in between leaves files that the next start removes.
    package func releaseDueBytes() throws(QueueError) {
        try boundReleases()
        let due = try database.all(
            "SELECT seq, id FROM sessions WHERE release_at <= ? AND state = 'imported' LIMIT 1000", now
        ) { row throws(QueueError) in (try row.int64(), try row.sessionID()) }
        for (sequence, id) in due { try release(sequence, id) }
    }

    /// Removes the bytes of a session that the user has cancelled. This loses them for good: the caller has
    /// asked the user.
    package func purge(_ id: SessionID) throws(QueueError) {
        let session = try requireSession(id)
        guard session.state == .cancelled else {
            throw QueueError(
                .illegalTransition,
                "only a cancelled session can be purged, this one is \(session.state.rawValue)")
        }
        try release(session.sequence, id)
    }

    private func release(_ sequence: Int64, _ id: SessionID) throws(QueueError) {
        _ = try writable
        // Parts that never became whole go only with a purge: the cloud does not have them.
        let assets = try database.all(
            "SELECT a.id FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq WHERE s.seq = ?"
                + " AND (a.pull_state <> 'unobtainable' OR s.state = 'cancelled')", sequence
        ) { row throws(QueueError) in try row.assetID() }
        for asset in assets {
            pulls[asset] = nil
            try spool.removeStored(id, asset)
        }
        try spool.removeIfEmpty(id)
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE assets SET pull_state = 'released' WHERE session_seq = ?"
                    + " AND pull_state IN ('stored', 'wanted', 'damaged')", sequence)
            try database.run("UPDATE sessions SET release_at = NULL WHERE seq = ?", sequence)
        }
    }
}
