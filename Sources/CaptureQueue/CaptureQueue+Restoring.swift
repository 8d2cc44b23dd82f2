import Glibc

/// Files that were lost or set aside, and are what was stored after all.
extension CaptureQueue {
    /// Takes back what of a session's lost files lies in its place again, put there by somebody, or was set aside for a
    /// fault that has passed. Believed only after it was read whole. Suspends between pieces.
    func takeBack(_ id: SessionID) async throws(QueueError) {
        let session = try requireSession(id)
        let lost = try database.all(
            AssetRecord.query + "WHERE a.session_seq = ? AND a.pull_state = 'damaged'", session.sequence
        ) { row throws(QueueError) in try AssetRecord(&row) }
        for asset in lost {
            for name in try spool.copies(of: asset.id, in: id) {
                guard let digest = try await whole(name, asset) else { continue }
                // Others may have been at it meanwhile.
                guard try self.asset(asset.id)?.pullState == .damaged else { break }
                try takeBack(asset, digest, from: name)
                break
            }
        }
    }

    /// The digest of a copy that is what was stored; nil for any other, and for one that cannot be read.
    private func whole(_ name: String, _ asset: AssetRecord) async throws(QueueError) -> SHA256Digest? {
        let digest: SHA256Digest
        do throws(QueueError) {
            let file = try spool.open(name, of: asset.id, in: asset.sessionID, size: asset.byteSize)
            digest = try await Self.digest(of: file)
        } catch {
            return nil
        }
        return try isKnown(digest, of: asset) ? digest : nil
    }

    private func takeBack(
        _ asset: AssetRecord, _ digest: SHA256Digest, from name: String
    ) throws(QueueError) {
        let file = try spool.open(name, of: asset.id, in: asset.sessionID, size: asset.byteSize)
        try guarding { () throws(QueueError) in
            try FileSystem.sync(file.descriptor)
            try spool.restore(name, to: asset.id, in: asset.sessionID)
        }
        let now = now
        try change { _ throws(QueueError) in
            try wantAgain(asset.id)
            _ = try markStored(asset.id, digest, asset.crc32, now)
        }
    }

    /// What the source said that it would be.
    func announcedDigest(of id: AssetID) throws(QueueError) -> SHA256Digest? {
        let announced = try database.first("SELECT announced_sha256 FROM assets WHERE id = ?", id) {
            row throws(QueueError) in try row.digestOrNil()
        }
        return announced ?? nil
    }
}

extension Spool {
    /// The names under which there are bytes of an asset: its own, then those that were set aside, the newest first.
    func copies(of asset: AssetID, in session: SessionID) throws(QueueError) -> [String] {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false) else {
            return []
        }
        let names = try FileSystem.names(in: directory.raw)
        let prefix = "\(asset).damaged-"
        let aside = names.filter { $0.hasPrefix(prefix) }
            .sorted { (Int($0.dropFirst(prefix.count)) ?? 0) > (Int($1.dropFirst(prefix.count)) ?? 0) }
        return names.filter { $0 == asset.text } + aside
    }

    /// Opens one of these. Throws `assetCorrupt` for another size; nil takes any size.
    func open(
        _ name: String, of asset: AssetID, in session: SessionID, size: Int64?
    ) throws(QueueError) -> AssetFile {
        let directory = try directory(session, creating: false)
        let file = try FileSystem.open(at: directory.raw, name, O_RDONLY)
        let status = try FileSystem.status(of: file.raw)
        guard status.isRegular, size == nil || status.size == size else {
            throw QueueError(.assetCorrupt, "what there is of asset \(asset) has \(status.size) bytes")
        }
        return AssetFile(file, status)
    }

    /// Gives a copy the asset's name, out of whose way whatever has it is set; durable on return.
    func restore(_ name: String, to asset: AssetID, in session: SessionID) throws(QueueError) {
        guard name != asset.text else { return }
        try setAside(session, asset)
        let directory = try directory(session, creating: false)
        try FileSystem.rename(at: directory.raw, name, asset.text)
        try FileSystem.sync(directory.raw)
    }

    /// Whatever bytes there are of an asset that is not stored: the file in its place, one that was set aside, or the part
    /// that had come.
    func remains(of asset: AssetID, in session: SessionID) throws(QueueError) -> AssetFile? {
        for name in try copies(of: asset, in: session) + [".\(asset).part"] {
            if let file = try? open(name, of: asset, in: session, size: nil), file.size > 0 { return file }
        }
        return nil
    }
}

enum RestoreQueries {
    static let lost = """
        SELECT last_error FROM assets WHERE session_seq = ? AND pull_state = 'damaged'
            AND upload_state <> 'uploaded' ORDER BY ordinal LIMIT 1
        """
    static func reason(_ row: inout RowReader) throws(QueueError) -> String {
        try row.textOrNil() ?? "a stored file is gone"
    }
}
