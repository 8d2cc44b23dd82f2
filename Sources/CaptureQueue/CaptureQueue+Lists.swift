import FoundationEssentials

/// Which sessions a list shows.
package enum SessionFilter: Sendable, Equatable {
    case all
    /// Held, failed for good, or with a request of unknown outcome.
    case attention
    case state(SessionState)
}

extension SessionFilter {
    fileprivate var state: SessionState? {
        if case .state(let state) = self { state } else { nil }
    }
}

extension CaptureQueue {
    /// One page of sessions, the newest first: of one recorder, where it is named. `before` is the cursor of the page
    /// before; `offset` skips so many, which costs a look at each of them.
    package func sessions(
        _ filter: SessionFilter = .all, recorder: String? = nil, before: Int64? = nil, offset: Int = 0,
        limit: Int = 100
    ) throws(QueueError) -> SessionPage {
        let limit = min(1000, max(1, limit))
        let sql = SessionQueries.page(filter, ofRecorder: recorder != nil)
        let rows = try database.all(sql, before ?? .max, filter.state, limit + 1, max(0, offset), recorder) {
            row throws(QueueError) in try SessionRecord(&row)
        }
        var summaries: [SessionSummary] = []
        for session in rows.prefix(limit) { summaries.append(try summary(session)) }
        return SessionPage(
            sessions: summaries, next: rows.count > limit ? summaries.last?.session.sequence : nil)
    }

    /// How many sessions match.
    package func sessionCount(
        _ filter: SessionFilter = .all, recorder: String? = nil
    ) throws(QueueError) -> Int {
        if recorder == nil, filter != .attention {
            let states = try counts().sessions
            guard let state = filter.state else { return states.values.reduce(0, +) }
            return states[state, default: 0]
        }
        let sql = SessionQueries.count(filter, ofRecorder: recorder != nil)
        let count = try database.number(sql, Int64.max, filter.state, 0, 0, recorder)
        return Int(clamping: count ?? 0)
    }

    /// A session with all that belongs to it; nil when there is none.
    package func session(_ id: SessionID) throws(QueueError) -> SessionDetail? {
        guard let session = try sessionRow(id) else { return nil }
        let database = try database
        let chain = try database.all(
            "SELECT step FROM provenance WHERE session_seq = ? ORDER BY ordinal", session.sequence
        ) { row throws(QueueError) in StringMap.decode(try row.text()) }
        let receipts = try database.all(
            Receipt.query + "WHERE r.session_seq = ? ORDER BY r.id", session.sequence
        ) { row throws(QueueError) in try Receipt(&row) }
        return SessionDetail(
            summary: try summary(session), assets: try assets(of: session.sequence),
            events: try eventRows(session.sequence), intents: try intentRows(session.sequence),
            receipts: receipts, provenanceChain: chain)
    }

    /// One asset; nil when there is none.
    package func asset(_ id: AssetID) throws(QueueError) -> AssetRecord? {
        try database.first(AssetRecord.query + "WHERE a.id = ?", id) { row throws(QueueError) in
            try AssetRecord(&row)
        }
    }

    /// The sessions whose id begins with `prefix` (lower-case hex and dashes), at most `limit`: for people
    /// who type the beginning of an id.
    package func sessions(idPrefix prefix: String, limit: Int = 2) throws(QueueError) -> [SessionID] {
        let prefix = prefix.lowercased()
        guard !prefix.isEmpty, prefix.utf8.allSatisfy({ Hex.isDigit($0) || $0 == UInt8(ascii: "-") }) else {
            return []
        }
        return try database.all(
            "SELECT id FROM sessions WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT ?2", prefix, limit
        ) { row throws(QueueError) in try row.sessionID() }
    }

    /// The session of ours that a session of the cloud came from.
    package func session(remoteID: String) throws(QueueError) -> SessionID? {
        try database.first("SELECT id FROM sessions WHERE remote_id = ? ORDER BY seq LIMIT 1", remoteID) {
            row throws(QueueError) in try row.sessionID()
        }
    }

    /// Sessions by state, and bytes under way.
    package func counts() throws(QueueError) -> QueueCounts {
        let database = try database
        let states = try database.all("SELECT state, sessions FROM state_counts WHERE sessions > 0") {
            row throws(QueueError) in (try row.value(SessionState.self), try row.int())
        }
        let bytes = try database.first(
            "SELECT wanted_bytes, stored_bytes, unsent_bytes, unsent_files FROM tallies"
        ) { row throws(QueueError) in (try row.int64(), try row.int64(), try row.int64(), try row.int()) }
        let ambiguous = try database.number(SessionQueries.ambiguous)
        return QueueCounts(
            sessions: Dictionary(uniqueKeysWithValues: states), wantedBytes: bytes?.0 ?? 0,
            storedBytes: bytes?.1 ?? 0, unsentBytes: bytes?.2 ?? 0,
            unsentFiles: bytes?.3 ?? 0, ambiguous: Int(clamping: ambiguous ?? 0))
    }

