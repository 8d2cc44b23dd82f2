/// Moving a session to another host, or to another account there: always a new session, the old one is kept (contract, Host Selection).
extension CaptureQueue {
    /// Makes a session for `host` with the files of this one, and cancels this one. The new one has identities of its
    /// own, so the two never meet in a cloud; the bytes are shared on the disk, not copied. Asked again it returns the
    /// same session. What the old host has got already stays there.
    ///
    /// Throws `illegalTransition` for a session that is imported, cancelled, not complete here or being sent right now,
    /// `intentPending` while it is in doubt, and `invalidInput` when it is for that host already.
    package func migrate(_ id: SessionID, to host: String) throws(QueueError) -> SessionID {
        let account = try currentAccount(host: host)
        let known = try requireSession(id)
        // Another account of the same host is another place, too.
        let isSameHost = host == known.targetHost
        let new = Identity.migratedSession(id, to: isSameHost ? "\(host) \(account ?? "")" : host)
        if let newID = SessionID(new), try sessionRow(newID) != nil { return newID }
        let session = try require(id, notIn: [.draft, .imported, .cancelled], to: "be moved")
        if isSameHost, account == nil, session.account != nil {
            throw QueueError(
                .illegalTransition, "nobody is logged in to give session \(id) to", hint: "celestiad login")
        }
        guard !isSameHost || (account != nil && session.account != nil && account != session.account) else {
            throw QueueError(.invalidInput, "session \(id) is for \(host) already")
        }
        guard !active.contains(id), let detail = try self.session(id) else {
            throw QueueError(
                .illegalTransition, "session \(id) is being sent at the moment",
                hint: "celestiad session pause \(id)")
        }
        guard detail.intents.isEmpty else {
            throw QueueError(
                .intentPending,
                "it is not known yet what \(session.targetHost) has of session \(id), so it is not moved: it could be in "
                    + "both clouds",
                hint:
                    "set [Cloud] URL to that address, and log in to the account that it is for, until it is looked up; where that cannot be, celestiad session "
                    + "export \(id), import the files and cancel it")
        }
        if let absent = detail.assets.first(where: { ![.stored, .unobtainable].contains($0.pullState) }) {
            throw QueueError(
                .illegalTransition, "a file of session \(id) is not here (\(absent.pullState.rawValue))",
                hint: "a session is moved whole")
        }
        var registration = CaptureRegistration(moving: detail, to: host, as: new)
        registration.account = account
        let newID = try registration.validated()
        _ = try writable
        try guarding { () throws(QueueError) in
            let staged = try spool.stage()
            for asset in detail.assets where asset.pullState == .stored {
                let copy = Identity.asset(session: newID, sourceKey: asset.id.text)
                try spool.link(id, asset.id, into: staged, as: sidecar(of: asset, as: copy, in: newID))
            }
            try spool.publish(staged, registration, as: newID)
        }
        try change { _ throws(QueueError) in
            _ = try enter(registration, newID, isNew: true)
            for asset in detail.assets where asset.pullState == .stored {
                guard let digest = asset.sha256 else { continue }
                let copy = Identity.asset(session: newID, sourceKey: asset.id.text)
                _ = try markStored(copy, digest, asset.crc32, now)
            }
            try finishMigration(from: session.sequence, to: newID)
        }
        try? spool.markCancelled(id)
        return newID
    }

    /// The old session ends where the new one begins, inside the caller's transaction.
    func finishMigration(from sequence: Int64, to new: SessionID) throws(QueueError) {
        try database.run(
            "UPDATE sessions SET migrated_to = ?, last_error = ? WHERE seq = ?", new,
            "moved to another host as session \(new)", sequence)
        try transition(sequence, .cancelRequested)
    }

    private func sidecar(of asset: AssetRecord, as copy: AssetID, in session: SessionID) -> AssetSidecar {
        AssetSidecar(
            session: session.text, asset: copy.text, byteSize: asset.byteSize,
            sha256: asset.sha256?.hex ?? "",
            crc32: asset.crc32, storedAt: now.milliseconds)
    }
}

extension CaptureRegistration {
    /// A stored session as a new one for another host.
    fileprivate init(moving detail: SessionDetail, to host: String, as captureID: String) {
        let session = detail.summary.session
        let step = [
            "step": "moved to another host", "from": session.targetHost, "to": host,
            "session": session.id.text,
        ]
        self.init(
            captureID: captureID, sourceKind: session.sourceKind, origin: nil,
            originDeviceID: session.originDeviceID, isSalvaged: session.isSalvaged,
            migratedFrom: session.id.text,
            targetHost: host, title: session.title, startedAt: session.startedAt, endedAt: session.endedAt,
            durationMs: session.durationMs,
            assets: detail.assets.filter { $0.pullState == .stored }.map { asset in
                AssetRegistration(
                    kind: asset.kind, name: asset.originalName, mimeType: asset.mimeType,
                    byteSize: asset.byteSize,
                    sha256: asset.sha256?.hex, sourceKey: asset.id.text)
            },
            events: detail.events.filter { !$0.isDeleted }.map { event in
                EventRegistration(
                    id: event.id, relativeTimeMs: event.relativeTimeMs, type: event.type, text: event.text,
                    sourceKey: event.assetID?.text, voiceStartOffsetMs: event.voiceStartOffsetMs,
                    voiceEndOffsetMs: event.voiceEndOffsetMs)
            },
            provenance: ProvenanceSeed(
                deviceName: session.provenance.deviceName, deviceModel: session.provenance.deviceModel,
                appSurface: session.provenance.appSurface, sourcePathHint: session.provenance.sourcePathHint,
                image: session.provenance.image, chain: detail.provenanceChain + [step]))
    }
}
