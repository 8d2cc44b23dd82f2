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
    /// Whether this import made it; false: the queue had the session already.
    package let isNew: Bool
    /// Whether the session had lost these bytes and has them again.
    package let isRestored: Bool

    package init(session: SessionID, isNew: Bool, isRestored: Bool = false) {
        self.session = session
        self.isNew = isNew
        self.isRestored = isRestored
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
    /// The session for `host` (nil: for any) that has a file with this content, here or in the cloud; nil when there is
    /// none. Sessions that the user discarded do not count: who offers a file again wants it.
    package func session(
        content digest: SHA256Digest, size: Int64, host: String? = nil
    ) throws(QueueError) -> SessionID? {
        try database.first(ImportQueries.content, digest, size, host) { row throws(QueueError) in
            try row.sessionID()
        }
    }

    /// A file, to be read by its user, who compares its SHA-256: where it is not stored, whatever there is of its bytes,
    /// such as what was set aside because it has changed. Throws `notFound` when nothing of it is here.
    package func openForReading(_ id: AssetID) throws(QueueError) -> AssetFile {
        let asset = try requireAsset(id)
        if asset.pullState == .stored,
            let file = try? spool.openStored(asset.sessionID, id, size: asset.byteSize)
        {
            return file
        }
        if let remains = try spool.remains(of: id, in: asset.sessionID) { return remains }
        let why =
            switch asset.pullState {
            case .released: asset.uploadState == .uploaded ? "the cloud has it" : "it was removed"
            case .wanted: "its source has not given it yet"
            case .unobtainable: "its source did not have it any more"
            case .stored, .damaged: "it is gone"
            }
        throw QueueError(.notFound, "the bytes of this file are not here: \(why)")
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

    /// Takes the copy into the queue, durably: file, description, rename, COMMIT. A session that is known and has lost
    /// exactly these bytes gets them back. Throws `sizeMismatch` when the copy is not complete; then, and after any other
    /// error, `abandonImport`.
    package func finishImport(_ number: Int, _ file: ImportedFile) async throws(QueueError) -> ImportOutcome {
        let digest = try complete(number).writer.digest()
        let size = try complete(number).byteSize
        // What lies where the file belongs is read before it is believed; meanwhile others may come and go.
        let seen = try place(of: digest, size, file.targetHost)
        let isIntact = try await holds(seen, digest, size)
        let copy = try complete(number)
        if let known = try session(content: digest, size: size, host: file.targetHost) {
            abandonImport(number)
            return ImportOutcome(session: known, isNew: false)
        }
        let place = try place(of: digest, size, file.targetHost)
        guard place == seen else {
            throw QueueError(.io, "the queue changed while the file was taken", hint: "try again")
        }
        let registration = place.isKnown ? nil : try registration(of: file, digest, size, place)
        _ = try registration?.validated()
        let now = now
        try guarding { () throws(QueueError) in
            _ = try copy.writer.seal()
            let sidecar = AssetSidecar(
                session: place.session.text, asset: place.asset.text, byteSize: size, sha256: digest.hex,
                crc32: place.crc32, storedAt: now.milliseconds)
            try spool.nameContent(copy.staged, sidecar)
            try spool.publish(
                copy.staged, registration, as: place.session, intact: isIntact ? [place.asset] : [])
        }
        imports[number] = nil
        try change { _ throws(QueueError) in
            if let registration {
                _ = try enter(registration, place.session, isNew: true)
            } else {
                try wantAgain(place.asset)
            }
            _ = try markStored(place.asset, digest, place.crc32, now)
        }
        undescribed.remove(place.session)
        return ImportOutcome(
            session: place.session, isNew: !place.isKnown, isRestored: place.isKnown)
    }

    private func complete(_ number: Int) throws(QueueError) -> Import {
        _ = try writable
        let copy = try running(number)
        guard copy.writer.length == copy.byteSize else {
            throw QueueError(.sizeMismatch, "the file became shorter while it was read")
        }
        return copy
    }

    /// Where a content belongs: a session that has lost it, or else its own, which follows from the content and from how
    /// often it was taken and discarded (or taken for another host) before.
    private func place(
        of digest: SHA256Digest, _ size: Int64, _ host: String
    ) throws(QueueError) -> ImportPlace {
        let lost = try database.first(ImportQueries.lost, digest, size, host) { row throws(QueueError) in
            ImportPlace(
                session: try row.sessionID(), asset: try row.assetID(), crc32: try row.uint32OrNil(),
                isKnown: true)
        }
        if let lost, pulls[lost.asset] == nil { return lost }
        let account = try currentAccount(host: host)
        var attempt = 0
        while true {
            let name = Identity.importedSession(sha256: digest, attempt: attempt)
            guard let id = SessionID(name) else { throw QueueError(.invalidInput, "no session id") }
            let row = try sessionRow(id)
            let isOver: Bool =
                if let row {
                    row.state == .cancelled || row.state == .imported || row.targetHost != host
                        || row.account != nil && account != nil && row.account != account
                } else {
                    try spool.isCancelled(id)
                }
            guard isOver else {
                let asset = Identity.asset(session: id, sourceKey: digest.hex)
                return ImportPlace(session: id, asset: asset, crc32: nil, isKnown: row != nil)
            }
            attempt += 1
        }
    }

    /// Whether the bytes lie in their place already. What cannot be read there does not count.
    private func holds(
        _ place: ImportPlace, _ digest: SHA256Digest, _ size: Int64
    ) async throws(QueueError) -> Bool {
        let file: AssetFile
        do throws(QueueError) {
            file = try spool.openStored(place.session, place.asset, size: size)
        } catch {
            return false
        }
        return (try? await Self.digest(of: file)) == digest
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
        of file: ImportedFile, _ digest: SHA256Digest, _ size: Int64, _ place: ImportPlace
    ) throws(QueueError) -> CaptureRegistration {
        var registration = CaptureRegistration(
            captureID: place.session.text, sourceKind: file.sourceKind, origin: nil,
            originDeviceID: try hubID(),
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
        registration.account = try currentAccount(host: file.targetHost)
        return registration
    }
}

enum ImportQueries {
    /// Not another account's: what somebody else has is not what this user offers.
    private static let isOurs = """
        (s.account IS NULL OR NOT EXISTS (SELECT 1 FROM accounts AS o WHERE o.host = s.target_host AND o.is_current = 1
            AND o.account <> s.account))
        """
    static let content = """
        SELECT s.id FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq
        WHERE a.sha256 = ?1 AND a.byte_size = ?2 AND s.state <> 'cancelled'
            AND (a.pull_state IN ('stored', 'released') OR a.upload_state = 'uploaded')
            AND (?3 IS NULL OR s.target_host = ?3 AND \(isOurs)) ORDER BY s.seq LIMIT 1
        """
    /// What was stored and is not here any more, nor in the cloud.
    static let lost = """
        SELECT s.id, a.id, a.crc32 FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq
        WHERE a.sha256 = ?1 AND a.byte_size = ?2 AND s.target_host = ?3 AND s.state NOT IN ('cancelled', 'imported')
            AND a.pull_state IN ('damaged', 'wanted') AND a.upload_state <> 'uploaded' AND \(isOurs)
        ORDER BY s.seq LIMIT 1
        """
}

/// Where an imported file is put.
private struct ImportPlace: Equatable {
    let session: SessionID
    let asset: AssetID
    let crc32: UInt32?
    /// Whether the session is in the queue, without its bytes.
    let isKnown: Bool
}
