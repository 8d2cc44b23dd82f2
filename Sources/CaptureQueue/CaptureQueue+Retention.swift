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

    /// Removes a session's bytes. Of an imported one the receipts are stored already, and it is found out at the start
    /// what a crash left; what the user has removed is written down first, or its missing files would look like a loss.
    func release(_ sequence: Int64, _ id: SessionID, isPurge: Bool = false) throws(QueueError) {
        _ = try writable
        if isPurge { try noteReleased(sequence) }
        // Parts that never became whole go only with a purge: the cloud does not have them.
        let assets = try database.all(
            "SELECT id FROM assets WHERE session_seq = ? AND (pull_state <> 'unobtainable' OR ?)", sequence,
            isPurge
        ) { row throws(QueueError) in try row.assetID() }
        for asset in assets {
            pulls[asset] = nil
            try spool.removeStored(id, asset)
        }
        try spool.removeIfEmpty(id)
        if !isPurge { try noteReleased(sequence) }
    }

    private func noteReleased(_ sequence: Int64) throws(QueueError) {
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE assets SET pull_state = 'released' WHERE session_seq = ?"
                    + " AND pull_state IN ('stored', 'wanted', 'damaged')", sequence)
            try database.run("UPDATE sessions SET release_at = NULL WHERE seq = ?", sequence)
        }
    }
}
