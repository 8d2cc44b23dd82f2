package import FoundationEssentials

/// Where the space of the queue's file system goes.
package struct StorageReportDocument: Sendable, Hashable, Codable {
    /// The file system, and whether files are taken.
    package var disk: DiskDocument?
    /// Since when no files are taken for want of space; absent while they are.
    package var lowSince: Date?
    /// The database and its log.
    package var databaseBytes: Int64
    /// Held for the queue's own notes when the disk is full.
    package var ballastBytes: Int64
    /// Files that are here, also those that are still being read.
    package var storedBytes: Int64
    /// Of those: not confirmed by the cloud yet.
    package var unsentBytes: Int64
    /// Of those: confirmed by the cloud and kept as configured; given up as soon as space is needed.
    package var keptBytes: Int64
    /// When the next of the kept ones go.
    package var nextRelease: Date?
    /// Of those: of cancelled sessions; `celestiad session purge` removes them.
    package var cancelledBytes: Int64
    /// Files that were stored and are gone or changed.
    package var damagedFiles: Int
    /// `ok`, or `degraded`: the database was damaged and made anew, and the damaged one still lies there; open.
    package var state: String
    /// The damaged databases that were set aside, by their paths.
    package var setAside: [String]

    package init(
        disk: DiskDocument? = nil, lowSince: Date? = nil, databaseBytes: Int64 = 0, ballastBytes: Int64 = 0,
        storedBytes: Int64 = 0, unsentBytes: Int64 = 0, keptBytes: Int64 = 0, nextRelease: Date? = nil,
        cancelledBytes: Int64 = 0, damagedFiles: Int = 0, state: String = "ok", setAside: [String] = []
    ) {
        self.disk = disk
        self.lowSince = lowSince
        self.databaseBytes = databaseBytes
        self.ballastBytes = ballastBytes
        self.storedBytes = storedBytes
        self.unsentBytes = unsentBytes
        self.keptBytes = keptBytes
        self.nextRelease = nextRelease
        self.cancelledBytes = cancelledBytes
        self.damagedFiles = damagedFiles
        self.state = state
        self.setAside = setAside
    }
}

/// What became of a file that was offered.
package struct ImportDocument: Sendable, Hashable, Codable {
    /// The session that has it.
    package var session: String
    /// `imported` for a new session, `known` when the queue had these bytes already; open.
    package var outcome: String

    package init(session: String, outcome: String) {
        self.session = session
        self.outcome = outcome
    }
}
