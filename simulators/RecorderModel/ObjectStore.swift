internal import Dates
internal import ObjectTransfer
internal import Recorder

/// One object of the recorder's storage.
struct StoredObject: Sendable, Hashable {
    let metadata: ObjectMetadata
    let content: ObjectContent
    /// Whether this is a manifest: its capture is sealed while the manifest exists.
    var isManifest: Bool { metadata.type == RecorderProfile.manifestType }
    var id: ObjectID { metadata.id }
    var size: UInt32 { metadata.currentSize ?? 0 }
}

/// The objects of one recorder, by identifier. Deletion forgets an object; it never touches a file of the user's.
struct ObjectStore: Sendable {
    private(set) var objects: [StoredObject] = []
    private(set) var generation: UInt32
    /// What must be kept for the next start.
    private(set) var state: RecorderState
    private let serial: String
    private let faults: ContentFaults

    private static let firstID: UInt64 = 0x100

    /// Gives the folder's files their identifiers: those of `state` where it knows them, else the next ones in the
    /// order of names, each capture's manifest after its files.
    init(folder: CaptureFolder, serial: String, state: RecorderState, faults: ContentFaults) {
        self.serial = serial
        self.state = state
        self.faults = faults
        generation = state.generation ?? Self.generation(of: folder)
        self.state.generation = generation
        var nextID = max(Self.firstID, (state.objects.values.max() ?? 0) + 1)
        var position = 0
        for capture in folder.captures {
            var files: [Manifest.File] = []
            for file in capture.files {
                let id = identifier("\(capture.name)/\(file.name)", &nextID)
                let name = faults.name(file.name, at: position)
                position += 1
                files.append(
                    Manifest.File(
                        objectID: id, kind: file.kind, name: name, mimeType: file.mimeType,
                        sizeBytes: file.size, sha256: file.sha256))
                add(Self.object(id, name, file))
            }
            let id = identifier("\(capture.name)/", &nextID)
            guard capture.description.sealed != false else { continue }
            add(Self.manifest(id, faults.manifest(manifest(of: capture, files)), of: capture))
        }
        objects.sort { $0.id < $1.id }
    }

    /// The directory listing object (OTS 4): itself first, as Zephyr does, then every object in order.
    var listing: [UInt8] {
        let records = objects.map(\.metadata.directoryRecord)
        let properties = ObjectProperties.read
        let own = ObjectMetadata(
            id: .directory, name: "Directory", type: .directoryListing, currentSize: 0, properties: properties
        )
        var directory = own
        directory.currentSize = UInt32(records.reduce(own.directoryRecord.count) { $0 + $1.count })
        return faults.listing([directory.directoryRecord] + records)
    }

    var sealedCaptures: Int { objects.count { $0.isManifest } }

    var usedBytes: Int64 { objects.reduce(0) { $0 + Int64($1.size) } }

    func object(_ id: ObjectID) -> StoredObject? {
        objects.first { $0.id == id }
    }

    mutating func delete(_ id: ObjectID) {
        objects.removeAll { $0.id == id }
        state.deleted.insert(id.value)
    }

    private mutating func identifier(_ key: String, _ nextID: inout UInt64) -> ObjectID {
        if let known = state.objects[key].flatMap({ ObjectID($0) }) { return known }
        guard let id = ObjectID(nextID) else { fatalError("no object identifiers are left") }
        nextID += 1
        state.objects[key] = id.value
        return id
    }

    private mutating func add(_ object: StoredObject) {
        guard !state.deleted.contains(object.id.value) else { return }
        objects.append(object)
    }

    private static func object(_ id: ObjectID, _ name: String, _ file: CaptureFolder.File) -> StoredObject {
        StoredObject(
            metadata: ObjectMetadata(
                id: id, name: name,
                type: file.kind == .audio ? RecorderProfile.audioType : RecorderProfile.photoType,
                currentSize: file.size, allocatedSize: file.size,
                created: ObjectDate(unixSeconds: file.modified), properties: [.read, .delete]),
            content: .file(path: file.path))
    }

    private static func manifest(
        _ id: ObjectID, _ bytes: [UInt8], of capture: CaptureFolder.Capture
    ) -> StoredObject {
        let sealed = capture.files.map(\.modified).max() ?? 0
        return StoredObject(
            metadata: ObjectMetadata(
                id: id, name: "manifest.json", type: RecorderProfile.manifestType,
                currentSize: UInt32(bytes.count), allocatedSize: UInt32(bytes.count),
                created: ObjectDate(unixSeconds: sealed), properties: [.read, .delete]),
            content: .bytes(bytes))
    }

    /// Follows from the files, so that a restart without a state file serves the same storage exactly when the
    /// identifiers mean the same files.
    private static func generation(of folder: CaptureFolder) -> UInt32 {
        var crc = CRC32()
        for capture in folder.captures {
            for file in capture.files {
                crc.update(Array("\(capture.name)/\(file.name) \(file.size)\n".utf8))
            }
        }
        return max(1, crc.value)
    }
}

extension ObjectStore {
    /// The manifest as the recorder would have written it when it sealed the capture.
    private func manifest(of capture: CaptureFolder.Capture, _ files: [Manifest.File]) -> Manifest {
        let description = capture.description
        let first = capture.files.map(\.modified).min() ?? 0
        let captureID = description.captureId ?? derivedUUID("\(serial)/\(capture.name)")
        let started = description.startedAt ?? Timestamp(secondsSince1970: first).description
        guard let startedAt = WrittenTime(started) else { fatalError("\(started) was checked to be a time") }
        return Manifest(
            captureID: captureID, title: description.title, startedAt: startedAt,
            endedAt: description.endedAt.flatMap { WrittenTime($0) }, durationMs: description.durationMs ?? 0,
            files: files,
            events: events(of: capture, captureID, files))
    }

    private func events(
        of capture: CaptureFolder.Capture, _ captureID: String, _ files: [Manifest.File]
    ) -> [Manifest.Event] {
        (capture.description.events ?? []).enumerated().map { index, event in
            let position = capture.files.firstIndex { $0.name == event.file }
            return Manifest.Event(
                id: event.id ?? derivedUUID("\(captureID) \(index)"), relativeTimeMs: event.relativeTimeMs,
                kind: event.type, text: event.text, objectID: position.map { files[$0].objectID },
                voiceStartOffsetMs: event.voiceStartOffsetMs, voiceEndOffsetMs: event.voiceEndOffsetMs)
        }
    }
}
