package import FoundationEssentials

/// What is known of a file that comes from elsewhere than a recorder.
package struct ImportedFile: Sendable, Equatable {
    /// By which way it came; any but `recorder`.
    package var sourceKind: SourceKind
    /// Its name at the source; never used as a path.
    package var name: String
    /// Where it lay; informative.
    package var pathHint: String?
    package var kind: AssetKind
    package var mimeType: String
    /// When it was last changed: the nearest to the time of capture that every file tells.
    package var modified: Date
    /// The same in RFC 3339, as it is shown.
    package var modifiedText: String
    /// The surface of capture: `watched_folder`, `celestiad_import`.
    package var surface: String
    /// The API's base URL.
    package var targetHost: String
    /// The first step of its provenance chain.
    package var step: [String: String]

    package init(
        sourceKind: SourceKind, name: String, pathHint: String? = nil, kind: AssetKind, mimeType: String,
        modified: Date, modifiedText: String, surface: String, targetHost: String, step: [String: String]
    ) {
        self.sourceKind = sourceKind
        self.name = name
        self.pathHint = pathHint
        self.kind = kind
        self.mimeType = mimeType
        self.modified = modified
        self.modifiedText = modifiedText
        self.surface = surface
        self.targetHost = targetHost
        self.step = step
    }
}

/// The session that an imported file is in.
package struct ImportOutcome: Sendable, Equatable {
    package let session: SessionID
    /// Whether this import made it; false: the queue had these bytes already.
    package let isNew: Bool

    package init(session: SessionID, isNew: Bool) {
        self.session = session
        self.isNew = isNew
    }
}

/// An import that is being copied.
struct Import {
    let staged: StagedSession
    let writer: PartWriter
    let byteSize: Int64
}

/// Files that come from elsewhere: copied whole, each a session of its own. The source is told that a file was taken
/// only when it is durable; the same content is taken once, whatever it is called (F-16).
extension CaptureQueue {
    /// The session that has a file with this content, here or in the cloud; nil when there is none. Sessions that the
    /// user discarded do not count: who offers a file again wants it.
    package func session(content digest: SHA256Digest, size: Int64) throws(QueueError) -> SessionID? {
        try database.first(ImportQueries.content, digest, size) { row throws(QueueError) in
            try row.sessionID()
        }
    }

    /// A stored file, to be read by its user. Throws `notFound` when there is none or its bytes are not here, and
    /// `assetMissing` or `assetCorrupt` when they are gone or changed.
    package func openForReading(_ id: AssetID) throws(QueueError) -> AssetFile {
        let asset = try requireAsset(id)
        guard asset.pullState == .stored else {
            throw QueueError(.notFound, "the bytes of this file are not here (\(asset.pullState.rawValue))")
        }
        return try spool.openStored(asset.sessionID, id, size: asset.byteSize)
    }

    /// Begins to copy a file of so many bytes; returns the number of the import. Throws `lowSpace`.
    package func beginImport(size: Int64) throws(QueueError) -> Int {
        _ = try writable
        guard size > 0 else {
            throw QueueError(.invalidInput, "the file is empty", hint: "the cloud takes no empty files")
        }
        try requireSpace(for: size)
        lastImport += 1
        let staged = try guarding { () throws(QueueError) in try spool.stage() }
        let writer = try spool.openContent(staged)
        imports[lastImport] = Import(staged: staged, writer: writer, byteSize: size)
        return lastImport
    }

    /// Appends to the copy.
    package func append(_ bytes: [UInt8], toImport number: Int) throws(QueueError) {
        let copy = try running(number)
        guard Int64(bytes.count) <= copy.byteSize - copy.writer.length else {
            throw QueueError(
                .sizeMismatch, "the file grew while it was read", hint: "try again when it is complete")
        }
        try copy.writer.append(bytes)
    }

    /// Takes the copy into the queue, durably: file, description, rename, COMMIT. Throws `sizeMismatch` when it is not
    /// complete; then, and after any other error, `abandonImport`.
    package func finishImport(_ number: Int, _ file: ImportedFile) throws(QueueError) -> ImportOutcome {
        _ = try writable
        let copy = try running(number)
        guard copy.writer.length == copy.byteSize else {
            throw QueueError(.sizeMismatch, "the file became shorter while it was read")
        }
        let digest = copy.writer.digest()
        if let known = try session(content: digest, size: copy.byteSize) {
            abandonImport(number)
            return ImportOutcome(session: known, isNew: false)
        }
        let registration = try registration(of: file, digest, copy.byteSize)
        let session = try registration.validated()
        let asset = registration.assetID(of: registration.assets[0], session: session)
        let now = now
        try guarding { () throws(QueueError) in
            _ = try copy.writer.seal()
            let sidecar = AssetSidecar(
                session: session.text, asset: asset.text, byteSize: copy.byteSize, sha256: digest.hex,
                crc32: nil,
                storedAt: now.milliseconds)
            try spool.nameContent(copy.staged, sidecar)
            try spool.publish(copy.staged, registration, as: session)
        }
        imports[number] = nil
        try change { _ throws(QueueError) in
            _ = try enter(registration, session, isNew: true)
            _ = try markStored(asset, digest, nil, now)
        }
        return ImportOutcome(session: session, isNew: true)
    }

