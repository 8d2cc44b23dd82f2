import FoundationEssentials

/// What the queue found and put right when it was opened.
package struct StartReport: Sendable, Equatable {
    /// Whether the database was made by this start.
    package var isNew = false
    /// Whether the last run ended in order.
    package var wasClean = true
    /// Sessions that were rebuilt from the spool because the database did not know them.
    package var adoptedSessions: [SessionID] = []
    /// Files that are in place in the spool and were not so by the database: a commit was missing, or somebody put them
    /// back.
    package var adoptedAssets: [AssetID] = []
    /// Assets whose stored file is gone or changed.
    package var lostAssets: [AssetID] = []
    /// Assets whose file could not be read this time; nothing is concluded from that.
    package var unreadAssets: [AssetID] = []
    /// Directories of sessions that have files but no description that can be read.
    package var undescribed: [SessionID] = []
    /// Parts that belonged to nothing, removed: their source still has the file.
    package var removedParts = 0
    /// Requests whose outcome is not known.
    package var ambiguous = 0
    /// Names in the spool that are not the queue's; left alone.
    package var foreign: [String] = []
    /// The file that holds the damaged database, when there was one and the queue was made anew from the spool.
    package var setAside: String?
    /// What was found wrong with it.
    package var finding: String?
    /// Whether a flush had failed before, so that every stored file has to be read again (`verifyContents`).
    package var isUnverified = false
}

/// Bringing database and spool in line at start. Nothing with bytes of unknown worth is ever deleted.
extension CaptureQueue {
    func reconcile(wasClean: Bool) throws(QueueError) -> StartReport {
        var report = StartReport(wasClean: wasClean)
        try restartSessions(&report)
        // After a stop in order, every row and file was in line; looking at a million files would only
        // delay the start.
        guard !wasClean || configuration.alwaysChecks else { return report }
        try spool.removeStaged()
        let (sessions, foreign) = try spool.sessions()
        report.foreign = foreign
        for session in sessions.sorted(by: { $0.text < $1.text }) { try reconcile(session, &report) }
        try findMissing(Set(sessions), &report)
        undescribed = Set(report.undescribed)
        // What could not be concluded this time is looked at again next time, even after a stop in order.
        if !report.unreadAssets.isEmpty || !undescribed.isEmpty { needsLook = true }
        return report
    }

    private func restartSessions(_ report: inout StartReport) throws(QueueError) {
        let interrupted = try database.all(
            "SELECT seq FROM sessions WHERE state IN ('uploading', 'awaiting_confirmation')"
        ) { row throws(QueueError) in try row.int64() }
        report.ambiguous = try change { database throws(QueueError) in
            for sequence in interrupted { try transition(sequence, .restarted) }
            try database.run(
                "UPDATE inflight SET is_ambiguous = 1, detail = 'celestiad stopped before the answer'"
                    + " WHERE is_ambiguous = 0")
            return Int(clamping: try database.number("SELECT count(*) FROM inflight") ?? 0)
        }
    }

    private func reconcile(_ session: SessionID, _ report: inout StartReport) throws(QueueError) {
        let entries = try spool.entries(of: session)
        let isRebuilt = try sessionRow(session) == nil
        if isRebuilt {
            guard try adopt(session) else { return try noteUndescribed(session, entries, &report) }
            report.adoptedSessions.append(session)
        }
        // First, because what became of its files means less.
        if entries.contains(.cancelled) { try confirmCancelled(session) }
        var present: Set<AssetID> = []
        var setAside: Set<AssetID> = []
        for entry in entries {
            switch entry {
            case .stored(let asset):
                present.insert(asset)
                if try reconcile(asset, session, &report) == false { setAside.insert(asset) }
            case .part(let asset): try reconcilePart(asset, session, &report)
            case .temporary(let name): try spool.removeTemporary(session, name)
            case .foreign(let name): report.foreign.append("\(session)/\(name)")
            case .damaged(let asset): setAside.insert(asset)
            case .sidecar, .description, .cancelled: break
            }
        }
        for asset in try storedAssets(of: session) where !present.contains(asset) {
            try noteMissing(asset, &report)
        }
        try giveUpAbsent(session, setAside: setAside, isRebuilt: isRebuilt, &report)
    }

