import Glibc

/// A database that SQLite finds damaged: moved aside whole, never repaired in place and never deleted.
struct DamagedDatabase {
    /// The file's name now, in the state directory.
    let name: String
    /// What SQLite found.
    let finding: String

    private static let prefix = "queue.db.damaged-"

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

    /// The names of those that lie in the directory.
    static func all(in directory: StateDirectory) -> [String] {
        let names = (try? FileSystem.names(in: directory.descriptor)) ?? []
        return names.filter { $0.hasPrefix(prefix) && Int($0.dropFirst(prefix.count)) != nil }.sorted()
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
