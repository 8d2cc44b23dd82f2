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

    var configuration: QueueConfiguration
    /// The newest login that was heard of, by host.
    var logins: [String: UInt64] = [:]
    /// What a database that was made anew did not know of; nil: not looked yet.
    var forgottenAccounts: [KnownAccount]?
    private var storage: Storage?
    /// The failed flush after which nothing is changed any more.
    private var suspicion: QueueError?
    private var suspicionObservers: [AsyncStream<QueueError>.Continuation] = []
    /// Whether the database was found damaged since the start: the next start has to look.
    private var isDamaged = false
    /// Whether the next start has to compare the database with the spool, even after a stop in order: something was not
    /// written down, or could not be read.
    var needsLook = false
    /// The sessions in the spool that have files but no description that can be read.
    var undescribed: Set<SessionID> = []
    /// Whether a flush has failed once and not every file was read again since.
    var isUnverified = false
    /// The largest file that did not fit on the disk; its source is asked again when it does.
    var misfit: Misfit?
    /// The parts that are open for appending.
    var pulls: [AssetID: Pull] = [:]
    /// The imports that are being copied.
    var imports: [Int: Import] = [:]
    var lastImport = 0
    /// The sessions that the uploader has in hand; not offered again until it puts them down.
    var active: Set<SessionID> = []
    private var observers: [AsyncStream<Void>.Continuation] = []
    /// A queue that is not open yet; call `open` before anything else.
    package init(_ configuration: QueueConfiguration, executor: any SerialExecutor & Sendable) {
        self.configuration = configuration
        self.executor = executor
    }

    /// Takes the data directory, checks and migrates the database and brings it in line with the spool. A damaged
    /// database is set aside, and the queue is made anew from what lies in the spool (`StartReport.setAside`).
    ///
    /// Throws `alreadyInUse`, `notWritable`, `foreignSchema`; then nothing was changed.
    package func open() throws(QueueError) -> StartReport {
        guard storage == nil else { throw QueueError(.alreadyInUse, "the queue is open already") }
        let directory = try StateDirectory(configuration.directory)
        let missing = try usingBallast(of: directory) { () throws(QueueError) in
            try DamagedDatabase.noteMissing(directory)
        }
        var finding = QueueError(.corrupt, "queue.db is damaged")
        // SQLite calls a read that failed once a damaged database, too: only what is damaged the second time is.
        for _ in 1...2 {
            do throws(QueueError) {
                var report = try open(directory, after: nil)
                report.setAside = missing
                return report
            } catch {
                guard error.code == .corrupt else { throw error }
                finding = error
            }
        }
        return try open(directory, after: try DamagedDatabase.setAside(directory, finding))
    }

    private func open(
        _ directory: StateDirectory, after damage: DamagedDatabase?
    ) throws(QueueError) -> StartReport {
        let opened = try openStorage(directory)
        do throws(QueueError) {
            if !opened.wasClean || configuration.alwaysChecks { try Schema.check(opened.database) }
            storage = opened
            needsLook = false
            try usingBallast { () throws(QueueError) in try opened.markDirty() }
            try Schema.settle(opened.database)
            damage?.salvage(directory, into: opened.database)
            isUnverified = opened.wasSuspect
            var report = try reconcile(wasClean: opened.wasClean)
            report.isNew = opened.isNew
            report.setAside = damage?.name
            report.finding = damage?.finding
            report.isUnverified = isUnverified
            try releaseDueBytes()
            _ = try reviewSpace()
            return report
        } catch {
            if error.code == .corrupt { opened.database.abandon() }
            storage = nil
            throw error
        }
    }

    /// On a disk that is full to the last byte SQLite cannot even open: the ballast is for that, too.
    private func openStorage(_ directory: StateDirectory) throws(QueueError) -> Storage {
        let size = configuration.ballastBytes
        return try usingBallast(of: directory) { () throws(QueueError) in
            try Storage(directory, ballastBytes: size)
        }
    }

    private func usingBallast<T>(
        of directory: StateDirectory, _ body: () throws(QueueError) -> T
    ) throws(QueueError) -> T {
        do throws(QueueError) {
            return try body()
        } catch {
            guard error.code == .diskFull,
                Ballast(directory: directory, size: configuration.ballastBytes).drop()
            else { throw error }
            return try body()
        }
    }

    /// Flushes what is being pulled and gives the data directory back. Safe to call twice.
    package func close() throws(QueueError) {
        guard let storage else { return }
        for asset in pulls.keys.sorted(by: { $0.text < $1.text }) { try? suspendPull(asset) }
        pulls = [:]
        for number in imports.keys { abandonImport(number) }
        for observer in observers { observer.finish() }
        observers = []
        for observer in suspicionObservers { observer.finish() }
        suspicionObservers = []
        self.storage = nil
        if suspicion == nil, !isDamaged, !needsLook { try storage.markClean() }
    }

    /// A stream with one element after each change or burst of changes. Ends when the queue closes.
    package func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        observers.append(continuation)
        return stream
    }

    /// The failed flush after which the queue refuses every change, or the damage that the database shows: the daemon has
    /// to end, so that the next start verifies what there is. Ends without an element when the queue closes before that.
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

    var opened: Storage {
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
            try usingBallast { () throws(QueueError) in
                try database.transaction { () throws(QueueError) in try body(database) }
            }
        }
        announce()
        return value
    }

    /// Runs a small write that has to succeed even on a full disk: once more after the ballast is gone. The failed
    /// attempt must have left nothing.
    func usingBallast<T>(_ body: () throws(QueueError) -> T) throws(QueueError) -> T {
        do throws(QueueError) {
            return try body()
        } catch {
            guard error.code == .diskFull, try opened.ballast.drop() else { throw error }
            return try body()
        }
    }

    /// Runs disk work; a failed flush makes the storage suspect for good.
    func guarding<T>(_ body: () throws(QueueError) -> T) throws(QueueError) -> T {
        do throws(QueueError) {
            return try body()
        } catch {
            if error.code == .storageSuspect, suspicion == nil {
                suspicion = error
                storage?.markSuspect()
                for observer in suspicionObservers { observer.yield(error) }
            }
            // The disk may be ahead of the database now, or behind it.
            switch error.code {
            case .io, .diskFull, .notWritable, .database, .alreadyInUse, .corrupt, .storageSuspect:
                needsLook = true
            default: break
            }
            if error.code == .corrupt, !isDamaged {
                isDamaged = true
                for observer in suspicionObservers { observer.yield(error) }
            }
            throw error
        }
    }

    /// Whether every change is refused, because a flush has failed.
    var isReadOnly: Bool { suspicion != nil }

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
