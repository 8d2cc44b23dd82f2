package import FoundationEssentials

/// What of the queue needs somebody's attention, beyond its sessions' own states.
package struct QueueTroubles: Sendable, Equatable {
    /// The damaged databases that were set aside, or notes of a missing one, by the names of their files.
    package var setAside: [String] = []
    /// Sessions in the spool with files, but without a description that can be read.
    package var undescribed: [SessionID] = []
    /// Files that were stored and are gone or changed, and that neither the cloud has nor a user has discarded.
    package var damagedFiles = 0
    /// Why no files are taken for want of space; nil while they are.
    package var lowDisk: Hold?
    /// The largest file that did not fit, while smaller ones do.
    package var misfit: Misfit?
    /// Files of the watched folder that are not taken for what they are, and the last of them.
    package var refusedFiles = 0
    package var lastRefusal: RefusedFile?

    package init() {}
}

/// A file that did not fit on the disk.
package struct Misfit: Sendable, Equatable {
    package let bytes: Int64
    /// What is missing.
    package let message: String
    package let since: Date
}

extension CaptureQueue {
    /// What is wrong now. Cheap.
    package func troubles() throws(QueueError) -> QueueTroubles {
        var troubles = QueueTroubles()
        troubles.setAside = try opened.setAside
        troubles.undescribed = undescribed.sorted { $0.text < $1.text }
        troubles.damagedFiles = Int(clamping: try database.number(TroubleQueries.damaged) ?? 0)
        troubles.lowDisk = try queueHolds(host: "").first { $0.reason == .lowDisk }
        troubles.misfit = misfit
        troubles.refusedFiles = Int(clamping: try database.number(TroubleQueries.refusedCount) ?? 0)
        troubles.lastRefusal = try refusedFiles(limit: 1).first
        return troubles
    }
}

enum TroubleQueries {
    static let refusedCount =
        "SELECT count(*) FROM taken_files INDEXED BY taken_refused WHERE refusal IS NOT NULL"
    static let refused = """
        SELECT path, refusal, taken_at FROM taken_files INDEXED BY taken_refused WHERE refusal IS NOT NULL
        ORDER BY taken_at DESC LIMIT ?
        """
    static let damaged = """
        SELECT count(*) FROM assets AS a INDEXED BY assets_damaged JOIN sessions AS s ON s.seq = a.session_seq
        WHERE a.pull_state = 'damaged' AND a.upload_state <> 'uploaded'
            AND s.state NOT IN ('cancelled', 'imported')
        """
}
