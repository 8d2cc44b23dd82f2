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
    /// Files that were stored and are gone or changed, and that the cloud does not have.
    package var damagedFiles: Int
    /// `ok`, or `degraded`: the database was damaged and made anew, and the damaged one still lies there; open.
    package var state: String
    /// The damaged databases that were set aside, and notes of a missing one, by their paths.
    package var setAside: [String]
    /// Why the largest file that was offered did not fit; absent while everything fits.
    package var misfit: String?
    /// Files of the watched folder that are not taken for what they are, the last first; at most 100.
    package var refused: [RefusedFileDocument]?
    /// Folders of sessions that have files, but no description that can be read, by their paths.
    package var undescribed: [String]?

    package init(
        disk: DiskDocument? = nil, lowSince: Date? = nil, databaseBytes: Int64 = 0, ballastBytes: Int64 = 0,
        storedBytes: Int64 = 0, unsentBytes: Int64 = 0, keptBytes: Int64 = 0, nextRelease: Date? = nil,
        cancelledBytes: Int64 = 0, damagedFiles: Int = 0, state: String = "ok", setAside: [String] = [],
        misfit: String? = nil, refused: [RefusedFileDocument]? = nil, undescribed: [String]? = nil
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
        self.misfit = misfit
        self.refused = refused?.isEmpty == false ? refused : nil
        self.undescribed = undescribed?.isEmpty == false ? undescribed : nil
    }
}

/// A file that is not taken.
package struct RefusedFileDocument: Sendable, Hashable, Codable {
    /// Where it lies; bytes that are no UTF-8 are written `\xNN`.
    package var path: String
    /// Why.
    package var reason: String
    /// When that was found out.
    package var since: Date

    package init(path: String, reason: String, since: Date) {
        self.path = path
        self.reason = reason
        self.since = since
    }
}

/// What became of a file that was offered.
package struct ImportDocument: Sendable, Hashable, Codable {
    /// The session that has it.
    package var session: String
    /// `imported` for a new session, `known` when the queue had these bytes already, `restored` when a session that had lost
    /// them has them again; open.
    package var outcome: String

    package init(session: String, outcome: String) {
        self.session = session
        self.outcome = outcome
    }
}
