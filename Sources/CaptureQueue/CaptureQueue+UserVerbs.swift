/// What users do to one session.
extension CaptureQueue {
    /// The user does not want it sent for now. Nothing changes for a session that is paused already. Throws
    /// `illegalTransition` for one that is imported, cancelled or failed for good.
    package func pause(_ id: SessionID) throws(QueueError) {
        try require(id, notIn: [.imported, .cancelled, .failedTerminal], to: "be paused")
        try hold(id, .paused, detail: "paused by the user")
    }

    /// Ends the user's pause, and the time that a failed session waits. No error when it is not paused.
    package func resume(_ id: SessionID) throws(QueueError) {
        try require(id, notIn: [.imported, .cancelled, .failedTerminal], to: "be resumed")
        try releaseHold(id, .paused)
    }

    /// The user wants to know what the cloud has of it: before anything else is sent the server is asked, and what it
    /// holds counts. Until then the session is shown as ambiguous. Returns false for a session that is imported: there
    /// is nothing to find out. Throws `illegalTransition` while it is being sent.
    package func requestReconcile(_ id: SessionID) throws(QueueError) -> Bool {
        let session = try require(id, notIn: [.draft, .cancelled], to: "be compared with the cloud")
        guard !active.contains(id) else {
            throw QueueError(
                .illegalTransition, "session \(id) is being sent at the moment",
                hint: "try again when it waits")
        }
        try requireOwnAccount(session)
        return try change { database throws(QueueError) in
            let actions = try transition(session.sequence, .retryRequested)
            guard !actions.contains(.suppress) else { return false }
            try database.run(
                "DELETE FROM holds WHERE session_seq = ? AND reason IN ('conflict', 'ambiguous', 'remote_deleted')",
                session.sequence)
            try askCloud(session.sequence, "the user asks what the cloud has")
            return true
        }
    }

    /// The user discards the session. Its bytes stay until `purge`, and a note beside them keeps it discarded even when
    /// the database is lost.
    package func cancel(_ id: SessionID) throws(QueueError) {
        let session = try require(id, notIn: [.imported], to: "be cancelled")
        _ = try writable
        try guarding { () throws(QueueError) in
            try usingBallast { () throws(QueueError) in try spool.markCancelled(id) }
        }
        try change { _ throws(QueueError) in try transition(session.sequence, .cancelRequested) }
        active.remove(id)
        for (asset, pull) in pulls where pull.sessionID == id { try suspendPull(asset) }
    }

    /// The sessions for `host` that the user has discarded while it was not known what the cloud has of them: that is looked
    /// up once, and nothing is sent.
    package func discardedInDoubt(host: String, limit: Int = 16) throws(QueueError) -> [SessionRecord] {
        try database.all(SessionQueries.discardedInDoubt, host, limit) { row throws(QueueError) in
            try SessionRecord(&row)
        }
    }

    /// Removes the bytes of a session that the user has cancelled. This loses them for good: the caller has
    /// asked the user. Its record stays, and so it is not taken again.
    package func purge(_ id: SessionID) throws(QueueError) {
        let session = try requireSession(id)
        guard session.state == .cancelled else {
            throw QueueError(
                .illegalTransition,
                "only a cancelled session can be purged, this one is \(session.state.words)",
                hint: "celestiad session cancel \(id)")
        }
        try release(session.sequence, id, isPurge: true)
    }

    /// Throws `illegalTransition` for what waits for another account: nothing that is asked of it now can be done.
    func requireOwnAccount(_ session: SessionRecord) throws(QueueError) {
        let detail = try database.first(
            "SELECT detail FROM holds WHERE session_seq = ? AND reason = 'other_account'", session.sequence
        ) { row throws(QueueError) in try row.textOrNil() }
        guard let detail, session.state != .imported else { return }
        throw QueueError(
            .illegalTransition,
            "session \(session.id) is \(detail ?? "another account's"), and another account is logged in",
            hint: HoldReason.otherAccount.clearedBy(session: session.id.text))
    }

    /// The session's row; throws `illegalTransition`, in words for a user, in one of these states.
    @discardableResult
    func require(
        _ id: SessionID, notIn states: Set<SessionState>, to verb: String
    ) throws(QueueError) -> SessionRecord {
        let session = try requireSession(id)
        guard states.contains(session.state) else { return session }
        let hint: String? =
            switch session.state {
            case .failedTerminal: "celestiad session retry \(id), or cancel"
            case .draft: "its files are not all here yet"
            case .cancelled:
                "its files can be copied: celestiad session export \(id); imported again they are a new session"
            default: nil
            }
        throw QueueError(
            .illegalTransition, "session \(id) is \(session.state.words) and cannot \(verb)", hint: hint)
    }
}
