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
    /// What is wrong beside that.
    package let troubles: QueueTroubles
}

/// The disk: a part of it is never touched, and when it runs low only taking new files stops.
extension CaptureQueue {
    /// Changes what is kept free, and how long.
    package func reconfigure(_ change: @Sendable (inout QueueConfiguration) -> Void) {
        change(&configuration)
    }

    /// Free space that no pull and no import touches.
    func reserve(of space: FreeSpace) -> Int64 {
        max(configuration.reservedBytes, space.total / 100 * min(100, configuration.reservedPercent))
    }

    /// Throws when so many bytes would eat into the reserve, even after giving up what the cloud has and only is kept
    /// (which is given up only where that suffices): `lowSpace` where nothing at all fits, which holds the taking of files,
    /// and `doesNotFit` where smaller ones do. To be asked before anything is written for them, the database included.
    package func requireSpace(for bytes: Int64) throws(QueueError) {
        guard let space = try makeRoom(for: bytes) else { return }
        let reserve = reserve(of: space)
        let message = space.refusal(of: bytes, reserve: reserve)
        let hint = "free some space on the hub's disk; the source keeps the file"
        guard space.free > reserve else {
            try noteLowDisk(message)
            throw QueueError(.lowSpace, message, hint: hint)
        }
        if bytes > misfit?.bytes ?? 0 { misfit = Misfit(bytes: bytes, message: message, since: now) }
        throw QueueError(.doesNotFit, message, hint: hint)
    }

    /// Whether so many bytes would fit, if need be without what the cloud has and only is kept. Changes nothing.
    package func fits(_ bytes: Int64) throws(QueueError) -> Bool {
        guard let space = configuration.freeSpace(try spool.descriptor) else { return true }
        return try missing(for: bytes, space) <= (database.number(StorageQueries.kept) ?? 0)
    }

    /// Looks at the disk again: where it ran low, files are taken again once there is some room, and a file that did not
    /// fit once it does. Cheap. Returns true when either has just become so.
    package func reviewSpace() throws(QueueError) -> Bool {
        guard let space = configuration.freeSpace(try spool.descriptor) else { return false }
        let reserve = reserve(of: space)
        var hasRoom = false
        if try isHeldForSpace() {
            if try makeRoom(for: configuration.recoveredBytes) == nil {
                try releaseQueueHold(.lowDisk)
                hasRoom = true
            }
        } else if space.free < reserve {
            try noteLowDisk(
                "\(FreeSpace.words(space.free)) are free, \(FreeSpace.words(reserve)) are kept in reserve")
        }
        if let waiting = misfit, try fits(waiting.bytes) {
            misfit = nil
            hasRoom = true
        }
        let free = configuration.freeSpace(try spool.descriptor)?.free ?? 0
        if free - configuration.ballastBytes >= reserve { try opened.ballast.restore() }
        return hasRoom
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
        return StorageReport(
            space: space, reserve: reserve,
            ballast: try opened.ballast.held, lowSince: low, database: try opened.databaseBytes,
            stored: counts.storedBytes, unsent: counts.unsentBytes,
            kept: try database.number(StorageQueries.kept) ?? 0,
            nextRelease: next.map { Date(milliseconds: $0) },
            cancelled: try database.number(StorageQueries.cancelled) ?? 0,
            troubles: try troubles())
    }

    /// nil when so many bytes fit, after releasing kept files where that helps; the space as it is when they do not.
    private func makeRoom(for bytes: Int64) throws(QueueError) -> FreeSpace? {
        let descriptor = try spool.descriptor
        guard var space = configuration.freeSpace(descriptor) else { return nil }
        guard try fits(bytes) else { return space }
        while missing(for: bytes, space) > 0 {
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

    /// How many bytes too little is free for so many.
    private func missing(for bytes: Int64, _ space: FreeSpace) -> Int64 {
        bytes.addingReportingOverflow(reserve(of: space) - space.free).partialValue
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
