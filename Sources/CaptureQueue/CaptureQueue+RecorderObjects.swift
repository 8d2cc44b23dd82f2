/// When an object may be deleted on the recorder (recorder-profile.md, Order of work).
package enum RecorderDeletePolicy: String, Sendable, CaseIterable {
    /// The cloud holds it with the same SHA-256.
    case afterUpload = "after-upload"
    /// It is durable in the queue.
    case afterQueue = "after-queue"
    case never
}

/// An object that may be deleted on its recorder.
package struct DeletableObject: Sendable, Equatable {
    /// What the object is to the queue.
    package enum Subject: Sendable, Equatable {
        case asset(AssetID)
        /// The manifest of a session, after all its files are gone from the recorder.
        case manifest(SessionID)
    }

    package let subject: Subject
    /// The object's id on the recorder, lower-case hex.
    package let objectID: String
    /// What the recorder said about the object when it was announced, in the caller's words: a delete is
    /// preceded by a fresh look and a comparison with this.
    package let fingerprint: String?
    /// The size that was pulled; nil for a manifest.
    package let byteSize: Int64?
    /// A delete was sent before and its outcome is not known: where the recorder does not list the object
    /// any more, it is `deleted`.
    package let isInDoubt: Bool
}

extension CaptureQueue {
    /// The objects of this recorder and generation that the policy allows to delete, files before their
    /// manifest.
    package func deletableObjects(
        recorder serial: String, storageGeneration: UInt32, policy: RecorderDeletePolicy, limit: Int = 256
    ) throws(QueueError) -> [DeletableObject] {
        guard policy != .never else { return [] }
        // While it is not known what the disk holds, only the cloud's receipt counts.
        let isAfterUpload = policy == .afterUpload || isUnverified
        let assets = try database.all(
            RecorderQueries.deletableAssets, serial, storageGeneration, isAfterUpload, limit
        ) { row throws(QueueError) in try DeletableObject(asset: &row) }
        let manifests = try database.all(
            RecorderQueries.deletableManifests, serial, storageGeneration, isAfterUpload, limit
        ) { row throws(QueueError) in try DeletableObject(manifest: &row) }
        return assets + manifests
    }

    /// How many those are, without reading them.
    package func deletableCount(
        recorder serial: String, storageGeneration: UInt32, policy: RecorderDeletePolicy, limit: Int = 256
    ) throws(QueueError) -> Int {
        guard policy != .never else { return 0 }
        var count: Int64 = 0
        for query in [RecorderQueries.deletableAssets, RecorderQueries.deletableManifests] {
            count +=
                try database.number(
                    "SELECT count(*) FROM (\(query))", serial, storageGeneration, policy == .afterUpload,
                    limit) ?? 0
        }
        return Int(clamping: count)
    }

    /// One object of this recorder and generation, if the policy allows to delete it.
    package func deletableObject(
        _ objectID: String, recorder serial: String, storageGeneration: UInt32, policy: RecorderDeletePolicy
    ) throws(QueueError) -> DeletableObject? {
        guard policy != .never else { return nil }
        // While it is not known what the disk holds, only the cloud's receipt counts.
        let isAfterUpload = policy == .afterUpload || isUnverified
        let asset = try database.first(
            RecorderQueries.deletableAsset, serial, storageGeneration, isAfterUpload, objectID
        ) { row throws(QueueError) in try DeletableObject(asset: &row) }
        if let asset { return asset }
        return try database.first(
            RecorderQueries.deletableManifest, serial, storageGeneration, isAfterUpload, objectID
        ) { row throws(QueueError) in try DeletableObject(manifest: &row) }
    }

    /// Writes down that a delete is about to be sent.
    package func beginDelete(_ subject: DeletableObject.Subject) throws(QueueError) {
        try set(subject, .deleting)
    }

    /// Writes down the outcome of a delete: `deleted`, `present` when the recorder refused it, or `gone` when
    /// the object was not there (or was no longer the same).
    package func settleDelete(
        _ subject: DeletableObject.Subject, _ state: RecorderObjectState
    ) throws(QueueError) {
        try set(subject, state)
    }

    /// The object ids of this recorder and generation that the queue knows, as files or manifests, so that a
    /// listing can be compared with them.
    package func knownObjects(
        recorder serial: String, storageGeneration: UInt32
    ) throws(QueueError) -> Set<String> {
        let assets = try database.all(RecorderQueries.knownAssets, serial, storageGeneration) {
            row throws(QueueError) in try row.text()
        }
        let manifests = try database.all(RecorderQueries.knownManifests, serial, storageGeneration) {
            row throws(QueueError) in try row.text()
        }
        return Set(assets).union(manifests)
    }

    private func set(
        _ subject: DeletableObject.Subject, _ state: RecorderObjectState
    ) throws(QueueError) {
        try change { database throws(QueueError) in
            switch subject {
            case .asset(let id):
                try database.run(
                    "UPDATE assets SET recorder_state = ? WHERE id = ? AND recorder_state <> 'none'", state,
                    id)
            case .manifest(let id):
                try database.run(
                    "UPDATE sessions SET manifest_state = ? WHERE id = ? AND manifest_state <> 'none'", state,
                    id)
            }
        }
    }
}

extension DeletableObject {
    fileprivate init(asset row: inout RowReader) throws(QueueError) {
        subject = .asset(try row.assetID())
        objectID = try row.text()
        fingerprint = try row.textOrNil()
        byteSize = try row.int64()
        isInDoubt = try row.text() == "deleting"
    }

    fileprivate init(manifest row: inout RowReader) throws(QueueError) {
        subject = .manifest(try row.sessionID())
        objectID = try row.text()
        fingerprint = try row.textOrNil()
        byteSize = nil
        isInDoubt = try row.text() == "deleting"
    }
}

enum RecorderQueries {
    static let deletableAssets = assets + " ORDER BY a.session_seq, a.ordinal LIMIT ?4"
    static let deletableAsset = assets + " AND a.source_key = ?4"
    static let deletableManifests = manifests + " ORDER BY s.seq LIMIT ?4"
    static let deletableManifest = manifests + " AND s.manifest_object_id = ?4"

    private static let assets = """
        SELECT a.id, a.source_key, a.fingerprint, a.byte_size, a.recorder_state
        FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq
        WHERE a.recorder_serial = ?1 AND a.storage_generation = ?2
            AND a.recorder_state IN ('present', 'deleting') AND a.pull_state IN ('stored', 'released')
            AND (a.announced_sha256 IS NULL OR a.announced_sha256 = a.sha256)
            AND (NOT ?3 OR a.upload_state = 'uploaded' OR (a.exclusion = 'empty' AND s.state = 'imported'))
        """
    /// A manifest goes last: none of its files may be on the recorder or wanted any more.
    private static let manifests = """
        SELECT s.id, s.manifest_object_id, s.manifest_fingerprint, s.manifest_state FROM sessions AS s
        WHERE s.recorder_serial = ?1 AND s.storage_generation = ?2
            AND s.manifest_state IN ('present', 'deleting') AND s.state <> 'draft'
            AND (NOT ?3 OR s.state = 'imported')
            AND NOT EXISTS (SELECT 1 FROM assets AS a WHERE a.session_seq = s.seq
                AND (a.recorder_state IN ('present', 'deleting') OR a.pull_state = 'wanted'))
        """
    static let knownAssets =
        "SELECT source_key FROM assets WHERE recorder_serial = ? AND storage_generation = ?"
    static let knownManifests = """
        SELECT manifest_object_id FROM sessions WHERE recorder_serial = ? AND storage_generation = ?
            AND manifest_state <> 'none'
        """
}
