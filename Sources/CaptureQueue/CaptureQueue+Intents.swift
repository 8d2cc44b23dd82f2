import FoundationEssentials

/// What the cloud says it holds of an asset.
package struct RemoteAsset: Sendable, Equatable {
    package let id: String
    package let clientID: String
    package let sizeBytes: Int64
    /// 64 hex digits, either case.
    package let sha256: String

    package init(id: String, clientID: String, sizeBytes: Int64, sha256: String) {
        self.id = id
        self.clientID = clientID
        self.sizeBytes = sizeBytes
        self.sha256 = sha256
    }
}

/// Intent before the network, proof after it (upload.md 3.3).
extension CaptureQueue {
    /// Writes down that a request is about to be sent. Throws `intentPending` when the outcome of an earlier
    /// one of the same kind is not known: settle that first, or `resendIntent` where that is safe.
    package func beginIntent(
        _ operation: UploadOperation, session id: SessionID, asset: AssetID? = nil, payloadDigest: String,
        baseRevision: Int64? = nil
    ) throws(QueueError) -> Intent {
        let session = try requireSession(id)
        let assetKey: Int64? = if let asset { try assetKey(asset, in: session) } else { nil }
        guard (operation == .upsert) == (asset == nil) else {
            throw QueueError(.invalidInput, "\(operation.rawValue) does not go with this subject")
        }
        let open = try database.number(
            "SELECT id FROM inflight WHERE session_seq = ?1 AND ifnull(asset_seq, 0) = ifnull(?2, 0)"
                + " AND operation = ?3", session.sequence, assetKey, operation)
        guard open == nil else {
            throw QueueError(
                .intentPending,
                "the outcome of an earlier \(operation.rawValue) of session \(id) is not known")
        }
        let now = now
        let key = try change { database throws(QueueError) in
            if operation == .complete {
                try noteLastByte(session, assetKey)
            } else {
                try goOnSending(session)
            }
            if asset != nil {
                try database.run("UPDATE assets SET upload_state = 'uploading' WHERE seq = ?", assetKey)
            }
            try database.run(
                "INSERT INTO inflight (operation, session_seq, asset_seq, payload_digest, base_revision,"
                    + " started_at) VALUES (?, ?, ?, ?, ?, ?)",
                operation, session.sequence, assetKey, payloadDigest, baseRevision, now)
            return database.lastInsertedKey
        }
        return try requireIntent(key)
    }

    /// Notes that the same request goes out once more (a `complete` may be sent again, C-68).
    package func resendIntent(_ id: Int64) throws(QueueError) -> Intent {
        try change { database throws(QueueError) in
            try database.run("UPDATE inflight SET attempts = attempts + 1 WHERE id = ?", id)
        }
        return try requireIntent(id)
    }