    /// Nobody brings what is wanted and comes from no recorder; and of what is rebuilt, a file that was set aside was
    /// known to be damaged before the database was lost.
    private func giveUpAbsent(
        _ id: SessionID, setAside: Set<AssetID>, isRebuilt: Bool, _ report: inout StartReport
    ) throws(QueueError) {
        guard let session = try sessionRow(id) else { return }
        let wanted = try database.all(ReconcileQueries.wanted, session.sequence) { row throws(QueueError) in
            (try row.assetID(), try row.value(RecorderObjectState.self))
        }
        for (asset, recorder) in wanted where !report.unreadAssets.contains(asset) {
            guard recorder == .none || (isRebuilt && setAside.contains(asset)) else { continue }
            let isChanged = setAside.contains(asset)
            try change { _ throws(QueueError) in
                if session.state == .cancelled, !isChanged {
                    // The user had it removed.
                    try database.run("UPDATE assets SET pull_state = 'released' WHERE id = ?", asset)
                } else {
                    try declareLost(
                        asset, session, isChanged ? .assetCorrupt : .assetMissing,
                        isChanged
                            ? "the file of asset \(asset) is not what was stored; what there is was set aside"
                            : "the file of asset \(asset) is gone")
                }
            }
            if session.state != .cancelled { report.lostAssets.append(asset) }
        }
    }

    /// Takes into the queue what lies in the directory of a session that has just got its row.
    func takeFiles(of id: SessionID) throws(QueueError) {
        undescribed.remove(id)
        var report = StartReport()
        for case .stored(let asset) in try spool.entries(of: id) { _ = try reconcile(asset, id, &report) }
    }

    /// A directory that tells nothing of its session. One with nothing in it is what a kill leaves before the description
    /// is in place.
    private func noteUndescribed(
        _ session: SessionID, _ entries: [SpoolEntry], _ report: inout StartReport
    ) throws(QueueError) {
        let hasFiles = entries.contains { entry in
            switch entry {
            case .stored, .part, .damaged: true
            case .sidecar, .description, .cancelled, .temporary, .foreign: false
            }
        }
        if hasFiles {
            report.undescribed.append(session)
        } else if try !spool.removeIfBare(session) {
            report.foreign.append(session.text)
        }
    }

    /// Registers again what the session's description tells; false where that cannot be used.
    private func adopt(_ session: SessionID) throws(QueueError) -> Bool {
        guard let description = try spool.registration(of: session),
            SessionID(description.captureID) == session
        else { return false }
        do throws(QueueError) {
            _ = try register(description, isRebuilding: true)
            if let old = description.migratedFrom.flatMap(SessionID.init) {
                try endMigrated(old, to: session)
            }
            return true
        } catch {
            guard error.code == .invalidInput || error.code == .identityClash else { throw error }
            return false
        }
    }

    /// The crash came between the new session's files and the COMMIT that ends the old one.
    private func endMigrated(_ id: SessionID, to new: SessionID) throws(QueueError) {
        guard let old = try sessionRow(id), old.migratedTo == nil, old.state != .imported else { return }
        try change { _ throws(QueueError) in try finishMigration(from: old.sequence, to: new) }
    }

    /// A complete file: in line, to be adopted, to be removed after its receipt, or not ours. Returns false when it was set
    /// aside.
    private func reconcile(
        _ id: AssetID, _ session: SessionID, _ report: inout StartReport
    ) throws(QueueError) -> Bool {
        guard let asset = try asset(id), asset.sessionID == session else {
            report.foreign.append("\(session)/\(id)")
            return true
        }
        switch asset.pullState {
        case .stored:
            do throws(QueueError) {
                _ = try spool.openStored(session, id, size: asset.byteSize)
            } catch {
                guard error.code == .assetCorrupt || error.code == .assetMissing else {
                    report.unreadAssets.append(id)
                    return true
                }
                try spool.setAside(session, id)
                try change { _ throws(QueueError) in try lose(id, .assetCorrupt, error.message) }
                report.lostAssets.append(id)
            }
        case .wanted, .damaged, .unobtainable: return try adopt(asset, &report)
        case .released: try spool.removeStored(session, id)
        }
        return true
    }

