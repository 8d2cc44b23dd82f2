extension Schema {
    /// Version 5: whose a session is. What was queued while somebody was logged in goes to no other account, and a
    /// recorder's device id is that of an account, not of an address. And how a recorder was paired.
    static let version5 = [accounts, holds5, otherAccounts].joined(separator: "\n")

    private static let accounts = """
        CREATE TABLE accounts (
            host TEXT NOT NULL, account TEXT NOT NULL CHECK (length(account) BETWEEN 1 AND 256),
            name TEXT NOT NULL, is_current INTEGER NOT NULL,
            PRIMARY KEY (host, account)
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE sessions ADD COLUMN account TEXT;
        CREATE INDEX sessions_by_account ON sessions(target_host, account)
            WHERE state NOT IN ('imported', 'cancelled');
        CREATE TRIGGER sessions_account BEFORE UPDATE OF account ON sessions
            WHEN OLD.account IS NOT NULL AND NEW.account IS NOT OLD.account
        BEGIN SELECT RAISE(ABORT, 'the account of a session is immutable'); END;

        CREATE TABLE recorder_accounts (
            serial TEXT NOT NULL REFERENCES recorders(serial),
            host TEXT NOT NULL,
            account TEXT NOT NULL,
            device_id TEXT NOT NULL,
            bound_at INTEGER NOT NULL,
            PRIMARY KEY (serial, host, account)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO recorder_accounts SELECT serial, host, '', device_id, bound_at FROM recorder_bindings;
        DROP TABLE recorder_bindings;
        ALTER TABLE recorders ADD COLUMN unbound_account TEXT;
        ALTER TABLE recorders ADD COLUMN security TEXT CHECK (length(security) BETWEEN 1 AND 64);
        """

    /// The same table with one reason more: SQLite cannot change a CHECK.
    private static let holds5 = """
        CREATE TABLE holds5 (
            session_seq INTEGER NOT NULL REFERENCES sessions(seq),
            reason TEXT NOT NULL CHECK (reason IN ('quota', 'auth', 'conflict', 'paused', 'low_disk',
                'metered', 'clock', 'remote_deleted', 'ambiguous', 'rejected', 'other_account')),
            since INTEGER NOT NULL, until INTEGER, required_bytes INTEGER, detail TEXT,
            PRIMARY KEY (session_seq, reason)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO holds5 SELECT session_seq, reason, since, until, required_bytes, detail FROM holds;
        DROP TABLE holds;
        ALTER TABLE holds5 RENAME TO holds;
        CREATE INDEX holds_until ON holds(until) WHERE until IS NOT NULL;
        CREATE INDEX holds_by_reason ON holds(reason, since);
        CREATE TRIGGER holds_added AFTER INSERT ON holds
        BEGIN UPDATE sessions SET held = held + 1 WHERE seq = NEW.session_seq; END;
        CREATE TRIGGER holds_removed AFTER DELETE ON holds
        BEGIN UPDATE sessions SET held = held - 1 WHERE seq = OLD.session_seq; END;
        CREATE TRIGGER holds_counted AFTER INSERT ON holds
        BEGIN INSERT INTO hold_counts VALUES (NEW.reason, 1)
            ON CONFLICT (reason) DO UPDATE SET sessions = sessions + 1; END;
        CREATE TRIGGER holds_uncounted AFTER DELETE ON holds
        BEGIN UPDATE hold_counts SET sessions = sessions - 1 WHERE reason = OLD.reason; END;
        """

    /// Whatever makes a session ready to be sent, it waits while somebody else is logged in.
    private static let otherAccounts = """
        CREATE TRIGGER sessions_of_others AFTER UPDATE OF state ON sessions
            WHEN NEW.state = 'queued_offline' AND NEW.account IS NOT NULL
            AND EXISTS (SELECT 1 FROM accounts WHERE host = NEW.target_host AND is_current = 1
                AND account <> NEW.account)
        BEGIN INSERT INTO holds (session_seq, reason, since, detail)
            VALUES (NEW.seq, 'other_account', NEW.updated_at, \(AccountQueries.detail("NEW.")))
            ON CONFLICT DO NOTHING; END;
        """
}