    private func assets(of sequence: Int64) throws(QueueError) -> [AssetRecord] {
        try database.all(AssetRecord.query + "WHERE a.session_seq = ? ORDER BY a.ordinal", sequence) {
            row throws(QueueError) in try AssetRecord(&row)
        }
    }

    private func summary(_ session: SessionRecord) throws(QueueError) -> SessionSummary {
        let database = try database
        let holds = try database.all(
            "SELECT \(Hold.columns) FROM holds WHERE session_seq = ? ORDER BY since, reason", session.sequence
        ) { row throws(QueueError) in try Hold(&row) }
        let doubt = try database.first(
            "SELECT detail FROM inflight WHERE session_seq = ? AND is_ambiguous = 1 ORDER BY id LIMIT 1",
            session.sequence
        ) { row throws(QueueError) in try row.textOrNil() ?? "the answer is not known" }
        return SessionSummary(
            session: session, holds: holds, progress: try progress(session), doubt: doubt)
    }

    private func progress(_ session: SessionRecord) throws(QueueError) -> SessionProgress {
        // What is being pulled right now is ahead of its journal.
        let live = pulls.values.filter { $0.sessionID == session.id }
            .reduce(Int64(0)) { $0 + max(0, $1.writer.length - $1.writer.journalled) }
        let row = try database.first(
            """
            SELECT count(*), ifnull(sum(byte_size), 0),
                ifnull(sum(pull_state IN ('stored', 'released')), 0), ifnull(sum(pulled_bytes), 0),
                ifnull(sum(upload_state = 'uploaded'), 0), ifnull(sum(uploaded_bytes), 0)
            FROM assets WHERE session_seq = ?
            """, session.sequence
        ) { row throws(QueueError) in
            SessionProgress(
                assets: try row.int(), totalBytes: try row.int64(), storedAssets: try row.int(),
                pulledBytes: try row.int64() + live, uploadedAssets: try row.int(),
                uploadedBytes: try row.int64())
        }
        guard let row else { throw QueueError(.corrupt, "a sum without a row") }
        return row
    }
}

/// The queries of lists: ?1 the cursor, ?2 the state, ?3 how many, ?4 how many to skip, ?5 the recorder.
enum SessionQueries {
    static func page(_ filter: SessionFilter, ofRecorder: Bool) -> String {
        """
        SELECT \(SessionRecord.columns) FROM sessions WHERE seq IN (SELECT seq FROM sessions
            WHERE \(condition(filter, ofRecorder)) ORDER BY seq DESC LIMIT ?3 OFFSET ?4) ORDER BY seq DESC
        """
    }

    /// What a user has discarded is looked up once, and needs nobody's attention.
    static let ambiguous = """
        SELECT count(*) FROM inflight AS i JOIN sessions AS s ON s.seq = i.session_seq
        WHERE i.is_ambiguous = 1 AND s.state <> 'cancelled'
        """

    static let discardedInDoubt = """
        SELECT \(SessionRecord.columns) FROM sessions WHERE seq IN (SELECT session_seq FROM inflight)
            AND state = 'cancelled' AND target_host = ?1 AND (account IS NULL
            OR account IN (SELECT account FROM accounts WHERE host = ?1 AND is_current = 1)) ORDER BY seq LIMIT ?2
        """

    static func count(_ filter: SessionFilter, ofRecorder: Bool) -> String {
        "SELECT count(*) + 0 * ifnull(?3, ?4) FROM sessions WHERE \(condition(filter, ofRecorder))"
    }

    private static func condition(_ filter: SessionFilter, _ isOfRecorder: Bool) -> String {
        // The unary plus keeps SQLite from walking the whole index of the other column.
        let recorder = isOfRecorder ? "recorder_serial = ?5" : "?5 IS NULL"
        let state =
            switch filter {
            case .all: "?2 IS NULL"
            case .state: isOfRecorder ? "+state = ?2" : "state = ?2"
            case .attention:
                """
                ?2 IS NULL AND seq IN (SELECT seq FROM sessions WHERE held > 0
                    UNION SELECT seq FROM sessions WHERE state = 'failed_terminal'
                    UNION SELECT session_seq FROM inflight AS i JOIN sessions AS s ON s.seq = i.session_seq
                        WHERE i.is_ambiguous = 1 AND s.state <> 'cancelled')
                """
            }
        return "seq < ?1 AND \(recorder) AND \(state)"
    }
}
