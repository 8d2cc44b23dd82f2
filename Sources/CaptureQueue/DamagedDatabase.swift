import Glibc

/// A database that SQLite finds damaged: moved aside whole, never repaired in place and never deleted.
struct DamagedDatabase {
    /// The file's name now, in the state directory.
    let name: String
    /// What SQLite found.
    let finding: String

    private static let prefix = "queue.db.damaged-"
    private static let missingPrefix = "queue.db.missing-"

    /// Moves `queue.db` and what belongs to it out of the way; durable on return.
    static func setAside(_ directory: StateDirectory, _ error: QueueError) throws(QueueError)
        -> DamagedDatabase
    {
        var number = 1
        while try FileSystem.status(at: directory.descriptor, "\(prefix)\(number)") != nil { number += 1 }
        let name = "\(prefix)\(number)"
        // The log first: without its database it is nothing, but a new database must never find it.
        for suffix in ["-wal", "-shm", "-journal", ""]
        where try FileSystem.status(at: directory.descriptor, "queue.db" + suffix) != nil {
            try FileSystem.rename(at: directory.descriptor, "queue.db" + suffix, name + suffix)
        }
        try FileSystem.sync(directory.descriptor)
        return DamagedDatabase(name: name, finding: error.message)
    }

    /// The names of those that lie in the directory, and the notes of one that was missing.
    static func all(in directory: StateDirectory) -> [String] {
        let names = (try? FileSystem.names(in: directory.descriptor)) ?? []
        return names.filter { name in
            [prefix, missingPrefix].contains { name.hasPrefix($0) && Int(name.dropFirst($0.count)) != nil }
        }
        .sorted()
    }

    /// Leaves a note that there was no database although there are sessions in the spool: nothing else would tell it
    /// once there is one again. Returns its name; nil where nothing was missing. Durable on return.
    static func noteMissing(_ directory: StateDirectory) throws(QueueError) -> String? {
        let status = try FileSystem.status(at: directory.descriptor, "queue.db")
        guard status.map({ $0.isRegular && $0.size == 0 }) ?? true,
            try FileSystem.status(at: directory.descriptor, "queue.db-wal").map({ $0.size == 0 }) ?? true,
            let spool = try? Spool(dataDirectory: directory.descriptor),
            try !spool.sessions().known.isEmpty
        else { return nil }
        let name = missingPrefix + "1"
        let text =
            "queue.db was missing at a start of celestiad, and there were files in the spool: the queue was made anew of "
            + "them. Remove this note when you have taken note of it.\n"
        try FileSystem.replace(at: directory.descriptor, name, with: Array(text.utf8))
        try FileSystem.sync(directory.descriptor)
        return name
    }

    /// Copies into the new database what the spool does not tell and what can still be read: recorders, their bindings,
    /// and the hub's own notes. Whatever cannot be read is left out.
    func salvage(_ directory: StateDirectory, into database: Database) {
        guard let damaged = try? Database(path: "\(directory.path)/\(name)") else { return }
        defer { damaged.abandon() }
        for (table, columns, condition) in Self.salvaged {
            let count = columns.split(separator: ",").count
            let marks = Array(repeating: "?", count: count).joined(separator: ", ")
            let insert = "INSERT OR IGNORE INTO \(table) (\(columns)) VALUES (\(marks))"
            _ = try? damaged.forEach("SELECT \(columns) FROM \(table) WHERE \(condition)") {
                row throws(QueueError) in
                var values: [any SQLConvertible] = []
                for _ in 0..<count { values.append(row.any()) }
                // A row that breaks a rule of the schema is not worth more than none.
                try? database.run(insert, values: values)
            }
        }
    }

    private static let salvaged = [
        (
            "recorders",
            "serial, name, manufacturer, model, firmware, hardware, bluetooth_identity, storage_generation,"
                + " paired_at, last_seen_at, label, unbound_at", "1"
        ), ("recorder_bindings", "serial, host, device_id, bound_at", "1"),
        ("taken_files", "path, size, modified_ns, inode, session_id, refusal, taken_at", "1"),
        ("meta", "key, value", "key = 'hub_id' OR key LIKE 'last_checkpoint:%'"),
    ]
}
