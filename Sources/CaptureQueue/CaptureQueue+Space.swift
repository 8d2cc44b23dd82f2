package import FoundationEssentials

/// Where the space of the queue's file system goes.
package struct StorageReport: Sendable, Equatable {
    /// The file system; nil when it cannot be told.
    package let space: FreeSpace?
    /// What is kept free: no file is taken that would go below it.
    package let reserve: Int64
    /// Held in a file for the queue's own notes when the disk is full.
    package let ballast: Int64
    /// Since when no files are taken for want of space; nil while they are.
    package let lowSince: Date?
    /// `queue.db` and its log.
    package let database: Int64
    /// Bytes of files here, also of those that are still being read.
    package let stored: Int64
    /// Of those: not confirmed by the cloud yet.
    package let unsent: Int64
    /// Of those: confirmed by the cloud and kept as configured; given up when space is needed.
    package let kept: Int64
    /// When the next of the kept ones go.
    package let nextRelease: Date?
    /// Of those: discarded by the user; `purge` removes them.
    package let cancelled: Int64
    /// Files that were stored and are gone or changed.
    package let damagedFiles: Int
    /// Damaged databases that were set aside, by the names of their files.
    package let setAside: [String]
}

/// The disk: a part of it is never touched, and when it runs low only taking new files stops.
extension CaptureQueue {
    /// Free space that no pull and no import touches.
    func reserve(of space: FreeSpace) -> Int64 {
        max(configuration.reservedBytes, space.total / 100 * min(100, configuration.reservedPercent))
    }

    /// Throws `lowSpace` when so many bytes would eat into the reserve, after giving up what the cloud has and only is
    /// kept. To be asked before anything is written for them, the database included. Says so as a hold of the queue.
    package func requireSpace(for bytes: Int64) throws(QueueError) {
        guard let space = try makeRoom(for: bytes) else { return }
        let reserve = reserve(of: space)
        missingSpace = max(missingSpace ?? 0, bytes)
        let message = space.refusal(of: bytes, reserve: reserve)
        try noteLowDisk(message)
        throw QueueError(
            .lowSpace, message,
            hint: "free some space on the hub's disk; nothing is lost, the source keeps the file")
    }

    /// Looks at the disk again: where it ran low, files are taken again once there is room for the largest that had to
    /// wait. Cheap. Returns true when that has just become so.
    package func reviewSpace() throws(QueueError) -> Bool {
        guard let space = configuration.freeSpace(try spool.descriptor) else { return false }
        let reserve = reserve(of: space)
        if try isHeldForSpace() {
            let wanted = max(missingSpace ?? 0, configuration.recoveredBytes)
            guard try makeRoom(for: wanted) == nil else { return false }
            missingSpace = nil
            try opened.ballast.restore()
            try releaseQueueHold(.lowDisk)
            return true
        }
        if space.free < reserve {
            try noteLowDisk("\(space.free) bytes are free, \(reserve) are kept in reserve")
        } else if space.free - configuration.ballastBytes >= reserve {
            try opened.ballast.restore()
        }
        return false
    }

    /// Whether no files are taken for want of space.
    package func isHeldForSpace() throws(QueueError) -> Bool {
        try database.number("SELECT 1 FROM queue_holds WHERE reason = 'low_disk' AND host = ''") != nil
    }

    /// Where the space goes.
    package func storageReport() throws(QueueError) -> StorageReport {
        let database = try database
        let counts = try counts()
        let space = configuration.freeSpace(try spool.descriptor)
        let low = try database.first(
            "SELECT since FROM queue_holds WHERE reason = 'low_disk' AND host = ''"
        ) { row throws(QueueError) in try row.date() }
        let reserve = if let space { reserve(of: space) } else { configuration.reservedBytes }
        let next = try database.number("SELECT min(release_at) FROM sessions WHERE release_at IS NOT NULL")
        let damaged = try database.number("SELECT count(*) FROM assets WHERE pull_state = 'damaged'")
        return StorageReport(
            space: space, reserve: reserve,
            ballast: try opened.ballast.held, lowSince: low, database: try opened.databaseBytes,
            stored: counts.storedBytes, unsent: counts.unsentBytes,
            kept: try database.number(StorageQueries.kept) ?? 0,
            nextRelease: next.map { Date(milliseconds: $0) },
            cancelled: try database.number(StorageQueries.cancelled) ?? 0,
            damagedFiles: Int(clamping: damaged ?? 0),
            setAside: try opened.setAside)
    }

    /// The damaged databases that lie in the state directory: as long as there is one, the queue counts as degraded.
    package func setAsideDatabases() throws(QueueError) -> [String] { try opened.setAside }

    /// nil when so many bytes fit, after releasing kept files where that helps; the space as it is when they do not.
    private func makeRoom(for bytes: Int64) throws(QueueError) -> FreeSpace? {
        let descriptor = try spool.descriptor
        guard var space = configuration.freeSpace(descriptor) else { return nil }
        while space.free - bytes < reserve(of: space) {
            let oldest = try database.first(StorageQueries.oldestKept) { row throws(QueueError) in
                (try row.int64(), try row.sessionID())
            }
            guard let oldest, !isReadOnly else { return space }
            try release(oldest.0, oldest.1)
            guard let now = configuration.freeSpace(descriptor) else { return nil }
            space = now
        }
        return nil
    }

    private func noteLowDisk(_ detail: String) throws(QueueError) {
        guard try !isHeldForSpace() else { return }
        try holdQueue(.lowDisk, detail: detail)
    }
}

enum StorageQueries {
    /// What the cloud has and is kept only for a while, the oldest first.
    static let oldestKept = """
        SELECT seq, id FROM sessions INDEXED BY sessions_release
        WHERE release_at IS NOT NULL AND state = 'imported' ORDER BY release_at LIMIT 1
        """
    static let kept = """
        SELECT ifnull(sum(a.byte_size), 0) FROM sessions AS s INDEXED BY sessions_release
        JOIN assets AS a ON a.session_seq = s.seq
        WHERE s.release_at IS NOT NULL AND a.pull_state = 'stored'
        """
    static let cancelled = """
        SELECT ifnull(sum(a.pulled_bytes), 0) FROM sessions AS s INDEXED BY sessions_by_state
        JOIN assets AS a ON a.session_seq = s.seq
        WHERE s.state = 'cancelled' AND a.pull_state IN ('stored', 'wanted')
        """
}
