import FoundationEssentials

/// What the queue found and put right when it was opened.
package struct StartReport: Sendable, Equatable {
    /// Whether the database was made by this start.
    package var isNew = false
    /// Whether the last run ended in order.
    package var wasClean = true
    /// Sessions that were rebuilt from the spool because the database did not know them.
    package var adoptedSessions: [SessionID] = []
    /// Files that were complete in the spool, but not yet in the database.
    package var adoptedAssets: [AssetID] = []
    /// Assets whose stored file is gone or has another size.
    package var lostAssets: [AssetID] = []
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
    /// Whether every stored file was read again, because a flush had failed.
    package var verifiedContents = false
}

/// Bringing database and spool in line at start. Nothing with bytes of unknown worth is ever deleted.
extension CaptureQueue {
    func reconcile(wasClean: Bool, verifying: Bool) throws(QueueError) -> StartReport {
        var report = StartReport(wasClean: wasClean, verifiedContents: verifying)
        try restartSessions(&report)
        // After a stop in order, every row and file was in line; looking at a million files would only
        // delay the start.
        guard !wasClean || configuration.alwaysChecks else { return report }
        try spool.removeStaged()
        let (sessions, foreign) = try spool.sessions()
        report.foreign = foreign
        for session in sessions.sorted(by: { $0.text < $1.text }) { try reconcile(session, &report) }
        try findMissing(Set(sessions), &report)
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
        if try sessionRow(session) == nil {
            guard try adopt(session) else {
                // A kill before the description was in place leaves a directory with nothing in it.
                if try !spool.removeIfBare(session) { report.foreign.append(session.text) }
                return
            }
            report.adoptedSessions.append(session)
        }
        var present: Set<AssetID> = []
        for entry in try spool.entries(of: session) {
            switch entry {
            case .stored(let asset):
                present.insert(asset)
                try reconcile(asset, session, &report)
            case .part(let asset): try reconcilePart(asset, session, &report)
            case .temporary(let name): try spool.removeTemporary(session, name)
            case .foreign(let name): report.foreign.append("\(session)/\(name)")
            case .cancelled: try confirmCancelled(session)
            case .sidecar, .description, .damaged: break
            }
        }
        let stored = try storedAssets(of: session)
        for asset in stored where !present.contains(asset) { try noteMissing(asset, &report) }
    }

    /// Registers again what the session's description tells; false where that cannot be used.
    private func adopt(_ session: SessionID) throws(QueueError) -> Bool {
        guard let description = try spool.registration(of: session),
            SessionID(description.captureID) == session
        else { return false }
        do throws(QueueError) {
            _ = try register(description)
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

    /// A complete file: in line, to be adopted, to be removed after its receipt, or not ours.
    private func reconcile(
        _ id: AssetID, _ session: SessionID, _ report: inout StartReport
    ) throws(QueueError) {
        guard let asset = try asset(id), asset.sessionID == session else {
            report.foreign.append("\(session)/\(id)")
            return
        }
        switch asset.pullState {
        case .stored:
            do throws(QueueError) {
                let file = try spool.openStored(session, id, size: asset.byteSize)
                if report.verifiedContents, asset.uploadState != .uploaded,
                    try digest(of: file) != asset.sha256
                {
                    throw QueueError(
                        .assetCorrupt,
                        "the stored file of asset \(id) does not have the SHA-256 it was stored with")
                }
            } catch {
                guard error.code == .assetCorrupt || error.code == .assetMissing else { throw error }
                try spool.setAside(session, id)
                try change { _ throws(QueueError) in try lose(id, .assetCorrupt, error.message) }
                report.lostAssets.append(id)
            }
        case .wanted: try adopt(asset, &report)
        case .released: try spool.removeStored(session, id)
        case .unobtainable, .damaged: report.foreign.append("\(session)/\(id)")
        }
    }

    /// The crash came between rename and COMMIT: the file is believed only after it was hashed.
    private func adopt(_ asset: AssetRecord, _ report: inout StartReport) throws(QueueError) {
        let sidecar = try spool.sidecar(asset.sessionID, asset.id)
        let file = try? spool.openStored(asset.sessionID, asset.id, size: asset.byteSize)
        guard let file, let digest = try? digest(of: file), digest.hex == sidecar?.sha256 else {
            // Not what it should be: out of the way, and the source is asked again.
            try spool.setAside(asset.sessionID, asset.id)
            return
        }
        let now = now
        try change { _ throws(QueueError) in
            _ = try markStored(asset.id, digest, sidecar?.crc32, now)
        }
        report.adoptedAssets.append(asset.id)
    }

    /// The user discarded it, whatever became of the row that said so.
    private func confirmCancelled(_ id: SessionID) throws(QueueError) {
        let session = try requireSession(id)
        guard session.state != .cancelled, session.state != .imported else { return }
        try change { _ throws(QueueError) in try transition(session.sequence, .cancelRequested) }
    }

    private func digest(of file: AssetFile) throws(QueueError) -> SHA256Digest {
        let hasher = SHA256()
        var offset: Int64 = 0
        while let next = try file.hashPiece(at: offset, into: hasher) { offset = next }
        return hasher.digest()
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
        let sessions = try database.all(
            "SELECT id FROM sessions WHERE seq IN (SELECT session_seq FROM assets WHERE pull_state = 'stored')"
        ) { row throws(QueueError) in try row.sessionID() }
        for session in sessions where !seen.contains(session) {
            for asset in try storedAssets(of: session) { try noteMissing(asset, &report) }
        }
    }

    private func storedAssets(of session: SessionID) throws(QueueError) -> [AssetID] {
        try database.all(
            "SELECT id FROM assets WHERE pull_state = 'stored'"
                + " AND session_seq = (SELECT seq FROM sessions WHERE id = ?)", session
        ) { row throws(QueueError) in try row.assetID() }
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
