extension Schema {
    /// Brings a database to the newest version, in one transaction per version; throws `foreignSchema` for
    /// a file of another program or of a newer version, and `corrupt` when SQLite finds it damaged.
    ///
    /// `backups` are the names of the copies that lie beside it; `backUp` is called with the old version before a database that holds something is changed.
    static func prepare(
        _ database: Database, backups: Set<String> = [],
        backUp: (Int64) throws(QueueError) -> Void = { _ throws(QueueError) in }
    ) throws(QueueError) {
        let version = try database.number("PRAGMA user_version") ?? 0
        let owner = try database.number("PRAGMA application_id") ?? 0
        let isEmpty = try database.number("SELECT count(*) FROM sqlite_schema") == 0
        guard owner == applicationID || (owner == 0 && version == 0 && isEmpty) else {
            throw QueueError(
                .foreignSchema, "queue.db is a database of another program",
                hint: "choose another state directory")
        }
        guard version <= migrations.count else { throw newer(version, backups) }
        if version > 0, version < migrations.count { try backUp(version) }
        for (index, sql) in migrations.enumerated() where index >= version {
            try database.transaction { () throws(QueueError) in
                try database.execute(sql)
                try database.execute("PRAGMA application_id = \(applicationID)")
                try database.execute("PRAGMA user_version = \(index + 1)")
            }
            Failpoint.reach("after-migration")
        }
    }

    /// Folds the log into the database's file. A new or migrated one may have its version in the log alone otherwise, for as long
    /// as the service runs, and whoever reads the file's header, as debian/celestiad.preinst does, is told another one.
    ///
    /// It may stay undone where the file is busy or does not fit on the disk: what the log holds is durable.
    static func settle(_ database: Database) throws(QueueError) {
        do throws(QueueError) {
            try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        } catch {
            guard error.code == .diskFull || error.code == .alreadyInUse else { throw error }
        }
    }

    private static func newer(_ version: Int64, _ backups: Set<String>) -> QueueError {
        // The newest state that this version can read.
        let backup = (1...migrations.count).reversed().map { "queue.db.before-v\($0 + 1)" }
            .first { backups.contains($0) }
        return QueueError(
            .foreignSchema,
            "queue.db has schema version \(version), this celestiad knows up to \(migrations.count); "
                + "nothing was changed",
            hint: "install the newer celestiad again"
                + (backup.map {
                    "; going back loses what the newer one wrote (\($0) beside it is the state of before)"
                }
                    ?? ""))
    }

    /// Throws `corrupt` with SQLite's first finding.
    static func check(_ database: Database) throws(QueueError) {
        let finding = try database.first("PRAGMA quick_check(1)") { row throws(QueueError) in try row.text() }
        guard finding == "ok" else {
            throw QueueError(.corrupt, "queue.db is damaged: \(finding ?? "no answer")")
        }
        let orphan = try database.first("PRAGMA foreign_key_check") { row throws(QueueError) in
            try row.text()
        }
        if let orphan {
            throw QueueError(.corrupt, "queue.db is damaged: a row of \(orphan) refers to nothing")
        }
    }
}
