/// Reading every stored file again after a failed flush: in the background, because it may take hours.
extension CaptureQueue {
    /// Reads every stored file that the cloud does not have yet, where a flush has failed before, and returns those that
    /// are not what was stored: they are set aside, and their sessions show it. Suspends between pieces. Until it has
    /// ended no recorder is told to delete what only is in the queue. A file that cannot be read leaves all of it to
    /// the next start.
    package func verifyContents() async throws(QueueError) -> [AssetID] {
        guard isUnverified else { return [] }
        var lost: [AssetID] = []
        var isComplete = true
        var cursor: (Int64, Int64) = (0, -1)
        while true {
            let page = try database.all(VerificationQueries.page, cursor.0, cursor.1) {
                row throws(QueueError) in
                (try row.int64(), try row.int64(), try row.assetID())
            }
            for (session, ordinal, id) in page {
                cursor = (session, ordinal)
                switch try await verify(id) {
                case true?: break
                case false?: lost.append(id)
                case nil: isComplete = false
                }
            }
            if page.isEmpty { break }
        }
        guard isComplete else {
            needsLook = true
            return lost
        }
        try guarding { () throws(QueueError) in try opened.clearSuspect() }
        isUnverified = false
        return lost
    }

    /// nil where it cannot be read.
    private func verify(_ id: AssetID) async throws(QueueError) -> Bool? {
        guard let asset = try asset(id), asset.pullState == .stored else { return true }
        let finding: QueueError
        do throws(QueueError) {
            let file = try spool.openStored(asset.sessionID, id, size: asset.byteSize)
            guard try await Self.digest(of: file) != asset.sha256 else { return true }
            finding = QueueError(
                .assetCorrupt, "the stored file of asset \(id) does not have the SHA-256 it was stored with")
        } catch {
            guard error.code == .assetMissing || error.code == .assetCorrupt else { return nil }
            finding = error
        }
        // It may have been released meanwhile.
        guard try self.asset(id)?.pullState == .stored else { return true }
        try spool.setAside(asset.sessionID, id)
        let reason: TerminalReason = finding.code == .assetMissing ? .assetMissing : .assetCorrupt
        try change { _ throws(QueueError) in try lose(id, reason, finding.message) }
        return false
    }
}

enum VerificationQueries {
    static let page = """
        SELECT session_seq, ordinal, id FROM assets WHERE pull_state = 'stored' AND upload_state <> 'uploaded'
            AND (session_seq, ordinal) > (?, ?) ORDER BY session_seq, ordinal LIMIT 100
        """
}
