import Glibc

/// The data directory, and the lock that makes it ours for as long as this object lives.
final class StateDirectory {
    let path: String
    private let directory: Descriptor
    private let lock: InstanceLock

    var descriptor: Int32 { directory.raw }

    init(_ path: String) throws(QueueError) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw QueueError(.notWritable, FileSystem.failure("make the state directory \(path)").message)
        }
        self.path = path
        directory = try FileSystem.openDirectory(path)
        lock = try InstanceLock(directory: directory.raw)
    }
}

/// The open queue: its database and its spool.
final class Storage {
    let directory: StateDirectory
    let database: Database
    let spool: Spool
    let ballast: Ballast
    /// Whether the last run ended by `markClean`, with this very database.
    let wasClean: Bool
    /// Whether there was no database before.
    let isNew: Bool
    /// Whether the last run ended because a flush failed: what the files hold is not known.
    let wasSuspect: Bool

    private static let cleanFile = "queue.clean"
    private static let suspectFile = "queue.suspect"

    init(_ directory: StateDirectory, ballastBytes: Int64) throws(QueueError) {
        self.directory = directory
        try Self.prepareFile(directory.descriptor)
        let database = try Database(path: directory.path + "/queue.db")
        self.database = database
        ballast = Ballast(directory: directory, size: ballastBytes)
        do throws(QueueError) {
            isNew = try database.number("SELECT count(*) FROM sqlite_schema") == 0
            let names = Set(try FileSystem.names(in: directory.descriptor))
            try Schema.prepare(database, backups: names) { version throws(QueueError) in
                try Self.backUp(database, directory, version)
            }
            spool = try Spool(dataDirectory: directory.descriptor)
            wasSuspect = try FileSystem.status(at: directory.descriptor, Self.suspectFile) != nil
            let token = try database.first("SELECT value FROM meta WHERE key = 'clean_stop'") {
                row throws(QueueError) in try row.text()
            }
            // A database from another day, put back by somebody, has another token.
            wasClean = !wasSuspect && token != nil && token == Self.cleanToken(directory)
        } catch {
            if error.code == .corrupt { database.abandon() }
            throw error
        }
    }

    /// From now on a stop without `markClean` is a crash.
    func markDirty() throws(QueueError) {
        try database.run("DELETE FROM meta WHERE key = 'clean_stop'")
    }

    func markClean() throws(QueueError) {
        let token = String(UInt64.random(in: 0 ... .max), radix: 16)
        try FileSystem.replace(at: directory.descriptor, Self.cleanFile, with: Array(token.utf8))
        try FileSystem.sync(directory.descriptor)
        try database.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('clean_stop', ?)", token)
        database.close()
    }

    /// Leaves word for the next start that every file has to be read again. Only an attempt: the disk is failing.
    func markSuspect() {
        _ = try? FileSystem.open(at: directory.descriptor, Self.suspectFile, O_WRONLY | O_CREAT)
        try? FileSystem.sync(directory.descriptor)
    }

    /// Every file was read and found as it should be, or noted as lost.
    func clearSuspect() throws(QueueError) {
        try FileSystem.remove(at: directory.descriptor, Self.suspectFile)
    }

    /// The size of the database and its log.
    var databaseBytes: Int64 {
        ["queue.db", "queue.db-wal"].reduce(0) { sum, name in
            sum + ((try? FileSystem.status(at: directory.descriptor, name))?.map(\.size) ?? 0)
        }
    }

    /// The damaged databases that were moved aside and still lie here.
    var setAside: [String] { DamagedDatabase.all(in: directory) }

    private static func cleanToken(_ directory: StateDirectory) -> String? {
        (try? FileSystem.contents(at: directory.descriptor, cleanFile, limit: 64)).map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    /// Makes the database file with mode 0600 (SQLite would follow the umask) and refuses anything that is
    /// no plain file. Never opens an existing one: closing it again would drop SQLite's locks.
    private static func prepareFile(_ directory: Int32) throws(QueueError) {
        if let status = try FileSystem.status(at: directory, "queue.db") {
            guard status.isRegular else { throw QueueError(.notWritable, "queue.db is not a plain file") }
            return
        }
        _ = try FileSystem.open(at: directory, "queue.db", O_RDWR | O_CREAT | O_EXCL)
        try FileSystem.sync(directory)
    }

    /// Keeps the database as it is before its schema is changed, as `queue.db.before-v2` and so on: durable on return.
    private static func backUp(
        _ database: Database, _ directory: StateDirectory, _ version: Int64
    ) throws(QueueError) {
        let name = "queue.db.before-v\(version + 1)"
        let temporary = ".\(name).tmp"
        do throws(QueueError) {
            try FileSystem.remove(at: directory.descriptor, temporary)
            // Made here for its mode; SQLite takes an empty file for none.
            let file = try FileSystem.open(at: directory.descriptor, temporary, O_RDWR | O_CREAT | O_EXCL)
            try database.run("VACUUM INTO ?", "\(directory.path)/\(temporary)")
            try FileSystem.sync(file.raw)
            try FileSystem.rename(at: directory.descriptor, temporary, name)
            try FileSystem.sync(directory.descriptor)
        } catch {
            guard error.code != .corrupt else { throw error }
            try? FileSystem.remove(at: directory.descriptor, temporary)
            throw QueueError(
                error.code, "queue.db cannot be backed up before its update: \(error.message)",
                hint: error.hint ?? "nothing was changed")
        }
    }
}
