import FoundationEssentials

/// How rows become records. Each list of columns stands beside the code that reads it in the same order.
extension SessionRecord {
    static let columns = """
        seq, id, client_id, state, created_at, updated_at, source_kind, origin_device_id, recorder_serial, \
        is_salvaged, target_host, target_library_id, parent_document_id, upload_began_at, title, \
        started_text, started_at, ended_text, ended_at, duration_ms, idempotency_scope, priority, \
        last_error, terminal_reason, retry_count, next_try_at, remote_id, revision, is_base_stale, \
        synced_digest, base_snapshot, device_name, device_model, app_surface, source_path_hint, \
        image_provenance, imported_at, migrated_from, migrated_to, account
        """

    init(_ row: inout RowReader) throws(QueueError) {
        sequence = try row.int64()
        id = try row.sessionID()
        clientID = try row.text()
        state = try row.value()
        createdAt = try row.date()
        updatedAt = try row.date()
        sourceKind = try row.value()
        originDeviceID = try row.text()
        recorderSerial = try row.textOrNil()
        isSalvaged = try row.bool()
        targetHost = try row.text()
        targetLibraryID = try row.textOrNil()
        parentDocumentID = try row.textOrNil()
        uploadBeganAt = try row.dateOrNil()
        title = try row.textOrNil()
        startedAt = CaptureTime(text: try row.text(), instant: try row.date())
        let (endedText, ended) = (try row.textOrNil(), try row.dateOrNil())
        endedAt = if let endedText, let ended { CaptureTime(text: endedText, instant: ended) } else { nil }
        durationMs = try row.int64()
        idempotencyScope = try row.text()
        priority = try row.int()
        lastError = try row.textOrNil()
        terminalReason = try row.valueOrNil()
        retryCount = try row.int()
        nextTryAt = try row.dateOrNil()
        remoteID = try row.textOrNil()
        revision = try row.int64OrNil()
        isBaseStale = try row.bool()
        syncedDigest = try row.textOrNil()
        baseSnapshot = try row.textOrNil()
        provenance = ProvenanceSeed(
            deviceName: try row.textOrNil(), deviceModel: try row.textOrNil(), appSurface: try row.text(),
            sourcePathHint: try row.textOrNil(), image: StringMap.decode(try row.text()))
        importedAt = try row.dateOrNil()
        migratedFrom = try row.textOrNil()
        migratedTo = try row.textOrNil()
        account = try row.textOrNil()
    }
}

extension AssetRecord {
    /// For a query `FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq`.
    static let columns = """
        a.id, s.id, a.ordinal, a.client_id, a.kind, a.original_name, a.wire_name, a.mime_type, a.byte_size, \
        a.sha256, a.crc32, a.recorder_serial, a.storage_generation, a.source_key, a.recorder_state, \
        a.pull_state, a.pulled_bytes, a.pull_failures, a.stored_at, a.exclusion, a.upload_state, \
        a.uploaded_bytes, a.remote_receipt_id, a.remote_asset_id, a.uploaded_at, a.last_error
        """

    static let query = "SELECT \(columns) FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq "

    init(_ row: inout RowReader) throws(QueueError) {
        id = try row.assetID()
        sessionID = try row.sessionID()
        ordinal = try row.int()
        clientID = try row.text()
        kind = try row.value()
        originalName = try row.text()
        wireName = try row.text()
        mimeType = try row.text()
        byteSize = try row.int64()
        sha256 = try row.digestOrNil()
        crc32 = try row.uint32OrNil()
        recorderSerial = try row.textOrNil()
        storageGeneration = try row.uint32OrNil()
        sourceKey = try row.text()
        recorderState = try row.value()
        pullState = try row.value()
        pulledBytes = try row.int64()
        pullFailures = try row.int()
        storedAt = try row.dateOrNil()
        exclusion = try row.valueOrNil()
        uploadState = try row.value()
        uploadedBytes = try row.int64()
        remoteReceiptID = try row.textOrNil()
        remoteAssetID = try row.textOrNil()
        uploadedAt = try row.dateOrNil()
        lastError = try row.textOrNil()
    }
}

extension EventRecord {
    static let columns = "id, relative_ms, type, text, asset_id, voice_start_ms, voice_end_ms, is_deleted"

    init(_ row: inout RowReader) throws(QueueError) {
        id = try row.text()
        relativeTimeMs = try row.int64()
        type = try row.value()
        text = try row.textOrNil()
        assetID = try row.textOrNil().flatMap { AssetID($0) }
        voiceStartOffsetMs = try row.int64OrNil()
        voiceEndOffsetMs = try row.int64OrNil()
        isDeleted = try row.bool()
    }
}

extension Hold {
    static let columns = "reason, since, until, required_bytes, detail"

    init(_ row: inout RowReader) throws(QueueError) {
        reason = try row.value()
        since = try row.date()
        until = try row.dateOrNil()
        requiredBytes = try row.int64OrNil()
        detail = try row.textOrNil()
    }
}

extension Intent {
    static let query = """
        SELECT i.id, i.operation, s.id, a.id, i.payload_digest, i.base_revision, i.started_at, i.attempts, \
        i.is_ambiguous, i.detail FROM inflight AS i JOIN sessions AS s ON s.seq = i.session_seq \
        LEFT JOIN assets AS a ON a.seq = i.asset_seq\u{20}
        """

    init(_ row: inout RowReader) throws(QueueError) {
        id = try row.int64()
        operation = try row.value()
        sessionID = try row.sessionID()
        assetID = try row.textOrNil().flatMap { AssetID($0) }
        payloadDigest = try row.text()
        baseRevision = try row.int64OrNil()
        startedAt = try row.date()
        attempts = try row.int()
        isAmbiguous = try row.bool()
        detail = try row.textOrNil()
    }
}

extension ChunkedUpload {
    static let columns = "upload_id, chunk_size, total_chunks, expires_at, acked"

    init(_ row: inout RowReader) throws(QueueError) {
        uploadID = try row.text()
        chunkSize = try row.int64()
        totalChunks = try row.int()
        expiresAt = try row.date()
        acked = try row.blob()
    }
}

extension Receipt {
    static let query = """
        SELECT a.id, r.remote_id, r.client_id, r.sha256, r.byte_size, r.committed_at FROM receipts AS r \
        LEFT JOIN assets AS a ON a.seq = r.asset_seq\u{20}
        """

    init(_ row: inout RowReader) throws(QueueError) {
        assetID = try row.textOrNil().flatMap { AssetID($0) }
        remoteID = try row.text()
        clientID = try row.text()
        sha256 = try row.digestOrNil()
        byteSize = try row.int64OrNil()
        committedAt = try row.date()
    }
}

/// A map of strings as a JSON column.
enum StringMap {
    static func encode(_ map: [String: String]) throws(QueueError) -> String {
        String(decoding: try Spool.encode(map), as: UTF8.self)
    }

    static func decode(_ text: String) -> [String: String] {
        (try? JSONDecoder().decode([String: String].self, from: Data(text.utf8))) ?? [:]
    }
}
