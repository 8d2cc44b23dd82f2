import FoundationEssentials

/// An asset that a recorder still has to give.
package struct WantedAsset: Sendable, Equatable {
    package let id: AssetID
    package let sessionID: SessionID
    /// The object's id on the recorder, lower-case hex.
    package let objectID: String
    package let kind: AssetKind
    /// The announced size; exactly so many bytes make the asset complete.
    package let byteSize: Int64
    /// The announced SHA-256.
    package let sha256: SHA256Digest?
    /// Bytes that are durable here; the pull goes on from there.
    package let pulledBytes: Int64
    /// How often pulling it has failed.
    package let failures: Int
}

/// A stored asset.
package struct StoredAsset: Sendable, Equatable {
    package let id: AssetID
    package let sha256: SHA256Digest
    /// Whether it was the session's last: the session is `queued_offline` now.
    package let isSessionSealed: Bool
    /// Whether the SHA-256 is the announced one, where one was announced.
    package let isAsAnnounced: Bool
}

/// A part that is open for appending.
struct Pull {
    let sessionID: SessionID
    let byteSize: Int64
    let announced: SHA256Digest?
    let writer: PartWriter
}

extension CaptureQueue {
    /// What this recorder still has to give, oldest capture first, files in the capture's order.
    package func wantedAssets(
        recorder serial: String, storageGeneration: UInt32, limit: Int = 4096
    ) throws(QueueError) -> [WantedAsset] {
        return try database.all(PullQueries.wanted, serial, storageGeneration, limit) {
            row throws(QueueError) in
            WantedAsset(
                id: try row.assetID(), sessionID: try row.sessionID(), objectID: try row.text(),
                kind: try row.value(), byteSize: try row.int64(), sha256: try row.digestOrNil(),
                pulledBytes: try row.int64(), failures: try row.int())
        }
    }

    /// Opens the asset's part and returns the offset to go on from: what was journalled, or less where the
    /// file is shorter. The held prefix is read once, hashed again and shown to `prefix` piece by piece (for
    /// the recorder's checksum over the same bytes; called on the queue's executor, must not block).
    ///
    /// Throws `lowSpace` when the rest would eat into the reserve, `illegalTransition` when the asset is not
    /// wanted or is being pulled already. Suspends between pieces, so that other work is not held up.
    package func beginPull(
        _ id: AssetID, prefix: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) async throws(QueueError) -> Int64 {
        let asset = try requireAsset(id)
        _ = try writable
        guard asset.pullState == .wanted, pulls[id] == nil else {
            throw QueueError(.illegalTransition, "asset \(id) is not to be pulled, or is being pulled")
        }
        try requireSpace(for: asset.byteSize - asset.pulledBytes)
        let writer = try guarding { () throws(QueueError) in
            try spool.openPart(asset.sessionID, id, from: asset.pulledBytes)
        }
        let announced = try database.first("SELECT announced_sha256 FROM assets WHERE id = ?", id) {
            row throws(QueueError) in try row.digestOrNil()
        }
        pulls[id] = Pull(
            sessionID: asset.sessionID, byteSize: asset.byteSize, announced: announced ?? nil, writer: writer)
        do throws(QueueError) {
            while !writer.isReady {
                try writer.rehash(prefix)
                await Task.yield()
            }
            guard pulls[id]?.writer === writer else {
                throw QueueError(.illegalTransition, "the pull of asset \(id) was ended")
            }
            if writer.length != asset.pulledBytes { try journal(id, writer) }
        } catch {
            if pulls[id]?.writer === writer { pulls[id] = nil }
            throw error
        }
        return writer.length
    }

    /// Appends bytes that start at `offset`, which must be where the part ends (`offsetMismatch` otherwise).
    /// Flushes and journals every `journalInterval`; returns how many bytes are durable.
    package func append(_ bytes: [UInt8], to id: AssetID, at offset: Int64) throws(QueueError) -> Int64 {
        _ = try writable
        let pull = try openPull(id)
        guard offset == pull.writer.length else {
            throw QueueError(
                .offsetMismatch, "asset \(id) continues at byte \(pull.writer.length), not at \(offset)")
        }
        guard Int64(bytes.count) <= pull.byteSize - offset else {
            throw QueueError(.sizeMismatch, "asset \(id) is longer than the \(pull.byteSize) bytes announced")
        }
        try pull.writer.append(bytes)
        if pull.writer.length - pull.writer.journalled >= configuration.journalInterval {
            try journal(id, pull.writer)
        }
        return pull.writer.journalled
    }

    /// Makes everything appended so far durable; returns how much that is.
    package func checkpointPull(_ id: AssetID) throws(QueueError) -> Int64 {
        _ = try writable
        let pull = try openPull(id)
        try journal(id, pull.writer)
        return pull.writer.journalled
    }

    /// Makes the part durable and closes it, to be gone on with later. No error when it is not open.
    package func suspendPull(_ id: AssetID) throws(QueueError) {
        guard let pull = pulls.removeValue(forKey: id), pull.writer.isReady else { return }
        _ = try writable
        try journal(id, pull.writer)
    }

    /// Throws the part away and starts it from byte 0: the prefix is not the recorder's.
    package func restartPull(_ id: AssetID) throws(QueueError) {
        let pull = try openPull(id)
        // The journal goes back first: it must never promise more than the file holds.
        try change { database throws(QueueError) in
            try database.run("UPDATE assets SET pulled_bytes = 0 WHERE id = ?", id)
        }
        pulls[id] = nil
        let writer = try guarding { () throws(QueueError) in try spool.openPart(pull.sessionID, id, from: 0) }
        pulls[id] = Pull(
            sessionID: pull.sessionID, byteSize: pull.byteSize, announced: pull.announced, writer: writer)
    }

