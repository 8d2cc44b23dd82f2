/// Whose sessions are: what was queued for one account is sent to no other, whoever logs in meanwhile.
extension CaptureQueue {
    /// Says who is logged in at `host`: `account` is the user's id there, `name` what people call it. What nobody owns yet
    /// becomes this account's; what is another's waits (`other_account`), and what waited for this one goes on.
    /// Cheap when it is known already. Throws `invalidInput` for an account id that is empty or longer than 256 bytes.
    package func use(account: String, name: String, host: String) throws(QueueError) {
        guard (1...256).contains(account.utf8.count) else {
            throw QueueError(.invalidInput, "the account's id is empty or too long")
        }
        let isCurrent = try database.number(AccountQueries.isCurrent, host, account, name) != nil
        let hasNews = try database.number(AccountQueries.hasUnclaimed, host) != nil
        guard !isCurrent || hasNews else { return }
        try change { database throws(QueueError) in
            try database.run(AccountQueries.leave, host)
            try database.run(AccountQueries.enter, host, account, name)
            try database.run(AccountQueries.claimSessions, host, account)
            try database.run(AccountQueries.claimRecorders, host, account)
            for id in active {
                guard let session = try sessionRow(id), session.targetHost == host,
                    let owner = session.account, owner != account
                else { continue }
                try transition(session.sequence, .held)
            }
            try database.run(AccountQueries.release, host, account)
            try database.run(AccountQueries.hold, host, account, now)
        }
        for id in active where try isHeld(id) { active.remove(id) }
    }

    /// Nobody is logged in at `host` any more: what is queued stays its account's, and what is recorded from here on
    /// belongs to whoever logs in next.
    package func leaveAccount(host: String) throws(QueueError) {
        guard try currentAccount(host: host) != nil else { return }
        try change { database throws(QueueError) in try database.run(AccountQueries.leave, host) }
    }

    /// The account that was last logged in at `host`, unless it logged out.
    package func currentAccount(host: String) throws(QueueError) -> String? {
        try database.first(AccountQueries.current, host) { row throws(QueueError) in try row.text() }
    }

    /// The names of the other accounts at `host` that have a recorder.
    package func otherAccounts(of serial: String, host: String) throws(QueueError) -> [String] {
        try database.all(AccountQueries.others, serial, host) { row throws(QueueError) in try row.text() }
    }

    private func isHeld(_ id: SessionID) throws(QueueError) -> Bool {
        try database.number("SELECT held FROM sessions WHERE id = ?", id) ?? 0 > 0
    }
}

enum AccountQueries {
    private static let isOpen = "state NOT IN ('imported', 'cancelled')"

    /// Why a session waits, as people read it; `row` is the session's, with a dot.
    static func detail(_ row: String) -> String {
        """
        'queued for ' || ifnull((SELECT name FROM accounts WHERE host = \(row)target_host AND account = \(row)account),
            'an account that was logged in before') || ', and ' || ifnull((SELECT name FROM accounts
            WHERE host = \(row)target_host AND is_current = 1), 'somebody else') || ' is logged in'
        """
    }

    static let isCurrent =
        "SELECT 1 FROM accounts WHERE host = ? AND account = ? AND name = ? AND is_current = 1"
    static let current = "SELECT account FROM accounts WHERE host = ? AND is_current = 1"
    static let hasUnclaimed = """
        SELECT 1 FROM sessions INDEXED BY sessions_by_account WHERE target_host = ?1 AND account IS NULL AND \(isOpen)
        UNION ALL SELECT 1 FROM recorder_accounts WHERE host = ?1 AND account = '' LIMIT 1
        """
    static let leave = "UPDATE accounts SET is_current = 0 WHERE host = ? AND is_current = 1"
    static let enter = """
        INSERT INTO accounts (host, account, name, is_current) VALUES (?, ?, ?, 1)
        ON CONFLICT (host, account) DO UPDATE SET name = excluded.name, is_current = 1
        """
    static let claimSessions = """
        UPDATE sessions INDEXED BY sessions_by_account SET account = ?2
        WHERE target_host = ?1 AND account IS NULL AND \(isOpen)
        """
    static let claimRecorders =
        "UPDATE OR REPLACE recorder_accounts SET account = ?2 WHERE host = ?1 AND account = ''"
    static let release = """
        DELETE FROM holds WHERE reason = 'other_account' AND session_seq IN (SELECT seq FROM sessions
            INDEXED BY sessions_by_account WHERE target_host = ?1 AND account = ?2 AND \(isOpen))
        """
    static let hold = """
        INSERT INTO holds (session_seq, reason, since, detail)
        SELECT s.seq, 'other_account', ?3, \(detail("s.")) FROM sessions AS s INDEXED BY sessions_by_account
        WHERE s.target_host = ?1 AND s.account IS NOT NULL AND s.account <> ?2 AND s.\(isOpen)
        ON CONFLICT (session_seq, reason) DO UPDATE SET detail = excluded.detail
        """
    static let others = """
        SELECT ifnull(a.name, 'another account') FROM recorder_accounts AS r LEFT JOIN accounts AS a
            ON a.host = r.host AND a.account = r.account
        WHERE r.serial = ? AND r.host = ? AND r.account <> '' AND ifnull(a.is_current, 0) = 0 ORDER BY 1
        """
}
