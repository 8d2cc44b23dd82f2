extension Schema {
    /// Version 4: what a user has discarded is not to be sent; counts of what waits, and for which host, that take no
    /// longer with 100,000 sessions; what is stored and what was refused without reading all the rest.
    static let version4 = [tallies, openSessions, holdCounts, indexes4].joined(separator: "\n")

    private static func isOpen(_ row: String) -> String {
        "(SELECT state <> 'cancelled' FROM sessions WHERE seq = \(row)session_seq)"
    }

    private static func sums(_ operation: String, _ row: String) -> String {
        """
        UPDATE tallies SET wanted_bytes = wanted_bytes \(operation) \(ByteTallies.wanted(row)) * \(isOpen(row)),
            stored_bytes = stored_bytes \(operation) \(ByteTallies.stored(row)),
            unsent_bytes = unsent_bytes \(operation) \(ByteTallies.unsent(row)) * \(isOpen(row)),
            unsent_files = unsent_files \(operation) \(ByteTallies.isUnsent(row)) * \(isOpen(row));
        """
    }

    private static let tallies = """
        DELETE FROM holds WHERE session_seq IN (SELECT seq FROM sessions WHERE state = 'cancelled');
        DROP TRIGGER assets_counted;
        DROP TRIGGER assets_recounted;
        UPDATE tallies SET (wanted_bytes, unsent_bytes, unsent_files) = (
            SELECT ifnull(sum(\(ByteTallies.wanted("a."))), 0), ifnull(sum(\(ByteTallies.unsent("a."))), 0),
                ifnull(sum(\(ByteTallies.isUnsent("a."))), 0)
            FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq WHERE s.state <> 'cancelled');
        CREATE TRIGGER assets_counted AFTER INSERT ON assets
        BEGIN \(sums("+", "NEW.")) END;
        CREATE TRIGGER assets_recounted AFTER UPDATE OF pull_state, pulled_bytes, upload_state, uploaded_bytes,
            exclusion ON assets
        BEGIN \(sums("-", "OLD.")) \(sums("+", "NEW.")) END;
        CREATE TRIGGER sessions_discarded AFTER UPDATE OF state ON sessions
            WHEN NEW.state = 'cancelled' AND OLD.state <> 'cancelled'
        BEGIN UPDATE tallies SET (wanted_bytes, unsent_bytes, unsent_files) = (
            SELECT wanted_bytes - ifnull(sum(\(ByteTallies.wanted("a."))), 0),
                unsent_bytes - ifnull(sum(\(ByteTallies.unsent("a."))), 0),
                unsent_files - ifnull(sum(\(ByteTallies.isUnsent("a."))), 0)
            FROM assets AS a WHERE a.session_seq = NEW.seq); END;
        """

    private static let sendable =
        "state IN ('queued_offline', 'uploading', 'awaiting_confirmation', 'failed_retryable')"

    private static func isFree(_ row: String) -> String { "(\(row)\(sendable) AND \(row)held = 0)" }
    private static func isHeld(_ row: String) -> String { "(\(row)\(sendable) AND \(row)held > 0)" }
    private static func isDraft(_ row: String) -> String { "(\(row)state = 'draft')" }
    private static func counts(_ row: String) -> String { "\(isFree(row)), \(isHeld(row)), \(isDraft(row))" }

    private static let openSessions = """
        CREATE TABLE open_sessions (
            target_host TEXT PRIMARY KEY, free INTEGER NOT NULL, held INTEGER NOT NULL, drafts INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        INSERT INTO open_sessions SELECT target_host, sum\(isFree("")), sum\(isHeld("")), sum\(isDraft(""))
            FROM sessions GROUP BY target_host;
        CREATE TRIGGER sessions_opened AFTER INSERT ON sessions
        BEGIN INSERT INTO open_sessions VALUES (NEW.target_host, \(counts("NEW.")))
            ON CONFLICT (target_host) DO UPDATE SET free = free + excluded.free, held = held + excluded.held,
                drafts = drafts + excluded.drafts; END;
        CREATE TRIGGER sessions_reopened AFTER UPDATE OF state, held, target_host ON sessions
            WHEN NEW.state <> OLD.state OR (NEW.held > 0) <> (OLD.held > 0) OR NEW.target_host <> OLD.target_host
        BEGIN UPDATE open_sessions SET free = free - \(isFree("OLD.")), held = held - \(isHeld("OLD.")),
                drafts = drafts - \(isDraft("OLD.")) WHERE target_host = OLD.target_host;
            INSERT INTO open_sessions VALUES (NEW.target_host, \(counts("NEW.")))
            ON CONFLICT (target_host) DO UPDATE SET free = free + excluded.free, held = held + excluded.held,
                drafts = drafts + excluded.drafts; END;
        """

    private static let holdCounts = """
        CREATE TABLE hold_counts (reason TEXT PRIMARY KEY, sessions INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        INSERT INTO hold_counts SELECT reason, count(*) FROM holds GROUP BY reason;
        CREATE TRIGGER holds_counted AFTER INSERT ON holds
        BEGIN INSERT INTO hold_counts VALUES (NEW.reason, 1)
            ON CONFLICT (reason) DO UPDATE SET sessions = sessions + 1; END;
        CREATE TRIGGER holds_uncounted AFTER DELETE ON holds
        BEGIN UPDATE hold_counts SET sessions = sessions - 1 WHERE reason = OLD.reason; END;
        DROP INDEX holds_by_reason;
        CREATE INDEX holds_by_reason ON holds(reason, since);
        """

    private static let indexes4 = """
        CREATE INDEX sessions_open ON sessions(target_host, seq) WHERE held = 0 AND \(sendable);
        CREATE INDEX assets_stored ON assets(session_seq, ordinal) WHERE pull_state = 'stored';
        CREATE INDEX taken_refused ON taken_files(taken_at) WHERE refusal IS NOT NULL;
        """
}
