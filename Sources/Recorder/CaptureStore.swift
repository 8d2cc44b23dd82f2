package import ObjectTransfer

/// How safe the bytes of an object are outside the recorder.
package enum Custody: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Not held.
    case none
    /// Durable in the queue of the hub.
    case queued
    /// In the cloud, with the same SHA-256.
    case uploaded

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// When an object is deleted on the recorder.
package enum DeletePolicy: String, Sendable, Hashable, CaseIterable {
    /// When the cloud holds it.
    case afterUpload = "after-upload"
    /// When the queue holds it.
    case afterQueue = "after-queue"
    /// Never.
    case never

    /// Whether an object in this custody may be deleted.
    package func allows(_ custody: Custody) -> Bool {
        switch self {
        case .afterUpload: custody >= .uploaded
        case .afterQueue: custody >= .queued
        case .never: false
        }
    }
}

/// A part of an object that the store holds durably.
package struct ResumePoint: Sendable, Hashable {
    /// How many bytes from the start are held.
    package var offset: UInt32
    /// Their CRC-32.
    package var crc32: UInt32
    /// The size that the object had when the part was read.
    package var objectSize: UInt32

    /// A part of `offset` bytes.
    package init(offset: UInt32, crc32: UInt32, objectSize: UInt32) {
        (self.offset, self.crc32, self.objectSize) = (offset, crc32, objectSize)
    }
}

/// What the store wants of one asset.
package enum AssetPlan: Sendable, Hashable {
    /// The bytes are wanted, from this point on or from the start.
    case wanted(ResumePoint?)
    /// The whole is held, and its size is the one that is listed now (another size is `refused`).
    case held
    /// The bytes are not wanted, for this reason.
    case refused(String)
}

/// How the whole of an asset was proved to be what the recorder has.
package enum AssetProof: Sendable, Hashable {
    /// The recorder computed the same CRC-32.
    case checksum(UInt32)
    /// The recorder computes no checksums; the bytes have this one.
    case none(UInt32)
}

/// What became of an asset that was complete.
package enum AssetVerdict: Sendable, Hashable {
    /// It is durable, and its SHA-256 is that of the manifest where there is one.
    case durable
    /// It is durable, but its SHA-256 is not that of the manifest; the recorder must keep it.
    case digestMismatch
}

/// The durable side of a pull, as the link needs it. Every call returns when its effect is durable, except
/// ``append(_:at:to:)``, and throws `store` (with `endsLink` where nothing else can be stored either).
package protocol CaptureStore: Sendable {
    /// The manifest of `key` as it was kept, if the store has it: it is not read again. `sizeBytes` must be
    /// the size of what was kept.
    func manifest(_ key: AssetKey, sizeBytes: UInt32) async throws(RecorderError) -> [UInt8]?

    /// Takes a sealed capture into the queue (again) and says what is wanted of it, for each of its assets. A salvaged
    /// object is taken in when its first bytes come: a recorder may list what it does not have.
    func plan(
        _ capture: RecorderCapture, from recorder: RecorderIdentity
    ) async throws(RecorderError) -> [AssetKey: AssetPlan]

    /// The assets of this recorder and generation that are still to come and are not among these objects.
    func wanted(
        besides present: Set<ObjectID>, from recorder: RecorderIdentity, storageGeneration: UInt32
    ) async throws(RecorderError) -> [AssetKey]

    /// Settles that the recorder does not have the asset any more. What had come of it is kept, and it is taken up
    /// again should it be listed once more.
    func giveUp(_ asset: AssetKey) async throws(RecorderError)

    /// Writes bytes of an asset; they need not be durable yet. `offset` is always the end of what was
    /// written before.
    func append(_ bytes: [UInt8], at offset: UInt32, to asset: AssetKey) async throws(RecorderError)

    /// Makes durable what was appended, then journals `point`.
    func checkpoint(_ asset: AssetKey, at point: ResumePoint) async throws(RecorderError)

    /// Forgets the bytes of an asset that is not complete.
    func restart(_ asset: AssetKey) async throws(RecorderError)

    /// Takes the complete asset into the queue, durably.
    func finish(
        _ asset: RecorderAsset, proof: AssetProof
    ) async throws(RecorderError) -> AssetVerdict

    /// How safe the bytes are now. For the object of a manifest: how safe the session is that was made of
    /// it, with all its assets. `none` where a digest differs or a proof is missing.
    func custody(of asset: AssetKey) async throws(RecorderError) -> Custody

    /// Notes that the recorder does not have the object any more.
    func didDelete(_ asset: AssetKey) async throws(RecorderError)
}
