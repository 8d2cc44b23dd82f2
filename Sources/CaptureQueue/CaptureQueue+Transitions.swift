import FoundationEssentials

extension CaptureQueue {
    /// Feeds the session's machine and stores what it says, inside the caller's transaction.
    @discardableResult
    func transition(
        _ sequence: Int64, _ input: SessionInput, terminal: TerminalReason? = nil
    ) throws(QueueError) -> [SessionMachine.Action] {
        let database = try database
        let state = try database.first("SELECT state FROM sessions WHERE seq = ?", sequence) {
            row throws(QueueError) in try row.value(SessionState.self)
        }
        guard let state else { throw QueueError(.notFound, "there is no such session") }
        var machine = SessionMachine(state)
        let actions = try machine.handle(input)
        try database.run(
            "UPDATE sessions SET state = ?2, updated_at = ?3, terminal_reason = coalesce(?4, terminal_reason)"
                + " WHERE seq = ?1", sequence, machine.state, now, terminal)
        for action in actions { try perform(action, sequence) }
        // What is discarded waits for nothing any more.
        if input == .cancelRequested {
            try database.run("DELETE FROM holds WHERE session_seq = ?", sequence)
        }
        return actions
    }

    private func perform(_ action: SessionMachine.Action, _ sequence: Int64) throws(QueueError) {
        let database = try database
        switch action {
        case .bindHost:
            try database.run(
                "UPDATE sessions SET upload_began_at = ? WHERE seq = ? AND upload_began_at IS NULL", now,
                sequence
            )
        case .countRetry:
            try database.run("UPDATE sessions SET retry_count = retry_count + 1 WHERE seq = ?", sequence)
        case .clearSchedule:
            try database.run("UPDATE sessions SET next_try_at = NULL WHERE seq = ?", sequence)
        case .clearFailure:
            try database.run(
                "UPDATE sessions SET last_error = NULL, terminal_reason = NULL, retry_count = 0,"
                    + " next_try_at = NULL WHERE seq = ?", sequence)
        case .scheduleRelease:
            let keep = configuration.keepAfterUpload.components.seconds
            try database.run(
                "UPDATE sessions SET imported_at = ?1, release_at = ?2 WHERE seq = ?3", now,
                now.addingTimeInterval(Double(keep)), sequence)
        case .requestCheckpoint:
            try requestCheckpoint(forSession: sequence)
        case .reconcile, .stopTransfers, .suppress:
            // The caller's part: nothing of these is stored.
            break
        }
    }

    /// Ends the draft once no file is wanted any more. A session that has none of its files is no recording: it fails
    /// until one comes.
    @discardableResult
    func sealIfComplete(_ sequence: Int64) throws(QueueError) -> Bool {
        let database = try database
        let open = try database.number(
            "SELECT 1 FROM assets WHERE session_seq = ? AND pull_state = 'wanted' LIMIT 1", sequence)
        guard open == nil else { return false }
        let state = try database.first("SELECT state, terminal_reason FROM sessions WHERE seq = ?", sequence)
        {
            row throws(QueueError) in (try row.value(SessionState.self), try row.textOrNil())
        }
        switch state {
        case (.draft, _)?:
            try transition(sequence, .sealed)
            let lost = try database.first(
                "SELECT last_error FROM assets WHERE session_seq = ? AND pull_state = 'damaged' LIMIT 1",
                sequence
            ) { row throws(QueueError) in try row.textOrNil() ?? "a stored file is gone" }
            if let lost {
                try database.run("UPDATE sessions SET last_error = ? WHERE seq = ?", lost, sequence)
                try askCloud(sequence, lost)
            } else if try hasNothing(sequence) {
                try transition(sequence, .failedTerminally, terminal: .assetMissing)
                try database.run(
                    "UPDATE sessions SET last_error = (SELECT last_error FROM assets WHERE session_seq = ?1"
                        + " AND last_error IS NOT NULL ORDER BY ordinal LIMIT 1) WHERE seq = ?1", sequence)
            }
            return true
        case (.queuedOffline, _)?, (.failedRetryable, _)?:
            // A file that joined late is here: what waited for it goes on.
            try transition(sequence, .retryRequested)
            return false
        case (.failedTerminal, let reason?)?
        where [TerminalReason.assetMissing.rawValue, TerminalReason.assetCorrupt.rawValue].contains(reason):
            let damaged = try database.number(
                "SELECT 1 FROM assets WHERE session_seq = ? AND pull_state = 'damaged' LIMIT 1", sequence)
            guard damaged == nil, try !hasNothing(sequence) else { return false }
            try transition(sequence, .assetsRestored)
            return true
        default: return false
        }
    }