    /// Stores the asset for good: size checked, then part → fsync → rename → fsync directory → COMMIT. Only after this
    /// returned may the recorder be told to forget the object, and never one whose SHA-256 is not the announced one: what
    /// the recorder has is kept in both places, because nobody knows which of file and manifest is wrong.
    ///
    /// `crc32` is the whole object's, as the caller proved it against the recorder. Throws `sizeMismatch`; the part stays,
    /// and `restartPull` begins again.
    package func finishPull(_ id: AssetID, crc32: UInt32? = nil) throws(QueueError) -> StoredAsset {
        _ = try writable
        let pull = try openPull(id)
        guard pull.writer.length == pull.byteSize else {
            throw QueueError(
                .sizeMismatch, "asset \(id) has \(pull.writer.length) of \(pull.byteSize) bytes")
        }
        let digest = pull.writer.digest()
        let isAsAnnounced = pull.announced == nil || pull.announced == digest
        let now = now
        try guarding { () throws(QueueError) in
            _ = try pull.writer.seal()
            try spool.publish(
                pull.sessionID, id,
                AssetSidecar(
                    session: pull.sessionID.text, asset: id.text, byteSize: pull.byteSize,
                    sha256: digest.hex, crc32: crc32, storedAt: now.milliseconds))
        }
        pulls[id] = nil
        let isSealed = try change { _ throws(QueueError) in try markStored(id, digest, crc32, now) }
        return StoredAsset(
            id: id, sha256: digest, isSessionSealed: isSealed, isAsAnnounced: isAsAnnounced)
    }

    /// Notes that pulling the asset failed; the part stays open or closed as it is.
    package func recordPullFailure(_ id: AssetID, message: String) throws(QueueError) {
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE assets SET pull_failures = pull_failures + 1, last_error = ? WHERE id = ?",
                Self.bounded(message), id)
        }
    }

    /// Settles that the source does not have the asset any more. The session goes on without it, or ends as
    /// `failed_terminal` when it has no file at all; the asset stays listed with the reason. Bytes that had come stay in
    /// their part: they may be all that is left of a recording.
    package func markUnobtainable(_ id: AssetID, reason: String) throws(QueueError) {
        _ = try requireAsset(id)
        try suspendPull(id)
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE assets SET recorder_state = 'gone' WHERE id = ? AND recorder_state = 'present'", id)
            try giveUp(id, reason)
        }
    }

    /// Takes up again an asset that was given up or damaged, as its source has it after all; the pull goes on from the
    /// bytes that are here. Returns false, and changes nothing, when its session is over (imported or cancelled).
    package func takeUp(_ id: AssetID) throws(QueueError) -> Bool {
        let asset = try requireAsset(id)
        guard [.unobtainable, .damaged].contains(asset.pullState) else { return asset.pullState == .wanted }
        let session = try requireSession(asset.sessionID)
        guard session.state != .imported, session.state != .cancelled else { return false }
        try change { database throws(QueueError) in
            try database.run(
                "UPDATE assets SET pull_state = 'wanted', last_error = NULL, recorder_state ="
                    + " iif(recorder_state = 'none', 'none', 'present') WHERE id = ?", id)
        }
        return true
    }

    /// Writes down that the file is in place, and seals the session when it was the last one.
    func markStored(
        _ id: AssetID, _ digest: SHA256Digest, _ crc32: UInt32?, _ storedAt: Date
    ) throws(QueueError) -> Bool {
        let database = try database
        let changed = try database.run(
            "UPDATE assets SET pull_state = 'stored', pulled_bytes = byte_size, sha256 = ?2, crc32 = ?3,"
                + " stored_at = ?4, last_error = iif(announced_sha256 IS NULL OR announced_sha256 = ?2, NULL,"
                + " 'its SHA-256 is not the one that its manifest announced') WHERE id = ?1 AND pull_state = 'wanted'",
            id, digest, crc32, storedAt)
        guard changed == 1,
            let session = try database.number("SELECT session_seq FROM assets WHERE id = ?", id)
        else { throw QueueError(.illegalTransition, "asset \(id) was not wanted") }
        return try sealIfComplete(session)
    }

    /// The asset's row; throws `notFound`.
    func requireAsset(_ id: AssetID) throws(QueueError) -> AssetRecord {
        let asset = try database.first(AssetRecord.query + "WHERE a.id = ?", id) { row throws(QueueError) in
            try AssetRecord(&row)
        }
        guard let asset else { throw QueueError(.notFound, "there is no asset \(id)") }
        return asset
    }

    /// Error texts come from outside; what is stored of them is bounded.
    static func bounded(_ text: String) -> String { String(text.prefix(1000)) }

    private func openPull(_ id: AssetID) throws(QueueError) -> Pull {
        guard let pull = pulls[id], pull.writer.isReady else {
            throw QueueError(.illegalTransition, "asset \(id) is not being pulled")
        }
        return pull
    }

    private func journal(_ id: AssetID, _ writer: PartWriter) throws(QueueError) {
        try guarding { () throws(QueueError) in try writer.flush() }
        let length = writer.length
        try change { database throws(QueueError) in
            try database.run("UPDATE assets SET pulled_bytes = ? WHERE id = ?", length, id)
        }
        writer.journalled = length
    }
}

enum PullQueries {
    static let wanted = """
        SELECT a.id, s.id, a.source_key, a.kind, a.byte_size, a.announced_sha256, a.pulled_bytes,
            a.pull_failures
        FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq
        WHERE a.pull_state = 'wanted' AND a.recorder_serial = ? AND a.storage_generation = ?
            AND s.state NOT IN ('cancelled', 'imported')
        ORDER BY a.session_seq, a.ordinal LIMIT ?
        """
}
