import CSQLite

/// One SQLite connection with a cache of prepared statements. Not shared between threads.
///
/// A failed statement is an error that carries SQLite's code and the statement's text, never its values.
final class Database {
    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    /// Opens (creating it when absent) the database at `path`, sole owner of the file until `close`.
    init(path: String) throws(QueueError) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK else { throw failure(code, "open") }
        try check(celestia_sqlite_harden(handle), "harden")
        // EXCLUSIVE comes before WAL: then there is no shared-memory file, and the WAL-reset race of
        // SQLite before 3.51.3 cannot happen. FULL, because NORMAL loses acknowledged commits in a
        // power cut.
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        let mode = try first("PRAGMA journal_mode = WAL") { row throws(QueueError) in try row.text() }
        guard mode == "wal" else {
            throw QueueError(.database, "the database cannot keep a write-ahead log (\(mode ?? "no answer"))")
        }
        for pragma in [
            "synchronous = FULL", "foreign_keys = ON", "journal_size_limit = 4194304", "cell_size_check = ON",
            "temp_store = MEMORY", "cache_size = -4096",
        ] {
            try execute("PRAGMA " + pragma)
        }
    }

    deinit { close() }

    /// Finalises every statement and closes the connection, which also folds the log into the database.
    func close() {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Closes without touching the files: a damaged database stays as it was found.
    func abandon() {
        celestia_sqlite_keep_log(handle)
        close()
    }

    /// Whether a failed statement has already rolled its transaction back (SQLITE_FULL and others do).
    private var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Runs `body` between BEGIN IMMEDIATE and COMMIT; its error rolls everything back.
    func transaction<T>(_ body: () throws(QueueError) -> T) throws(QueueError) -> T {
        guard !isInTransaction else { return try body() }
        try run("BEGIN IMMEDIATE")
        do throws(QueueError) {
            let value = try body()
            Failpoint.reach("before-commit")
            try run("COMMIT")
            Failpoint.reach("after-commit")
            return value
        } catch {
            if isInTransaction { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    /// Runs a statement that answers nothing; returns the number of rows it changed.
    @discardableResult
    func run(_ sql: String, _ values: any SQLConvertible...) throws(QueueError) -> Int {
        try step(sql, values) { _ throws(QueueError) in true }
        return Int(sqlite3_changes64(handle))
    }

    /// Runs a statement with as many values as the array has.
    func run(_ sql: String, values: [any SQLConvertible]) throws(QueueError) {
        try step(sql, values) { _ throws(QueueError) in true }
    }

    /// Every row of a query.
    func all<T>(
        _ sql: String, _ values: any SQLConvertible...,
        read: (inout RowReader) throws(QueueError) -> T
    ) throws(QueueError) -> [T] {
        var result: [T] = []
        try step(sql, values) { row throws(QueueError) in
            result.append(try read(&row))
            return true
        }
        return result
    }

    /// Shows each row of a query to `body`, as long as they can be read.
    func forEach(
        _ sql: String, _ body: (inout RowReader) throws(QueueError) -> Void
    ) throws(QueueError) {
        try step(sql, []) { row throws(QueueError) in
            try body(&row)
            return true
        }
    }

    /// The first row of a query, or nil.
    func first<T>(
        _ sql: String, _ values: any SQLConvertible...,
        read: (inout RowReader) throws(QueueError) -> T
    ) throws(QueueError) -> T? {
        var result: T?
        try step(sql, values) { row throws(QueueError) in
            result = try read(&row)
            return false
        }
        return result
    }

    /// A number that a query answers (a count, a key), or nil.
    func number(_ sql: String, _ values: any SQLConvertible...) throws(QueueError) -> Int64? {
        var result: Int64?
        try step(sql, values) { row throws(QueueError) in
            result = try row.int64OrNil()
            return false
        }
        return result
    }

    /// Runs several statements without values (schema, pragmas).
    func execute(_ sql: String) throws(QueueError) {
        try check(sqlite3_exec(handle, sql, nil, nil, nil), sql)
    }

    /// The key of the row that the last INSERT added.
    var lastInsertedKey: Int64 { sqlite3_last_insert_rowid(handle) }

    private func step(
        _ sql: String, _ values: [any SQLConvertible],
        _ row: (inout RowReader) throws(QueueError) -> Bool
    ) throws(QueueError) {
        let statement = try prepared(sql)
        // A statement left half-read would hold the log open and let it grow without bound.
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            try check(value.sqlValue.bind(to: statement, at: Int32(index + 1)), sql)
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                var reader = RowReader(statement: statement)
                guard try row(&reader) else { return }
            case SQLITE_DONE: return
            case let code: throw failure(code, sql)
            }
        }
    }

    private func prepared(_ sql: String) throws(QueueError) -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        guard let handle else { throw QueueError(.closed, "the queue is closed") }
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil), sql)
        guard let statement else { throw QueueError(.database, "an empty SQL statement") }
        statements[sql] = statement
        return statement
    }

    private func check(_ code: Int32, _ sql: String) throws(QueueError) {
        guard code == SQLITE_OK else { throw failure(code, sql) }
    }

    private func failure(_ code: Int32, _ sql: String) -> QueueError {
        let text = handle.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "no connection"
        let words = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let diagnosis = "SQLite error \(code), \(text), in: \(words.prefix(200))"
        func error(_ code: QueueError.Code, _ message: String, hint: String? = nil) -> QueueError {
            QueueError(code, message, hint: hint, diagnosis: diagnosis)
        }
        let restart = "restart celestiad so that it verifies its files"
        return switch code & 0xFF {
        case SQLITE_FULL: error(.diskFull, "the disk is full", hint: "free some space")
        case SQLITE_CORRUPT, SQLITE_NOTADB: error(.corrupt, "the queue's database is damaged (\(text))")
        case SQLITE_BUSY: error(.alreadyInUse, "the queue's database is open in another program")
        case SQLITE_IOERR
        where code == celestia_sqlite_ioerr_fsync || code == celestia_sqlite_ioerr_dir_fsync:
            error(.storageSuspect, "the queue's database cannot be flushed to the disk", hint: restart)
        case SQLITE_IOERR: error(.io, "the queue's database cannot be read or written (\(text))")
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM:
            error(.notWritable, "the queue's database cannot be written (\(text))")
        case SQLITE_CONSTRAINT:
            error(
                .illegalTransition, "the queue does not allow this; nothing was changed", hint: "see the log")
        default: error(.database, "the queue's database refused a statement", hint: "see the log")
        }
    }
}