    /// Notes that the request may have reached the server although no answer came back: visible until it is
    /// settled by a commit or by `withdrawIntent`.
    package func markAmbiguous(_ id: Int64, detail: String) throws(QueueError) {
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE inflight SET is_ambiguous = 1, detail = ? WHERE id = ?", Self.bounded(detail), id)
        }
    }

    /// Settles that the request had no effect: it never left, was refused, or the server, asked, knows
    /// nothing of it.
    package func withdrawIntent(_ id: Int64) throws(QueueError) {
        try change { database throws(QueueError) in
            try database.run("DELETE FROM inflight WHERE id = ?", id)
        }
    }

    /// Stores that the cloud has the session's metadata: its id (never replaced later), the highest revision
    /// seen, the digest of what was sent, the server's view for a later merge. Deleted events that were
    /// named in the request are forgotten. Settles the open upsert intent, if there is one.
    package func commitUpsert(
        session id: SessionID, remoteID: String, revision: Int64, payloadDigest: String,
        snapshot: String? = nil, acknowledgedDeletions: [String] = []
    ) throws(QueueError) {
        let session = try requireSession(id)
        guard session.remoteID == nil || session.remoteID == remoteID else {
            throw QueueError(
                .identityClash, "the cloud answers with another id for session \(id)",
                hint: "nothing was changed; reconcile the session")
        }
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE sessions SET remote_id = ?2, synced_digest = ?3, base_snapshot = ?4, is_base_stale = 0"
                    + " WHERE seq = ?1", session.sequence, remoteID, payloadDigest, snapshot)
            try raiseRevision(session.sequence, revision)
            for event in acknowledgedDeletions {
                try database.run(
                    "DELETE FROM events WHERE session_seq = ? AND id = ? AND is_deleted = 1",
                    session.sequence, event)
            }
            try settle(session.sequence, nil, [.upsert])
        }
    }

    /// Stores what the server was seen to hold, without claiming that our metadata is in it: the session's
    /// id and revision, the snapshot to merge with.
    package func commitRemoteState(
        session id: SessionID, remoteID: String, revision: Int64, snapshot: String
    ) throws(QueueError) {
        let session = try requireSession(id)
        guard session.remoteID == nil || session.remoteID == remoteID else {
            throw QueueError(.identityClash, "the cloud lists session \(id) under another id")
        }
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE sessions SET remote_id = ?2, base_snapshot = ?3, is_base_stale = 0 WHERE seq = ?1",
                session.sequence, remoteID, snapshot)
            try raiseRevision(session.sequence, revision)
        }
    }

    /// Stores that the cloud holds an asset with our size and SHA-256, with its receipt; without a revision
    /// (a replay, C-34) the base counts as stale. Settles the asset's open intents and its chunked upload.
    ///
    /// Returns whether it was the session's last. Throws `receiptMismatch` when the server holds other
    /// bytes: the session is then held as `conflict`, nothing is released. Safe to repeat.
    @discardableResult
    package func commitAsset(
        _ id: AssetID, _ remote: RemoteAsset, sessionRevision: Int64?
    ) throws(QueueError) -> Bool {
        let asset = try requireAsset(id)
        let session = try requireSession(asset.sessionID)
        guard let digest = asset.sha256, remote.clientID == asset.clientID, !remote.id.isEmpty,
            remote.sizeBytes == asset.byteSize, SHA256Digest(hex: remote.sha256) == digest
        else {
            let message = "the cloud holds other bytes or another identity for asset \(id)"
            // A session that was cancelled or has failed meanwhile waits already.
            if ![.cancelled, .failedTerminal, .imported].contains(session.state) {
                try hold(session.id, .conflict, detail: message)
            }
            throw QueueError(
                .receiptMismatch, message, hint: HoldReason.conflict.clearedBy(session: session.id.text))
        }
        let now = now
        return try change { database throws(QueueError) in
            let key = try assetKey(id, in: session)
            if asset.uploadState != .uploaded {
                try storeReceipt(asset, remote, digest, (session.sequence, key), now)
            }
            try database.run("DELETE FROM uploads WHERE asset_seq = ?", key)
            try settle(session.sequence, key, [.asset, .initialise, .complete])
            try database.run(
                "UPDATE sessions SET retry_count = 0, is_base_stale = max(is_base_stale, ?) WHERE seq = ?",
                sessionRevision == nil, session.sequence)
            if let sessionRevision { try raiseRevision(session.sequence, sessionRevision) }
            return try noteLastAsset(session.id)
        }
    }

    private func storeReceipt(
        _ asset: AssetRecord, _ remote: RemoteAsset, _ digest: SHA256Digest, _ keys: (Int64, Int64),
        _ now: Date
    ) throws(QueueError) {
        let database = try database
        try database.run(
            "UPDATE assets SET upload_state = 'uploaded', uploaded_bytes = byte_size, remote_asset_id = ?2,"
                + " remote_receipt_id = ?2, uploaded_at = ?3, last_error = NULL WHERE seq = ?1",
            keys.1, remote.id, now)
        try database.run(
            "INSERT INTO receipts (session_seq, asset_seq, remote_id, client_id, sha256, byte_size,"
                + " committed_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            keys.0, keys.1, remote.id, asset.clientID, digest, asset.byteSize, now)
    }

    /// Settles intents: their outcome is stored in the same transaction.
    func settle(
        _ sequence: Int64, _ asset: Int64?, _ operations: [UploadOperation]
    ) throws(QueueError) {
        for operation in operations {
            try database.run(
                "DELETE FROM inflight WHERE session_seq = ?1 AND ifnull(asset_seq, 0) = ifnull(?2, 0)"
                    + " AND operation = ?3", sequence, asset, operation)
        }
    }

    /// The asset's key, after checking that it belongs to the session.
    func assetKey(_ id: AssetID, in session: SessionRecord) throws(QueueError) -> Int64 {
        let key = try database.number(
            "SELECT seq FROM assets WHERE id = ? AND session_seq = ?", id, session.sequence)
        guard let key else { throw QueueError(.notFound, "session \(session.id) has no asset \(id)") }
        return key
    }

    /// Back from `awaiting_confirmation` to `uploading`: something has to be sent after all.
    func goOnSending(_ session: SessionRecord) throws(QueueError) {
        guard session.state == .awaitingConfirmation, active.contains(session.id) else { return }
        try transition(session.sequence, .notOnServer)
        try transition(session.sequence, .attemptStarted)
    }

    private func requireIntent(_ id: Int64) throws(QueueError) -> Intent {
        let intent = try database.first(Intent.query + "WHERE i.id = ?", id) { row throws(QueueError) in
            try Intent(&row)
        }
        guard let intent else { throw QueueError(.notFound, "there is no such intent") }
        return intent
    }

    private func raiseRevision(_ sequence: Int64, _ revision: Int64) throws(QueueError) {
        try database.run(
            "UPDATE sessions SET revision = max(ifnull(revision, ?2), ?2) WHERE seq = ?1", sequence, revision)
    }

    /// The merge of the last open asset is about to be asked for: every byte is sent.
    private func noteLastByte(_ session: SessionRecord, _ asset: Int64?) throws(QueueError) {
        let others = try database.number(
            "SELECT 1 FROM assets WHERE session_seq = ? AND seq <> ? AND exclusion IS NULL"
                + " AND pull_state <> 'unobtainable' AND upload_state <> 'uploaded' LIMIT 1",
            session.sequence, asset)
        if others == nil, session.state == .uploading { try transition(session.sequence, .bytesSent) }
    }

    private func noteLastAsset(_ id: SessionID) throws(QueueError) -> Bool {
        let session = try requireSession(id)
        let open = try isToBeSent(session.sequence)
        if !open, session.state == .uploading { try transition(session.sequence, .bytesSent) }
        return !open
    }
}
