import FoundationEssentials
import Glibc

/// The durable queue: what was captured, where its bytes are, and what the cloud is known to hold.
///
/// Pinned to the executor that it is given, because SQLite and `fsync` block: never the cooperative pool,
/// never the event loop that serves the bus. Every method that changes something returns after the change
/// is durable. Errors are `QueueError`; after `storageSuspect` every change is refused until a restart.
package actor CaptureQueue {
    nonisolated private let executor: any SerialExecutor & Sendable
    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let configuration: QueueConfiguration
    private var storage: Storage?
    /// The failed flush after which nothing is changed any more.
    private var suspicion: QueueError?
    private var suspicionObservers: [AsyncStream<QueueError>.Continuation] = []
    /// The parts that are open for appending.
    var pulls: [AssetID: Pull] = [:]
    /// The sessions that the uploader has in hand; not offered again until it puts them down.
    var active: Set<SessionID> = []
    private var observers: [AsyncStream<Void>.Continuation] = []

    /// A queue that is not open yet; call `open` before anything else.
    package init(_ configuration: QueueConfiguration, executor: any SerialExecutor & Sendable) {
        self.configuration = configuration
        self.executor = executor
    }

    /// Takes the data directory, checks and migrates the database and brings it in line with the spool.
    ///
    /// Throws `alreadyInUse`, `notWritable`, `foreignSchema`, `corrupt`; then nothing was changed.
    package func open() throws(QueueError) -> StartReport {
        guard storage == nil else { throw QueueError(.alreadyInUse, "the queue is open already") }
        let opened = try Storage(configuration.directory)
        if !opened.wasClean || configuration.alwaysChecks { try Schema.check(opened.database) }
        try opened.markDirty()
        storage = opened
        do throws(QueueError) {
            var report = try reconcile(wasClean: opened.wasClean)
            report.isNew = opened.isNew
            try releaseDueBytes()
            return report
        } catch {
            storage = nil
            throw error
        }
    }

    /// Flushes what is being pulled and gives the data directory back. Safe to call twice.
    package func close() throws(QueueError) {
        guard let storage else { return }
        for asset in pulls.keys.sorted(by: { $0.text < $1.text }) { try? suspendPull(asset) }
        pulls = [:]
        for observer in observers { observer.finish() }
        observers = []
        for observer in suspicionObservers { observer.finish() }
        suspicionObservers = []
        self.storage = nil
        if suspicion == nil { try storage.markClean() }
    }

    /// A stream with one element after each change or burst of changes. Ends when the queue closes.
    package func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        observers.append(continuation)
        return stream
    }

    /// The failed flush after which the queue refuses every change: the daemon has to end, so that the next start
    /// verifies what there is. Ends without an element when the queue closes before that.
    package func suspicions() -> AsyncStream<QueueError> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: QueueError.self, bufferingPolicy: .bufferingOldest(1))
        if let suspicion { continuation.yield(suspicion) }
        suspicionObservers.append(continuation)
        return stream
    }

    var database: Database {
        get throws(QueueError) { try opened.database }
    }

    var spool: Spool {
        get throws(QueueError) { try opened.spool }
    }

    private var opened: Storage {
        get throws(QueueError) {
            guard let storage else { throw QueueError(.closed, "the queue is not open") }
            return storage
        }
    }

    var now: Date { configuration.now() }

    /// Runs a change: refused on suspect storage, one transaction, observers told afterwards.
    @discardableResult
    func change<T>(_ body: (Database) throws(QueueError) -> T) throws(QueueError) -> T {
        let database = try writable
        let value = try guarding { () throws(QueueError) in
            try database.transaction { () throws(QueueError) in try body(database) }
        }
        announce()
        return value
    }

    /// Runs disk work; a failed flush makes the storage suspect for good.
    func guarding<T>(_ body: () throws(QueueError) -> T) throws(QueueError) -> T {
        do throws(QueueError) {
            return try body()
        } catch {
            if error.code == .storageSuspect, suspicion == nil {
                suspicion = error
                for observer in suspicionObservers { observer.yield(error) }
            }
            throw error
        }
    }

    /// The database, unless a flush has failed since the start.
    var writable: Database {
        get throws(QueueError) {
            guard suspicion == nil else {
                throw QueueError(
                    .storageSuspect, "an earlier flush to the disk failed",
                    hint: "check the disk, then restart celestiad so that it verifies its files")
            }
            return try database
        }
    }

    func announce() {
        observers.removeAll { observer in
            if case .terminated = observer.yield() { true } else { false }
        }
    }
}

/// The open data directory: its lock, its database and its spool.
final class Storage {
    let database: Database
    let spool: Spool
    /// Whether the last run ended by `markClean`.
    let wasClean: Bool
    /// Whether there was no database before.
    let isNew: Bool
    // Held for its deinit: the directory is ours as long as this object lives.
    private let lock: InstanceLock

    init(_ path: String) throws(QueueError) {
        if mkdir(path, 0o700) != 0, errno != EEXIST {
            throw QueueError(.notWritable, FileSystem.failure("make the state directory \(path)").message)
        }
        let directory = try FileSystem.openDirectory(path)
        lock = try InstanceLock(directory: directory.raw)
        isNew = try Self.prepareFile(directory.raw)
        database = try Database(path: path + "/queue.db")
        try Schema.prepare(database)
        spool = try Spool(dataDirectory: directory.raw)
        wasClean = try database.number("SELECT 1 FROM meta WHERE key = 'clean_stop'") == 1
    }

    /// From now on a stop without `markClean` is a crash.
    func markDirty() throws(QueueError) {
        try database.run("DELETE FROM meta WHERE key = 'clean_stop'")
    }

    func markClean() throws(QueueError) {
        try database.run("INSERT OR REPLACE INTO meta (key, value) VALUES ('clean_stop', '1')")
        database.close()
    }

    /// Makes the database file with mode 0600 (SQLite would follow the umask) and refuses anything that is
    /// no plain file. Never opens an existing one: closing it again would drop SQLite's locks. Returns whether there
    /// was none.
    private static func prepareFile(_ directory: Int32) throws(QueueError) -> Bool {
        if let status = try FileSystem.status(at: directory, "queue.db") {
            guard status.isRegular else { throw QueueError(.notWritable, "queue.db is not a plain file") }
            return false
        }
        _ = try FileSystem.open(at: directory, "queue.db", O_RDWR | O_CREAT | O_EXCL)
        try FileSystem.sync(directory)
        return true
    }
}
