import FoundationEssentials

/// The sync checkpoint: asked for once everything is in the cloud (upload.md C-76).
extension CaptureQueue {
    /// The ticket of the checkpoint that should be triggered for `host` and who is logged in there; nil while none is due, or while
    /// anything there is queued, held, in flight, to be retried, failed for good or of unknown outcome, or a paired
    /// recorder still has a part of what is queued.
    package func checkpointDue(host: String) throws(QueueError) -> Int64? {
        let database = try database
        let account = try currentAccount(host: host)
        let asked = try database.number(
            "SELECT CAST(value AS INTEGER) FROM meta WHERE key = ?", checkpointKey(host, account))
        guard let asked, asked > 0 else { return nil }
        let open = try database.number(
            """
            SELECT 1 FROM sessions WHERE target_host = ?1 AND (account IS NULL OR account IS ?2) AND (state IN ('queued_offline', 'uploading',
                'awaiting_confirmation', 'failed_retryable', 'failed_terminal') OR state = 'draft' AND EXISTS
                (SELECT 1 FROM recorders WHERE serial = recorder_serial AND paired_at IS NOT NULL)) LIMIT 1
            """, host, account)
        return open == nil ? asked : nil
    }

    /// Stores that the checkpoint of this ticket is done. One that became due meanwhile stays due.
    package func checkpointDone(host: String, ticket: Int64, syncedAt: String) throws(QueueError) {
        let dueKey = checkpointKey(host, try currentAccount(host: host))
        try change { database throws(QueueError) in
            try database.run(
                "DELETE FROM meta WHERE key = ? AND CAST(value AS INTEGER) = ?", dueKey, ticket)
            try database.run(
                "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", "last_checkpoint:" + host,
                String(syncedAt.prefix(64)))
        }
    }

    /// The server's time of the last checkpoint, verbatim.
    package func lastCheckpoint(host: String) throws(QueueError) -> String? {
        try database.first("SELECT value FROM meta WHERE key = ?", "last_checkpoint:" + host) {
            row throws(QueueError) in try row.text()
        }
    }

    func requestCheckpoint(forSession sequence: Int64) throws(QueueError) {
        let database = try database
        let place = try database.first("SELECT target_host, account FROM sessions WHERE seq = ?", sequence) {
            row throws(QueueError) in (try row.text(), try row.textOrNil())
        }
        guard let (host, account) = place else { return }
        // Tickets never repeat, also after a done one was removed: the session's key is one.
        try database.run(
            "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET"
                + " value = CAST(max(CAST(value AS INTEGER) + 1, CAST(?2 AS INTEGER)) AS TEXT)",
            checkpointKey(host, account), String(sequence))
    }

    /// Where it is kept that a checkpoint is due; each account has its own.
    func checkpointKey(_ host: String, _ account: String?) -> String {
        "checkpoint_due:" + host + (account.map { " \($0)" } ?? "")
    }
}
