import FoundationEssentials

/// Whose sessions are: what was queued for one account is sent to no other, whoever logs in meanwhile.
extension CaptureQueue {
    /// Says who is logged in at `host`: `account` is the user's id there, `name` what people call it. What nobody owns yet
    /// becomes this account's; what is another's waits (`other_account`), and what waited for this one goes on.
    /// `generation` counts logins up, so that who hears of an earlier one late changes nothing.
    /// Cheap when it is known already. Throws `invalidInput` for an account id that is empty or longer than 256 bytes.
    package func use(
        account: String, name: String, host: String, generation: UInt64 = 0
    ) throws(QueueError) {
        guard (1...256).contains(account.utf8.count), !account.utf8.contains(0) else {
            throw QueueError(.invalidInput, "the account's id is empty, too long or no text")
        }
        guard generation >= logins[host] ?? 0 else { return }
        logins[host] = generation
        let isCurrent = try database.number(AccountQueries.isCurrent, host, account, name) != nil
        let hasNews = try database.number(AccountQueries.hasUnclaimed, host) != nil
        guard !isCurrent || hasNews else { return }
        // Before anything is claimed: a queue that is made anew must not take two people for one.
        try noteAccount(KnownAccount(host: host, account: account, name: name))
        let inHand = active
        try change { database throws(QueueError) in
            for id in inHand {
                guard let session = try sessionRow(id), session.targetHost == host,
                    session.account != account
                else { continue }
                try transition(session.sequence, .held)
                active.remove(id)
            }
            try database.run(AccountQueries.leave, host)
            try database.run(AccountQueries.enter, host, account, name)
            try database.run(AccountQueries.claimSessions, host, account)
            try database.run(AccountQueries.claimRecorders, host, account)
            try database.run(
                "UPDATE OR REPLACE meta SET key = ? WHERE key = ?", checkpointKey(host, account),
                checkpointKey(host, nil))
            try database.run(AccountQueries.release, host, account)
            try database.run(AccountQueries.hold, host, account, now)
        }
    }

    /// Nobody is logged in at `host` any more: what is queued stays its account's, and what is recorded from here on
    /// belongs to whoever logs in next. `generation` is that of the login that ended.
    package func leaveAccount(host: String, after generation: UInt64 = 0) throws(QueueError) {
        if generation > 0 { logins[host] = max(logins[host] ?? 0, generation + 1) }
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

    // MARK: A queue that is made anew

    /// Whose a session is that the spool describes without an account: the one account that this hub ever used there. With
    /// several nobody knows, and it waits for its user. nil while there was none, or where the database was not lost.
    func accountOfRebuilt(host: String) throws(QueueError) -> String? {
        let known: [KnownAccount]
        if let forgottenAccounts { known = forgottenAccounts } else { known = try recallAccounts() }
        forgottenAccounts = known
        let ofHost = known.filter { $0.host == host }
        return ofHost.count > 1 ? Self.unknownAccount : ofHost.first?.account
    }

    /// Those that a database which was made anew knows nothing of.
    private func recallAccounts() throws(QueueError) -> [KnownAccount] {
        guard try database.number("SELECT 1 FROM accounts LIMIT 1") == nil else { return [] }
        let known = try knownAccounts()
        for account in known {
            try database.run(
                "INSERT INTO accounts (host, account, name, is_current) VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING",
                account.host, account.account, account.name)
        }
        return known
    }

    /// No account has it: ids have no spaces.
    private static let unknownAccount = "not known"

    /// An account that was used, kept beside the database.
    struct KnownAccount: Codable, Equatable {
        let host: String
        let account: String
        let name: String
    }

    private func noteAccount(_ account: KnownAccount) throws(QueueError) {
        var known = try knownAccounts()
        guard !known.contains(account) else { return }
        known.removeAll { $0.host == account.host && $0.account == account.account }
        known.append(account)
        let bytes = try Spool.encode(known)
        try guarding { () throws(QueueError) in
            try usingBallast { () throws(QueueError) in try spool.writeAccounts(bytes) }
        }
    }

    private func knownAccounts() throws(QueueError) -> [KnownAccount] {
        guard let bytes = try spool.readAccounts() else { return [] }
        return (try? JSONDecoder().decode([KnownAccount].self, from: Data(bytes))) ?? []
    }
}

enum AccountQueries {
    private static let isOpen = "state NOT IN ('imported', 'cancelled')"

    /// Why a session waits, as people read it; `row` is the session's, with a dot.
    static func detail(_ row: String) -> String {
        """
        'queued for ' || ifnull((SELECT a.name || CASE WHEN EXISTS (SELECT 1 FROM accounts AS b WHERE b.host = a.host
            AND b.name = a.name AND b.account <> a.account) THEN ' (' || a.account || ')' ELSE '' END
            FROM accounts AS a WHERE a.host = \(row)target_host AND a.account = \(row)account),
            'an account that is not known any more')
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
    static let claimOne = """
        UPDATE sessions SET account = (SELECT account FROM accounts WHERE host = target_host AND is_current = 1)
        WHERE seq = ? AND account IS NULL
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
    static let noteUnbound = """
        UPDATE recorders SET unbound_account = (SELECT account FROM accounts WHERE is_current = 1 LIMIT 1) WHERE serial = ?
        """
    /// When the account that is logged in did not want the recorder any more; also while nobody is.
    static let unbound = """
        CASE WHEN unbound_account IS NULL OR NOT EXISTS (SELECT 1 FROM accounts WHERE is_current = 1)
            OR EXISTS (SELECT 1 FROM accounts WHERE is_current = 1 AND account = unbound_account) THEN unbound_at END
        """
    static let others = """
        SELECT ifnull(a.name, 'another account') FROM recorder_accounts AS r LEFT JOIN accounts AS a
            ON a.host = r.host AND a.account = r.account
        WHERE r.serial = ? AND r.host = ? AND r.account <> '' AND ifnull(a.is_current, 0) = 0 ORDER BY 1
        """
}