    /// Whether the session should have files and not one was to be had.
    func hasNothing(_ sequence: Int64) throws(QueueError) -> Bool {
        try database.number(
            "SELECT 1 FROM assets WHERE session_seq = ? GROUP BY session_seq"
                + " HAVING sum(pull_state <> 'unobtainable') = 0", sequence) != nil
    }

    /// Settles that an asset's bytes are not to be had; its session goes on without it. Says how many had come.
    func giveUp(_ asset: AssetID, _ reason: String) throws(QueueError) {
        let database = try database
        try database.run(
            "UPDATE assets SET pull_state = 'unobtainable', last_error = ?1 || iif(pulled_bytes > 0,"
                + " '; the ' || pulled_bytes || ' of ' || byte_size || ' bytes that had come are kept', '')"
                + " WHERE id = ?2 AND pull_state = 'wanted'", Self.bounded(reason), asset)
        guard let sequence = try database.number("SELECT session_seq FROM assets WHERE id = ?", asset) else {
            return
        }
        try sealIfComplete(sequence)
    }

    /// Settles that an asset's stored bytes are gone or changed: read again where the recorder still has
    /// them, otherwise damaged. A sealed session is `failed_terminal` until they are back.
    func lose(_ asset: AssetID, _ reason: TerminalReason, _ message: String) throws(QueueError) {
        let database = try database
        let found = try database.first(
            AssetRecord.query + "WHERE a.id = ?", asset
        ) { row throws(QueueError) in try AssetRecord(&row) }
        guard let found, found.pullState == .stored else { return }
        let session = try requireSession(found.sessionID)
        let isOver = session.state == .imported || session.state == .cancelled
        let next: PullState = found.recorderState == .present && !isOver ? .wanted : .damaged
        guard next == .damaged else {
            try database.run(ReconcileQueries.lose, next, message, asset)
            try database.run("UPDATE sessions SET last_error = ? WHERE seq = ?", message, session.sequence)
            guard session.state != .draft else { return }
            try transition(session.sequence, .failedTerminally, terminal: reason)
            active.remove(session.id)
            return
        }
        try declareLost(asset, session, reason, message)
    }

    /// Settles that nobody brings the asset's bytes any more, inside the caller's transaction. Its session fails, after the
    /// cloud was asked where it may have the file; not when it is over: the cloud has it then, or the user does not want
    /// it.
    func declareLost(
        _ asset: AssetID, _ session: SessionRecord, _ reason: TerminalReason, _ message: String
    ) throws(QueueError) {
        try database.run(ReconcileQueries.lose, PullState.damaged, message, asset)
        // What it has to be, where only its source has said so: the cloud may have that.
        try database.run(
            "UPDATE assets SET sha256 = announced_sha256 WHERE id = ? AND sha256 IS NULL"
                + " AND upload_state <> 'uploaded'", asset)
        guard session.state != .imported, session.state != .cancelled else { return }
        try database.run("UPDATE sessions SET last_error = ? WHERE seq = ?", message, session.sequence)
        active.remove(session.id)
        if session.state == .draft {
            guard try sealIfComplete(session.sequence) else { return }
        }
        if session.state != .failedTerminal, reason == .assetMissing || session.uploadBeganAt != nil {
            try transition(session.sequence, .attemptSuspended)
            try askCloud(session.sequence, message)
        } else {
            try settle(session.sequence, nil, [.upsert])
            try transition(session.sequence, .failedTerminally, terminal: reason)
        }
    }

    /// Has the cloud asked what it has of a session before anything else is done with it: what is gone here may have
    /// arrived there, unknown to a database that was lost or that is an older one. Until then the session is in doubt.
    func askCloud(_ sequence: Int64, _ reason: String) throws(QueueError) {
        // An open question is what makes the uploader look before it sends.
        try database.run(
            "INSERT INTO inflight (operation, session_seq, payload_digest, started_at, is_ambiguous, detail)"
                + " VALUES ('upsert', ?, '', ?, 1, ?) ON CONFLICT DO NOTHING", sequence, now,
            Self.bounded(reason))
        try database.run("UPDATE sessions SET next_try_at = NULL WHERE seq = ?", sequence)
    }
}
