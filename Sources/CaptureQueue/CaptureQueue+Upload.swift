package import FoundationEssentials

extension CaptureQueue {
    /// The sessions that may be sent to `host` now: by priority, then in order of arrival. Leaves out what is
    /// held, scheduled for later or in hand already; empty while the whole queue is held for this host.
    package func nextUploads(host: String, limit: Int = 16) throws(QueueError) -> [SessionRecord] {
        try boundSchedules(host: host)
        try endExpiredHolds()
        let isHeld = try database.number(
            "SELECT 1 FROM queue_holds WHERE host IN (?, '') AND reason <> 'low_disk' LIMIT 1", host)
        guard isHeld == nil else { return [] }
        let count = limit + active.count
        let ready = try database.all(UploadQueries.ready, host, count) { row throws(QueueError) in
            try SessionRecord(&row)
        }
        let due = try database.all(UploadQueries.due, host, now, count) { row throws(QueueError) in
            try SessionRecord(&row)
        }
        let all = (ready + due).filter { !active.contains($0.id) }
        let ordered = all.sorted { ($1.priority, $0.sequence) < ($0.priority, $1.sequence) }
        return Array(ordered.prefix(limit))
    }

    /// When the next scheduled session or the end of a hold comes up; nil when nothing is scheduled.
    package func nextUploadTime(host: String) throws(QueueError) -> Date? {
        try boundSchedules(host: host)
        let times = [
            try database.number(UploadQueries.nextTime, host),
            try database.number("SELECT min(until) FROM holds WHERE until IS NOT NULL"),
            try database.number("SELECT min(until) FROM queue_holds WHERE until IS NOT NULL"),
        ]
        return times.compactMap { $0 }.min().map { Date(milliseconds: $0) }
    }

    /// Takes a session in hand: `uploading`, its host fixed from now on. A session that awaits its
    /// confirmation stays so: the server is asked first. Everything in `unsettled` is settled before
    /// anything is sent again. Throws `illegalTransition` while it is held, in hand, or in no state to be sent.
    package func beginUpload(_ id: SessionID) throws(QueueError) -> UploadJob {
        let session = try requireSession(id)
        guard !active.contains(id) else {
            throw QueueError(.illegalTransition, "session \(id) is being sent already")
        }
        let held = try database.number("SELECT held FROM sessions WHERE seq = ?", session.sequence)
        guard held == 0 else {
            throw QueueError(.illegalTransition, "session \(id) is held", hint: "release its holds first")
        }
        try change { database throws(QueueError) in
            // What came while nobody was logged in goes to who is now; from here on to nobody else.
            try database.run(AccountQueries.claimOne, session.sequence)
            try transition(session.sequence, .attemptStarted)
        }
        active.insert(id)
        return try uploadJob(id)
    }

    /// What is left to be sent of a session, as stored now.
    package func uploadJob(_ id: SessionID) throws(QueueError) -> UploadJob {
        let session = try requireSession(id)
        let database = try database
        let pending = try database.all(UploadQueries.pending, session.sequence) { row throws(QueueError) in
            try AssetRecord(&row)
        }
        let uploads = try database.all(UploadQueries.uploads, session.sequence) { row throws(QueueError) in
            (try row.assetID(), try ChunkedUpload(&row))
        }
        let bytes = pending.reduce(Int64(0)) { sum, asset in
            sum.addingReportingOverflow(asset.byteSize - asset.uploadedBytes).partialValue
        }
        return UploadJob(
            session: session, events: try eventRows(session.sequence), pending: pending,
            uploads: Dictionary(uploads, uniquingKeysWith: { first, _ in first }),
            unsettled: try intentRows(session.sequence), pendingBytes: bytes)
    }

    /// Whether the uploader still has the session in hand: no longer after it was put down, held, cancelled or failed,
    /// whoever did it. To be asked before each request.
    package func isInHand(_ id: SessionID) -> Bool { active.contains(id) }

    /// The hosts that sessions still have to be sent to.
    package func openHosts() throws(QueueError) -> [String] {
        try database.all(WaitQueries.openHosts) { row throws(QueueError) in try row.text() }
    }

    /// Puts a session down without a failure (stop, lost network, another session first).
    package func suspendUpload(_ id: SessionID) throws(QueueError) {
        let session = try requireSession(id)
        active.remove(id)
        guard session.state != .imported else { return }
        try change { _ throws(QueueError) in try transition(session.sequence, .attemptSuspended) }
    }

    /// Opens an asset's file for sending, its size checked; with `verifying`, its SHA-256 as well (reads the
    /// whole file). A file that is gone or changed makes the session `failed_terminal` (or is read again from
    /// the recorder, where that still has it) and throws `assetMissing` or `assetCorrupt`; nothing is deleted.
    package func openForUpload(_ id: AssetID, verifying: Bool = false) async throws(QueueError) -> AssetFile {
        let asset = try requireAsset(id)
        guard asset.pullState == .stored, let digest = asset.sha256 else {
            let message = "the bytes of asset \(id) are not here (\(asset.pullState.rawValue))"
            throw try noteDamage(asset, QueueError(.assetMissing, message))
        }
        let file: AssetFile
        do throws(QueueError) {
            file = try spool.openStored(asset.sessionID, id, size: asset.byteSize)
        } catch {
            throw try noteDamage(asset, error)
        }
        if verifying {
            let isIntact = try await Self.digest(of: file) == digest
            if !isIntact {
                let message = "the stored file of asset \(id) no longer has the SHA-256 it was stored with"
                throw try noteDamage(asset, QueueError(.assetCorrupt, message))
            }
        }
        return file
    }

