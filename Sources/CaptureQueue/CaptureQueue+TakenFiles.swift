package import FoundationEssentials

/// A file of a watched folder that was dealt with.
package struct TakenFile: Sendable, Equatable {
    package var path: String
    package var size: Int64
    /// Nanoseconds since 1970.
    package var modified: Int64
    package var inode: UInt64

    package init(path: String, size: Int64, modified: Int64, inode: UInt64) {
        self.path = path
        self.size = size
        self.modified = modified
        self.inode = inode
    }
}

/// A file of a watched folder that is not taken, whenever it is offered as it is.
package struct RefusedFile: Sendable, Equatable {
    package let path: String
    /// Why.
    package let refusal: String
    package let since: Date
}

extension CaptureQueue {
    /// Whether the file, as it is now, was dealt with: it was refused for what it is, or its session is there and has not
    /// lost it.
    package func isTaken(_ file: TakenFile) throws(QueueError) -> Bool {
        try database.number(
            TakenQueries.isTaken, file.path, file.size, file.modified, Int64(bitPattern: file.inode)) != nil
    }

    /// Stores that the file was dealt with: taken as (a part of) a session, or refused for good.
    package func noteTaken(
        _ file: TakenFile, session: SessionID?, refusal: String? = nil
    ) throws(QueueError) {
        let now = now
        try change { database throws(QueueError) in
            try database.run(
                "INSERT OR REPLACE INTO taken_files (path, size, modified_ns, inode, session_id, refusal, taken_at)"
                    + " VALUES (?, ?, ?, ?, ?, ?, ?)",
                file.path, file.size, file.modified, Int64(bitPattern: file.inode), session,
                refusal.map(Self.bounded), now)
        }
    }

    /// The files that are not taken, the last first.
    package func refusedFiles(limit: Int = 100) throws(QueueError) -> [RefusedFile] {
        try database.all(TroubleQueries.refused, limit) { row throws(QueueError) in
            RefusedFile(path: try row.text(), refusal: try row.text(), since: try row.date())
        }
    }

    /// Forgets the files of a folder that are not there any more; `present` are the paths that are.
    package func forgetTaken(below folder: String, but present: Set<String>) throws(QueueError) {
        let known = try database.all(TakenQueries.below, folder + "/", folder + "0") {
            row throws(QueueError) in
            try row.text()
        }
        let gone = known.filter { !present.contains($0) }
        guard !gone.isEmpty else { return }
        try change { database throws(QueueError) in
            for path in gone { try database.run("DELETE FROM taken_files WHERE path = ?", path) }
        }
    }
}

enum TakenQueries {
    static let isTaken = """
        SELECT 1 FROM taken_files AS t WHERE path = ? AND size = ? AND modified_ns = ? AND inode = ?
            AND (refusal IS NOT NULL OR EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = t.session_id
                AND (s.state IN ('cancelled', 'imported') OR NOT EXISTS (SELECT 1 FROM assets AS a
                    WHERE a.session_seq = s.seq AND a.pull_state = 'damaged' AND a.upload_state <> 'uploaded'))))
        """
    /// A slash comes before a zero, and nothing between them.
    static let below = "SELECT path FROM taken_files WHERE path >= ? AND path < ?"
}
