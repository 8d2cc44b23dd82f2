package import ObjectTransfer

/// The identity of an object's content, for ever: an object identifier counts only within the recorder and
/// the generation of its storage.
package struct AssetKey: Sendable, Hashable, CustomStringConvertible {
    /// The serial number of the recorder.
    package let serial: String
    /// The generation of its storage.
    package let storageGeneration: UInt32
    /// The object.
    package let objectID: ObjectID

    /// The key of `objectID` on this recorder, in this generation.
    package init(serial: String, storageGeneration: UInt32, objectID: ObjectID) {
        (self.serial, self.storageGeneration, self.objectID) = (serial, storageGeneration, objectID)
    }

    package var description: String { "\(serial)/\(storageGeneration)/\(objectID)" }
}

/// A file that a recorder has, and what is known of it.
package struct RecorderAsset: Sendable, Hashable {
    /// Its identity, for ever.
    package let key: AssetKey
    /// What it is: as its manifest says, else by the type of the object.
    package let kind: Manifest.Kind
    /// The name for people and for the cloud.
    package let name: SafeName
    /// The media type of the manifest, else `application/octet-stream`.
    package let mimeType: String
    /// The object as it was listed; always with its size.
    package let object: ObjectMetadata
    /// The digest that the manifest gives, in lower-case hexadecimal digits.
    package let sha256: String?

    /// The listed size.
    package var sizeBytes: UInt32 { object.currentSize ?? 0 }
}

/// Files that belong together and become one session.
package struct RecorderCapture: Sendable, Hashable {
    /// Where a capture comes from.
    package enum Origin: Sendable, Hashable {
        /// A sealed capture, its manifest and the object that holds it.
        case manifest(Manifest, ObjectMetadata)
        /// Objects that no manifest names. The group has no identity of its own and may be a different one
        /// the next time: an asset that the store knows stays in the session that it has.
        case salvage
    }

    /// Where the capture comes from.
    package let origin: Origin
    /// The generation of the storage that the objects are in.
    package let storageGeneration: UInt32
    /// The files that the recorder has, in the order of the manifest.
    package let assets: [RecorderAsset]
    /// Files of the manifest that the recorder does not list (yet, or any more).
    package let missing: [Manifest.File]

    /// A capture of these files.
    package init(
        origin: Origin, storageGeneration: UInt32, assets: [RecorderAsset], missing: [Manifest.File]
    ) {
        (self.origin, self.storageGeneration) = (origin, storageGeneration)
        (self.assets, self.missing) = (assets, missing)
    }
}

/// What came of reading one manifest object.
package enum ManifestReading: Sendable, Hashable {
    /// It was read whole.
    case decoded(Manifest)
    /// It was read whole and is no manifest, for this reason.
    case malformed(String)
    /// It could not be read this time, for this reason; which files it names is unknown.
    case unread(String)
}

