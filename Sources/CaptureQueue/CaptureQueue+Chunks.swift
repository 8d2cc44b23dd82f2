package import FoundationEssentials

extension CaptureQueue {
    /// Stores the upload that the server opened for an asset. Its chunk size wins; a count that does not fit
    /// size and chunk size is refused as `receiptMismatch` (upload.md C-56). Settles the open init intent.
    package func commitInit(
        _ id: AssetID, uploadID: String, chunkSize: Int64, totalChunks: Int, expiresAt: Date
    ) throws(QueueError) {
        let asset = try requireAsset(id)
        let session = try requireSession(asset.sessionID)
        guard !uploadID.isEmpty, uploadID.utf8.count <= 256, chunkSize > 0, asset.byteSize > 0,
            (asset.byteSize - 1) / chunkSize + 1 == Int64(totalChunks), totalChunks <= 1 << 24
        else {
            throw QueueError(
                .receiptMismatch,
                "the server's plan of \(totalChunks) chunks of \(chunkSize) bytes does not fit asset \(id)")
        }
        let now = now
        let bitmap = [UInt8](repeating: 0, count: (totalChunks + 7) / 8)
        try change { database throws(QueueError) in
            let key = try assetKey(id, in: session)
            try database.run(
                "INSERT OR REPLACE INTO uploads (asset_seq, upload_id, chunk_size, total_chunks, expires_at,"
                    + " created_at, acked) VALUES (?, ?, ?, ?, ?, ?, ?)",
                key, uploadID, chunkSize, totalChunks, expiresAt, now, bitmap)
            try database.run(
                "INSERT INTO upload_starts (asset_seq, started_at, ordinal) VALUES (?1, ?2,"
                    + " (SELECT ifnull(max(ordinal) + 1, 0) FROM upload_starts WHERE asset_seq = ?1))", key,
                now)
            try database.run(
                "UPDATE assets SET upload_state = 'uploading', uploaded_bytes = 0, remote_receipt_id = ?2"
                    + " WHERE seq = ?1", key, uploadID)
            try settle(session.sequence, key, [.initialise])
        }
    }

    /// Stores that the server has a chunk, and that the way works: the session's failures count from zero
    /// again. Returns the upload as it stands. Throws `notFound` for an upload that is not the asset's.
    @discardableResult
    package func commitChunk(
        _ id: AssetID, uploadID: String, index: Int
    ) throws(QueueError) -> ChunkedUpload {
        let asset = try requireAsset(id)
        let session = try requireSession(asset.sessionID)
        let key = try assetKey(id, in: session)
        let upload = try database.first(
            "SELECT \(ChunkedUpload.columns) FROM uploads WHERE asset_seq = ?", key
        ) { row throws(QueueError) in try ChunkedUpload(&row) }
        guard let upload, upload.uploadID == uploadID, index >= 0, index < upload.totalChunks,
            upload.acked.count == (upload.totalChunks + 7) / 8
        else { throw QueueError(.notFound, "asset \(id) has no such upload or chunk") }
        let next = upload.acknowledging(index)
        try change { database throws(QueueError) in
            try database.run("UPDATE uploads SET acked = ? WHERE asset_seq = ?", next.acked, key)
            try database.run(
                "UPDATE assets SET uploaded_bytes = ? WHERE seq = ? AND upload_state <> 'uploaded'",
                next.ackedBytes(of: asset.byteSize), key)
            try database.run(
                "UPDATE sessions SET retry_count = 0 WHERE seq = ? AND retry_count > 0", session.sequence)
        }
        return next
    }

    /// Forgets an upload that the server does not know any more, or whose chunks it lost: the next init
    /// begins at byte 0. The asset keeps its identity.
    package func forgetUpload(_ id: AssetID) throws(QueueError) {
        let asset = try requireAsset(id)
        let session = try requireSession(asset.sessionID)
        try change { database throws(QueueError) in
            let key = try assetKey(id, in: session)
            try database.run("DELETE FROM uploads WHERE asset_seq = ?", key)
            try settle(session.sequence, key, [.initialise, .complete])
            try database.run(
                "UPDATE assets SET upload_state = 'pending', uploaded_bytes = 0, remote_receipt_id = NULL"
                    + " WHERE seq = ? AND upload_state <> 'uploaded'", key)
            try goOnSending(session)
        }
    }

    /// How many uploads were opened for an asset since a time; a second init may cost quota (C-60). What seems to have
    /// been opened after now was so before the clock was set back, and counts as long ago.
    package func uploadStarts(_ id: AssetID, since: Date) throws(QueueError) -> Int {
        let count = try database.number(
            "SELECT count(*) FROM upload_starts WHERE asset_seq = (SELECT seq FROM assets WHERE id = ?)"
                + " AND started_at BETWEEN ? AND ?", id, since, now)
        return Int(clamping: count ?? 0)
    }

    /// Gives the asset a new client id, because the server's copy under the old one is wrong and can neither
    /// be replaced nor deleted (C-55). Returns the new id.
    package func replaceClientID(_ id: AssetID) throws(QueueError) -> String {
        let asset = try requireAsset(id)
        let session = try requireSession(asset.sessionID)
        let key = try assetKey(id, in: session)
        let count = try database.number("SELECT replacements FROM assets WHERE seq = ?", key) ?? 0
        let clientID = Identity.replacement(of: id, attempt: Int(clamping: count + 1))
        try change { database throws(QueueError) in
            try database.run("DELETE FROM uploads WHERE asset_seq = ?", key)
            try settle(session.sequence, key, [.asset, .initialise, .complete])
            try database.run(
                "UPDATE assets SET client_id = ?2, replacements = replacements + 1, upload_state = 'pending',"
                    + " uploaded_bytes = 0, remote_receipt_id = NULL WHERE seq = ?1", key, clientID)
        }
        return clientID
    }
}

extension ChunkedUpload {
    func acknowledging(_ index: Int) -> ChunkedUpload {
        var bits = acked
        bits[index / 8] |= 1 << (index % 8)
        return ChunkedUpload(
            uploadID: uploadID, chunkSize: chunkSize, totalChunks: totalChunks, expiresAt: expiresAt,
            acked: bits)
    }

    /// The bytes of all acknowledged chunks; the last chunk is usually shorter.
    func ackedBytes(of size: Int64) -> Int64 {
        let whole = Int64(ackedCount).multipliedReportingOverflow(by: chunkSize)
        let shortfall = Int64(totalChunks).multipliedReportingOverflow(by: chunkSize)
        guard !whole.overflow, !shortfall.overflow else { return min(size, whole.partialValue) }
        return whole.partialValue - (isAcked(totalChunks - 1) ? shortfall.partialValue - size : 0)
    }

    /// Where a chunk lies in a file of `size` bytes: offset and length.
    package func range(of index: Int, size: Int64) -> (offset: Int64, length: Int64) {
        let offset = Int64(index) * chunkSize
        return (offset, max(0, min(chunkSize, size - offset)))
    }
}