    /// Stores that a stored file is gone or changed, and hands the error back.
    private func noteDamage(_ asset: AssetRecord, _ error: QueueError) throws(QueueError) -> QueueError {
        guard error.code == .assetMissing || error.code == .assetCorrupt else { return error }
        let reason: TerminalReason = error.code == .assetMissing ? .assetMissing : .assetCorrupt
        if asset.pullState == .stored {
            try spool.setAside(asset.sessionID, asset.id)
            try change { _ throws(QueueError) in try lose(asset.id, reason, error.message) }
        } else if try requireSession(asset.sessionID).state != .imported {
            try failTerminally(asset.sessionID, asset: asset.id, reason: reason, message: error.message)
        }
        return error
    }

    /// Ends the session: every file confirmed, the metadata acknowledged, nothing open. Stores the receipt
    /// session id → remote ids, asks for a checkpoint, and only then releases the local bytes (after
    /// `keepAfterUpload`). A session that is imported already stays as it is.
    package func markImported(_ id: SessionID) throws(QueueError) {
        let session = try requireSession(id)
        guard session.state != .imported else { return }
        guard let remoteID = session.remoteID, session.syncedDigest != nil else {
            throw QueueError(.illegalTransition, "the cloud has not acknowledged session \(id)")
        }
        // A file may have been taken up again since the uploader looked.
        guard try !isToBeSent(session.sequence) else {
            throw QueueError(.illegalTransition, "files of session \(id) are still to be sent")
        }
        let now = now
        try change { database throws(QueueError) in
            if session.state == .uploading { try transition(session.sequence, .bytesSent) }
            try database.run(
                "INSERT INTO receipts (session_seq, remote_id, client_id, committed_at) VALUES (?, ?, ?, ?)",
                session.sequence, remoteID, session.clientID, now)
            try transition(session.sequence, .confirmed)
            try database.run("DELETE FROM holds WHERE session_seq = ?", session.sequence)
        }
        active.remove(id)
        try releaseDueBytes()
    }

    /// Whether the cloud has still to get a file of the session.
    func isToBeSent(_ sequence: Int64) throws(QueueError) -> Bool {
        try database.number(
            "SELECT 1 FROM assets WHERE session_seq = ? AND exclusion IS NULL AND pull_state <> 'unobtainable'"
                + " AND upload_state <> 'uploaded' LIMIT 1", sequence) != nil
    }

    func eventRows(_ sequence: Int64) throws(QueueError) -> [EventRecord] {
        try database.all(
            "SELECT \(EventRecord.columns) FROM events WHERE session_seq = ? ORDER BY ordinal, id", sequence
        ) { row throws(QueueError) in try EventRecord(&row) }
    }

    func intentRows(_ sequence: Int64) throws(QueueError) -> [Intent] {
        try database.all(Intent.query + "WHERE i.session_seq = ? ORDER BY i.id", sequence) {
            row throws(QueueError) in try Intent(&row)
        }
    }

    /// Reads a file whole, and gives way to other work of the queue between two pieces.
    static func digest(of file: AssetFile) async throws(QueueError) -> SHA256Digest {
        let hasher = SHA256()
        var offset: Int64 = 0
        while let next = try file.hashPiece(at: offset, into: hasher) {
            offset = next
            await Task.yield()
        }
        return hasher.digest()
    }

    private func endExpiredHolds() throws(QueueError) {
        let now = now
        let isDue = try database.number(
            "SELECT EXISTS (SELECT 1 FROM holds WHERE until <= ?1)"
                + " OR EXISTS (SELECT 1 FROM queue_holds WHERE until <= ?1)", now)
        guard isDue == 1 else { return }
        try change { database throws(QueueError) in
            try database.run("DELETE FROM holds WHERE until <= ?", now)
            try database.run("DELETE FROM queue_holds WHERE until <= ?", now)
        }
    }
}

/// The hot queries, in one place so that a test can read their plans.
enum UploadQueries {
    private static let sendable =
        "held = 0 AND state IN ('queued_offline', 'failed_retryable', 'awaiting_confirmation')"

    static let ready = """
        SELECT \(SessionRecord.columns) FROM sessions INDEXED BY sessions_ready
        WHERE target_host = ? AND next_try_at IS NULL AND \(sendable)
        ORDER BY priority DESC, seq LIMIT ?
        """
    static let due = """
        SELECT \(SessionRecord.columns) FROM sessions INDEXED BY sessions_due
        WHERE target_host = ? AND next_try_at IS NOT NULL AND next_try_at <= ? AND \(sendable)
        ORDER BY next_try_at LIMIT ?
        """
    static let nextTime = """
        SELECT min(next_try_at) FROM sessions INDEXED BY sessions_due
        WHERE target_host = ? AND next_try_at IS NOT NULL AND \(sendable)
        """
    static let pending =
        AssetRecord.query + """
            WHERE a.session_seq = ? AND a.exclusion IS NULL AND a.pull_state <> 'unobtainable'
                AND a.upload_state <> 'uploaded' ORDER BY a.byte_size, a.ordinal
            """
    static let uploads = """
        SELECT a.id, \(ChunkedUpload.columns) FROM assets AS a JOIN uploads AS u ON u.asset_seq = a.seq
        WHERE a.session_seq = ?
        """
}