    /// Throws the copy away. No error when it is over already.
    package func abandonImport(_ number: Int) {
        guard let copy = imports.removeValue(forKey: number), let spool = try? spool else { return }
        spool.discard(copy.staged)
    }

    /// The id of this hub: made once, `origin_device_id` of what is imported here.
    package func hubID() throws(QueueError) -> String {
        let known = try database.first("SELECT value FROM meta WHERE key = 'hub_id'") {
            row throws(QueueError) in
            try row.text()
        }
        if let known { return known }
        let id = UUID().uuidString.lowercased()
        try change { database throws(QueueError) in
            try database.run("INSERT INTO meta (key, value) VALUES ('hub_id', ?)", id)
        }
        return id
    }

    private func running(_ number: Int) throws(QueueError) -> Import {
        guard let copy = imports[number] else { throw QueueError(.notFound, "there is no such import") }
        return copy
    }

    private func registration(
        of file: ImportedFile, _ digest: SHA256Digest, _ size: Int64
    ) throws(QueueError) -> CaptureRegistration {
        let discarded = try database.number(ImportQueries.discarded, digest, size) ?? 0
        return CaptureRegistration(
            captureID: Identity.importedSession(sha256: digest, attempt: Int(clamping: discarded)),
            sourceKind: file.sourceKind, origin: nil, originDeviceID: try hubID(),
            targetHost: file.targetHost,
            title: file.name, startedAt: CaptureTime(text: file.modifiedText, instant: file.modified),
            durationMs: 0,
            assets: [
                AssetRegistration(
                    kind: file.kind, name: file.name, mimeType: file.mimeType, byteSize: size,
                    sha256: digest.hex,
                    sourceKey: digest.hex)
            ], events: [],
            provenance: ProvenanceSeed(
                deviceName: nil, deviceModel: nil, appSurface: file.surface, sourcePathHint: file.pathHint,
                image: file.kind == .photo ? ["capture_date": file.modifiedText] : [:], chain: [file.step]))
    }
}

/// A file of a watched folder that was dealt with.
package struct TakenFile: Sendable, Equatable {
    package var path: String
    package var size: Int64
    /// Nanoseconds since 1970.
    package var modified: Int64
    package var inode: UInt64

    package init(path: String, size: Int64, modified: Int64, inode: UInt64) {
        self.path = path
        self.size = size
        self.modified = modified
        self.inode = inode
    }
}

extension CaptureQueue {
    /// Whether the file, as it is now, was dealt with.
    package func isTaken(_ file: TakenFile) throws(QueueError) -> Bool {
        try database.number(
            "SELECT 1 FROM taken_files WHERE path = ? AND size = ? AND modified_ns = ? AND inode = ?",
            file.path,
            file.size, file.modified, Int64(bitPattern: file.inode)) != nil
    }

    /// Stores that the file was dealt with: taken as (a part of) a session, or refused for good.
    package func noteTaken(
        _ file: TakenFile, session: SessionID?, refusal: String? = nil
    ) throws(QueueError) {
        let now = now
        try change { database throws(QueueError) in
            try database.run(
                "INSERT OR REPLACE INTO taken_files (path, size, modified_ns, inode, session_id, refusal, taken_at)"
                    + " VALUES (?, ?, ?, ?, ?, ?, ?)",
                file.path, file.size, file.modified, Int64(bitPattern: file.inode), session,
                refusal.map(Self.bounded), now)
        }
    }
}

enum ImportQueries {
    static let content = """
        SELECT s.id FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq
        WHERE a.sha256 = ? AND a.byte_size = ? AND s.state <> 'cancelled'
            AND a.pull_state IN ('stored', 'released') ORDER BY s.seq LIMIT 1
        """
    static let discarded = """
        SELECT count(*) FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq
        WHERE a.sha256 = ? AND a.byte_size = ? AND s.state = 'cancelled' AND s.source_kind <> 'recorder'
            AND s.migrated_from IS NULL
        """
}