    /// The crash came between rename and COMMIT, the row is a new one, or somebody put the file back: it is believed only
    /// after it was hashed. Returns false when it was set aside.
    private func adopt(_ asset: AssetRecord, _ report: inout StartReport) throws(QueueError) -> Bool {
        let session = try requireSession(asset.sessionID)
        let spool = try spool
        switch spool.inspect(asset.sessionID, asset.id, size: asset.byteSize) {
        case .unread: report.unreadAssets.append(asset.id)
        case .digest(let digest) where try isKnown(digest, of: asset):
            guard asset.pullState == .wanted || session.state != .imported else { break }
            let crc32 = spool.sidecar(asset.sessionID, asset.id)?.crc32 ?? asset.crc32
            let now = now
            try change { _ throws(QueueError) in
                try wantAgain(asset.id)
                _ = try markStored(asset.id, digest, crc32, now)
            }
            report.adoptedAssets.append(asset.id)
        case .digest, .harmed:
            // Not what it should be: out of the way, and the source is asked again where there is one.
            try spool.setAside(asset.sessionID, asset.id)
            return false
        }
        return true
    }

    /// Whether the asset is known to have this digest: by its source, by the database, or by what was written beside it.
    func isKnown(_ digest: SHA256Digest, of asset: AssetRecord) throws(QueueError) -> Bool {
        if digest == asset.sha256 { return true }
        if try announcedDigest(of: asset.id) == digest { return true }
        guard asset.sha256 == nil else { return false }
        return digest.hex == (try spool).sidecar(asset.sessionID, asset.id)?.sha256
    }

    /// Counts the asset as wanted again, so that it can be stored, inside the caller's transaction.
    func wantAgain(_ id: AssetID) throws(QueueError) {
        try database.run(
            "UPDATE assets SET pull_state = 'wanted', pulled_bytes = 0, last_error = NULL WHERE id = ?"
                + " AND pull_state IN ('wanted', 'damaged', 'unobtainable')", id)
    }

    /// The user discarded it, whatever became of the row that said so.
    private func confirmCancelled(_ id: SessionID) throws(QueueError) {
        let session = try requireSession(id)
        guard session.state != .cancelled, session.state != .imported else { return }
        try change { _ throws(QueueError) in try transition(session.sequence, .cancelRequested) }
    }

    private func reconcilePart(
        _ id: AssetID, _ session: SessionID, _ report: inout StartReport
    ) throws(QueueError) {
        let asset = try asset(id)
        if let asset, asset.sessionID == session {
            // A part of what the source does not have any more may be all that is left of it.
            guard ![.wanted, .unobtainable].contains(asset.pullState) else { return }
        }
        try spool.removePart(session, id)
        report.removedParts += 1
    }

    private func findMissing(_ seen: Set<SessionID>, _ report: inout StartReport) throws(QueueError) {
        let sessions = try database.all(ReconcileQueries.stored) { row throws(QueueError) in
            try row.sessionID()
        }
        for session in sessions where !seen.contains(session) {
            for asset in try storedAssets(of: session) { try noteMissing(asset, &report) }
        }
    }

    private func storedAssets(of session: SessionID) throws(QueueError) -> [AssetID] {
        try database.all(ReconcileQueries.storedInSession, session) { row throws(QueueError) in
            try row.assetID()
        }
    }

    private func noteMissing(_ id: AssetID, _ report: inout StartReport) throws(QueueError) {
        guard let asset = try asset(id) else { return }
        let session = try requireSession(asset.sessionID)
        if session.state == .imported {
            // The crash came between unlink and COMMIT of a release.
            try change { database throws(QueueError) in
                try database.run("UPDATE assets SET pull_state = 'released' WHERE id = ?", id)
            }
        } else {
            try change { _ throws(QueueError) in
                try lose(id, .assetMissing, "the stored file of asset \(id) is gone")
            }
            report.lostAssets.append(id)
        }
    }
}

enum ReconcileQueries {
    static let stored = """
        SELECT id FROM sessions WHERE seq IN (SELECT session_seq FROM assets WHERE pull_state = 'stored')
        """
    static let storedInSession = """
        SELECT id FROM assets WHERE pull_state = 'stored'
            AND session_seq = (SELECT seq FROM sessions WHERE id = ?)
        """
    static let lose = """
        UPDATE assets SET pull_state = ?, pulled_bytes = 0, stored_at = NULL, last_error = ? WHERE id = ?
        """
    static let wanted =
        "SELECT id, recorder_state FROM assets WHERE session_seq = ? AND pull_state = 'wanted'"
}
