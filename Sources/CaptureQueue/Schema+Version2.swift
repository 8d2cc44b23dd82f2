extension Schema {
    /// Version 2: counts and lists that take no longer with 100,000 sessions, moves to another host, and the files
    /// of watched folders that were dealt with.
    static let version2 = """
        CREATE TABLE state_counts (
            state TEXT PRIMARY KEY, sessions INTEGER NOT NULL CHECK (sessions >= 0)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO state_counts SELECT state, count(*) FROM sessions GROUP BY state;
        CREATE TRIGGER sessions_counted AFTER INSERT ON sessions
        BEGIN INSERT INTO state_counts VALUES (NEW.state, 1)
            ON CONFLICT (state) DO UPDATE SET sessions = sessions + 1; END;
        CREATE TRIGGER sessions_recounted AFTER UPDATE OF state ON sessions WHEN NEW.state <> OLD.state
        BEGIN UPDATE state_counts SET sessions = sessions - 1 WHERE state = OLD.state;
            INSERT INTO state_counts VALUES (NEW.state, 1)
            ON CONFLICT (state) DO UPDATE SET sessions = sessions + 1; END;

        CREATE INDEX sessions_by_recorder ON sessions(recorder_serial, seq);
        CREATE INDEX assets_damaged ON assets(session_seq) WHERE pull_state = 'damaged';

        ALTER TABLE sessions ADD COLUMN migrated_to TEXT;

        CREATE TABLE taken_files (
            path TEXT PRIMARY KEY,
            size INTEGER NOT NULL, modified_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
            session_id TEXT, refusal TEXT,
            taken_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """
}