/// What a recorder has, sorted into captures to pull, oldest first. Pure: a function of what was read.
package struct CaptureCatalog: Sendable, Hashable {
    /// The captures, oldest first, salvaged objects last.
    package private(set) var captures: [RecorderCapture] = []
    /// What is not as it should be, for people; nothing is left out without an entry here.
    package private(set) var problems: [String] = []
    /// Whether everything on the recorder was understood, so that a manifest may be deleted once its files
    /// are gone.
    package private(set) var isComplete: Bool
    /// Every object of the recorder; nil where the listing is in doubt, and an object that it leaves out may be there
    /// all the same.
    package let present: Set<ObjectID>?

    private var owners: Set<ObjectID> = []
    private let serial: String
    private let storageGeneration: UInt32

    /// Sorts a listing. `manifests` has a reading for each manifest object; `isRecording` tells whether
    /// unnamed objects may still be named by a manifest to come. Unnamed objects are salvaged only where no manifest can
    /// name them that was not read.
    package init(
        listing: DirectoryListing, manifests: [ObjectID: ManifestReading], serial: String,
        storageGeneration: UInt32, isRecording: Bool
    ) {
        (self.serial, self.storageGeneration) = (serial, storageGeneration)
        isComplete = listing.problems.isEmpty
        present = listing.problems.isEmpty ? Set(listing.objects.map(\.id)) : nil
        problems = listing.problems.map { "listing: \($0)" }
        let objects = Dictionary(listing.objects.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
        var unreadManifests = false
        var sealed: [(manifest: Manifest, object: ObjectMetadata)] = []
        for object in listing.objects where object.type == RecorderProfile.manifestType {
            switch manifests[object.id] ?? .unread("it was not read") {
            case .decoded(let manifest):
                problems += manifest.problems.map { "manifest \(object.id): \($0)" }
                if !manifest.problems.isEmpty { isComplete = false }
                sealed.append((manifest, object))
            case .malformed(let reason):
                problems.append("manifest \(object.id): \(reason)")
                isComplete = false
            case .unread(let reason):
                problems.append("manifest \(object.id): \(reason)")
                unreadManifests = true
                isComplete = false
            }
        }
        sealed.sort { ($0.manifest.startedAt, $0.object.id) < ($1.manifest.startedAt, $1.object.id) }
        for (manifest, object) in sealed { add(manifest, from: object, objects: objects) }
        salvage(listing.objects, isAllowed: !isRecording && !unreadManifests && !listing.mayHideObjects)
    }

    private mutating func add(
        _ manifest: Manifest, from object: ObjectMetadata, objects: [ObjectID: ObjectMetadata]
    ) {
        if captures.contains(where: { $0.captureID == manifest.captureID }) {
            problems.append("manifest \(object.id): another one has the same captureId")
            isComplete = false
            return
        }
        var assets: [RecorderAsset] = []
        var missing: [Manifest.File] = []
        for file in manifest.files {
            guard let listed = objects[file.objectID] else {
                missing.append(file)
                continue
            }
            guard listed.type != RecorderProfile.manifestType, owners.insert(file.objectID).inserted else {
                problems.append("manifest \(object.id): object \(file.objectID) is not its file")
                isComplete = false
                continue
            }
            if listed.currentSize != file.sizeBytes {
                problems.append(
                    "object \(file.objectID): \(listed.currentSize ?? 0) bytes are listed, its manifest "
                        + "says \(file.sizeBytes)")
            }
            assets.append(asset(listed, kind: file.kind, file: file))
        }
        captures.append(
            RecorderCapture(
                origin: .manifest(manifest, object), storageGeneration: storageGeneration, assets: assets,
                missing: missing))
    }

    private mutating func salvage(_ objects: [ObjectMetadata], isAllowed: Bool) {
        var assets: [RecorderAsset] = []
        for object in objects where object.type != RecorderProfile.manifestType {
            guard !owners.contains(object.id) else { continue }
            guard let kind = Self.kind(of: object.type) else {
                problems.append("object \(object.id): its type \(object.type) is not known")
                continue
            }
            if isAllowed { assets.append(asset(object, kind: kind, file: nil)) }
        }
        guard !assets.isEmpty else { return }
        assets.sort { $0.key.objectID < $1.key.objectID }
        problems.append("\(assets.count) objects are named by no manifest and are salvaged")
        captures.append(
            RecorderCapture(
                origin: .salvage, storageGeneration: storageGeneration, assets: assets, missing: []))
    }

    private func asset(
        _ object: ObjectMetadata, kind: Manifest.Kind, file: Manifest.File?
    ) -> RecorderAsset {
        RecorderAsset(
            key: key(of: object.id), kind: kind,
            name: SafeName(file?.name ?? object.name, fallback: object.id.description),
            mimeType: file?.mimeType ?? "application/octet-stream", object: object, sha256: file?.sha256)
    }

    /// The key of an object on this recorder.
    package func key(of id: ObjectID) -> AssetKey {
        AssetKey(serial: serial, storageGeneration: storageGeneration, objectID: id)
    }

    private static func kind(of type: ObjectType) -> Manifest.Kind? {
        switch type {
        case RecorderProfile.audioType: .audio
        case RecorderProfile.photoType: .photo
        default: nil
        }
    }
}

extension RecorderCapture {
    /// The UUID of a sealed capture.
    package var captureID: String? {
        if case .manifest(let manifest, _) = origin { manifest.captureID } else { nil }
    }
}
