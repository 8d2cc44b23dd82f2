import FoundationEssentials

/// What registering a capture led to.
package struct RegisteredCapture: Sendable, Equatable {
    /// The session, new or known.
    package let sessionID: SessionID
    /// Its state now.
    package let state: SessionState
    /// Whether this call made it.
    package let isNew: Bool
    /// The assets that this call added.
    package let added: [AssetID]
    /// The announced files that were not taken: they belong to another session already, or the session is
    /// past the point where files can join. The caller decides whether to salvage them.
    package let notTaken: [AssetRegistration]
}

extension CaptureQueue {
    /// Makes the capture's session, or finds it: the same captureId never makes a second one.
    ///
    /// A new session is a draft until its files are stored (at once `queued_offline` when it has none).
    /// Files that a later registration adds join while the session is a draft. Throws `invalidInput` for
    /// anything out of bounds and `identityClash` when another source uses the same captureId.
    package func register(_ registration: CaptureRegistration) throws(QueueError) -> RegisteredCapture {
        try register(registration, isRebuilding: false)
    }

    /// `isRebuilding`: from the spool, whose files the caller looks at.
    func register(
        _ registration: CaptureRegistration, isRebuilding: Bool
    ) throws(QueueError) -> RegisteredCapture {
        let id = try registration.validated()
        _ = try writable
        let known = try sessionRow(id)
        var registration = registration
        let host = registration.targetHost
        let presumed = isRebuilding ? try accountOfRebuilt(host: host) : try currentAccount(host: host)
        registration.account = known?.account ?? registration.account ?? presumed
        if let known { try checkOrigin(of: known, registration) }
        guard known == nil || known?.state == .draft else {
            return try unchanged(known, registration)
        }
        // The description is durable before the row: whatever the spool holds can be told without the
        // database, and a description without a row is registered again at the next start.
        let hasNews = known == nil ? true : try !newAssets(registration, id).isEmpty
        var isThere = false
        if known == nil { isThere = try spool.exists(id) }
        if hasNews { try guarding { () throws(QueueError) in try spool.prepare(id, registration) } }
        let result = try change { _ throws(QueueError) in try enter(registration, id, isNew: known == nil) }
        guard isThere, !isRebuilding else { return result }
        try takeFiles(of: id)
        return RegisteredCapture(
            sessionID: id, state: try requireSession(id).state, isNew: result.isNew, added: result.added,
            notTaken: result.notTaken)
    }

    /// Makes the rows of a capture, inside the caller's transaction.
    func enter(
        _ registration: CaptureRegistration, _ id: SessionID, isNew: Bool
    ) throws(QueueError) -> RegisteredCapture {
        if isNew { try insertSession(id, registration) }
        guard let session = try sessionRow(id) else { throw missing(id) }
        let news = try newAssets(registration, id)
        try insertAssets(news, of: session, registration)
        try insertEvents(registration, session)
        try sealIfComplete(session.sequence)
        let all = registration.assets.map { registration.assetID(of: $0, session: id) }
        return RegisteredCapture(
            sessionID: id, state: try sessionRow(id)?.state ?? session.state, isNew: isNew,
            added: news.map { registration.assetID(of: $0, session: id) },
            notTaken: try foreign(registration.assets, all, session.sequence))
    }

    /// The session's stored row.
    func sessionRow(_ id: SessionID) throws(QueueError) -> SessionRecord? {
        try database.first("SELECT \(SessionRecord.columns) FROM sessions WHERE id = ?", id) {
            row throws(QueueError) in try SessionRecord(&row)
        }
    }

    /// The session's row; throws `notFound`.
    func requireSession(_ id: SessionID) throws(QueueError) -> SessionRecord {
        guard let session = try sessionRow(id) else { throw missing(id) }
        return session
    }

    func missing(_ id: SessionID) -> QueueError { QueueError(.notFound, "there is no session \(id)") }

    private func checkOrigin(
        of known: SessionRecord, _ registration: CaptureRegistration
    ) throws(QueueError) {
        guard known.recorderSerial == registration.origin?.serial,
            known.sourceKind == registration.sourceKind
        else {
            throw QueueError(
                .identityClash, "the captureId of session \(known.id) is used by another source as well",
                hint: "the capture stays where it is; report the recorder that reuses ids")
        }
    }

    private func unchanged(
        _ known: SessionRecord?, _ registration: CaptureRegistration
    ) throws(QueueError) -> RegisteredCapture {
        guard let known else { throw QueueError(.notFound, "the session vanished") }
        let all = registration.assets.map { registration.assetID(of: $0, session: known.id) }
        return RegisteredCapture(
            sessionID: known.id, state: known.state, isNew: false, added: [],
            notTaken: try foreign(registration.assets, all, known.sequence))
    }

    private func newAssets(
        _ registration: CaptureRegistration, _ id: SessionID
    ) throws(QueueError) -> [AssetRegistration] {
        var result: [AssetRegistration] = []
        for asset in registration.assets {
            let known = try database.number(
                "SELECT seq FROM assets WHERE id = ?", registration.assetID(of: asset, session: id))
            if known == nil { result.append(asset) }
        }
        return result
    }

