extension Schema {
    /// Brings a database to the newest version, in one transaction per version; throws `foreignSchema` for
    /// a file of another program or of a newer version, and `corrupt` when SQLite finds it damaged.
    static func prepare(_ database: Database) throws(QueueError) {
        let version = try database.number("PRAGMA user_version") ?? 0
        let owner = try database.number("PRAGMA application_id") ?? 0
        let isEmpty = try database.number("SELECT count(*) FROM sqlite_schema") == 0
        guard owner == applicationID || (owner == 0 && version == 0 && isEmpty) else {
            throw QueueError(
                .foreignSchema, "queue.db is a database of another program",
                hint: "choose another state directory")
        }
        guard version <= migrations.count else {
            throw QueueError(
                .foreignSchema,
                "queue.db has schema version \(version), this celestiad knows up to \(migrations.count)",
                hint: "install the newer celestiad again")
        }
        for (index, sql) in migrations.enumerated() where index >= version {
            try database.transaction { () throws(QueueError) in
                try database.execute(sql)
                try database.execute("PRAGMA application_id = \(applicationID)")
                try database.execute("PRAGMA user_version = \(index + 1)")
            }
        }
    }

    /// Throws `corrupt` with SQLite's first finding.
    static func check(_ database: Database) throws(QueueError) {
        let finding = try database.first("PRAGMA quick_check(1)") { row throws(QueueError) in try row.text() }
        guard finding == "ok" else {
            throw QueueError(
                .corrupt, "queue.db is damaged: \(finding ?? "no answer")",
                hint: "nothing was changed; keep the whole state directory and restore queue.db")
        }
    }
}