    private func foreign(
        _ assets: [AssetRegistration], _ ids: [AssetID], _ sequence: Int64
    ) throws(QueueError) -> [AssetRegistration] {
        var result: [AssetRegistration] = []
        for (asset, id) in zip(assets, ids) {
            let owner = try database.number("SELECT session_seq FROM assets WHERE id = ?", id)
            if owner != sequence { result.append(asset) }
        }
        return result
    }

    private func insertSession(
        _ id: SessionID, _ registration: CaptureRegistration
    ) throws(QueueError) {
        let database = try database
        let now = now
        if let origin = registration.origin {
            try database.run(
                "INSERT INTO recorders (serial, last_seen_at, storage_generation) VALUES (?, ?, ?)"
                    + " ON CONFLICT DO NOTHING", origin.serial, now, origin.storageGeneration)
        }
        try database.run(
            """
            INSERT INTO sessions (id, client_id, created_at, updated_at, source_kind, origin_device_id,
                recorder_serial, storage_generation, manifest_object_id, manifest_fingerprint,
                manifest_state, is_salvaged, target_host, target_library_id, parent_document_id, title,
                started_text, started_at, ended_text, ended_at, duration_ms, idempotency_scope,
                device_name, device_model, app_surface, source_path_hint, image_provenance, migrated_from, account)
            VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28)
            """,
            id, registration.captureID, now, registration.sourceKind, registration.originDeviceID,
            registration.origin?.serial, registration.origin?.storageGeneration,
            registration.origin?.manifestObjectID?.lowercased(), registration.origin?.manifestFingerprint,
            registration.origin?.manifestObjectID == nil ? "none" : "present", registration.isSalvaged,
            registration.targetHost, registration.targetLibraryID, registration.parentDocumentID,
            registration.title, registration.startedAt.text, registration.startedAt.instant,
            registration.endedAt?.text, registration.endedAt?.instant, registration.durationMs,
            Identity.idempotencyScope(session: id), registration.provenance.deviceName,
            registration.provenance.deviceModel, registration.provenance.appSurface,
            registration.provenance.sourcePathHint, try StringMap.encode(registration.provenance.image),
            registration.migratedFrom, registration.account)
        let sequence = database.lastInsertedKey
        for step in registration.provenance.chain { try appendProvenance(step, to: sequence) }
    }

    private func insertAssets(
        _ assets: [AssetRegistration], of session: SessionRecord, _ registration: CaptureRegistration
    ) throws(QueueError) {
        let database = try database
        let first = try database.number(
            "SELECT ifnull(max(ordinal) + 1, 0) FROM assets WHERE session_seq = ?", session.sequence)
        for (index, asset) in assets.enumerated() {
            let id = registration.assetID(of: asset, session: session.id)
            let exclusion: UploadExclusion? =
                asset.kind == .other ? .unsupportedKind : asset.byteSize == 0 ? .empty : nil
            try database.run(
                """
                INSERT INTO assets (id, session_seq, ordinal, client_id, kind, original_name, wire_name,
                    mime_type, byte_size, announced_sha256, recorder_serial, storage_generation,
                    source_key, fingerprint, recorder_state, exclusion)
                VALUES (?1, ?2, ?3, ?1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
                """,
                id, session.sequence, (first ?? 0) + Int64(index), asset.kind, asset.name,
                WireName.from(asset.name, asset: id), asset.mimeType, asset.byteSize,
                asset.sha256?.lowercased(), registration.origin?.serial,
                registration.origin?.storageGeneration,
                registration.origin == nil ? asset.sourceKey : asset.sourceKey.lowercased(),
                asset.fingerprint, registration.origin == nil ? "none" : "present", exclusion)
        }
    }

    private func insertEvents(
        _ registration: CaptureRegistration, _ session: SessionRecord
    ) throws(QueueError) {
        let database = try database
        let keys = registration.assets.map {
            ($0.sourceKey, registration.assetID(of: $0, session: session.id))
        }
        let assets = Dictionary(keys, uniquingKeysWith: { first, _ in first })
        for (ordinal, event) in registration.events.enumerated() {
            try database.run(
                """
                INSERT INTO events (session_seq, id, ordinal, relative_ms, type, text, asset_id,
                    voice_start_ms, voice_end_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                """,
                session.sequence, event.id, ordinal, event.relativeTimeMs, event.type, event.text,
                event.sourceKey.flatMap { assets[$0] }, event.voiceStartOffsetMs, event.voiceEndOffsetMs)
        }
    }

    /// Adds a step to the session's provenance chain; earlier steps are never touched.
    func appendProvenance(_ step: [String: String], to sequence: Int64) throws(QueueError) {
        try database.run(
            "INSERT INTO provenance (session_seq, ordinal, recorded_at, step) VALUES (?1,"
                + " (SELECT ifnull(max(ordinal) + 1, 0) FROM provenance WHERE session_seq = ?1), ?2, ?3)",
            sequence, now, try StringMap.encode(step))
    }
}
