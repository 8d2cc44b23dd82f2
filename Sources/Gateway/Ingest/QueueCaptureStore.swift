import CaptureQueue
import EventLoop
import FoundationEssentials
import ObjectTransfer
import Recorder

/// The durable side of a pull: the recorder profile's store over the capture queue. One for each link.
actor QueueCaptureStore: CaptureStore {
    private let queue: CaptureQueue
    private let targetHost: String
    private let policy: DeletePolicy
    private let now: @Sendable () -> Date
    /// The parts that this link has open, so that a lost link closes them durably.
    private var open: Set<AssetID> = []
    private var manifests: [ObjectID: SessionID] = [:]

    init(queue: CaptureQueue, targetHost: String, policy: DeletePolicy, now: @escaping @Sendable () -> Date) {
        self.queue = queue
        self.targetHost = targetHost
        self.policy = policy
        self.now = now
    }

    /// Makes durable what the link brought so far; called when it has ended, however it ended.
    func suspend() async {
        for id in open { try? await queue.suspendPull(id) }
        open = []
    }

    func manifest(_ key: AssetKey, sizeBytes: UInt32) async throws(RecorderError) -> [UInt8]? {
        nil  // manifests are small and are read anew on each link
    }

    func plan(
        _ capture: RecorderCapture, from recorder: RecorderIdentity
    ) async throws(RecorderError) -> [AssetKey: AssetPlan] {
        let mapping = CaptureMapping(targetHost: targetHost, now: now())
        let newHere = try await unknownAssets(of: capture)
        for registration in mapping.registrations(for: newHere, from: recorder) {
            try await storing { queue throws(QueueError) in _ = try await queue.register(registration) }
        }
        for object in capture.missing {
            try await giveUp(
                AssetKey(
                    serial: recorder.serial, storageGeneration: capture.storageGeneration, objectID: object))
        }
        var plans: [AssetKey: AssetPlan] = [:]
        for asset in capture.assets { plans[asset.key] = try await plan(asset) }
        return plans
    }

    /// A salvaged object that the queue knows stays in the session that it is in; a sealed capture is registered again
    /// whole, because the queue finds its session by the captureId.
    private func unknownAssets(of capture: RecorderCapture) async throws(RecorderError) -> RecorderCapture {
        guard capture.origin == .salvage else { return capture }
        var unknown: [RecorderAsset] = []
        for asset in capture.assets where try await record(asset.key) == nil { unknown.append(asset) }
        return RecorderCapture(
            origin: .salvage, storageGeneration: capture.storageGeneration, assets: unknown, missing: [])
    }

    /// A file that was announced and is gone from the recorder before it was read does not hold up the others of its
    /// capture; it stays listed, with the reason.
    private func giveUp(_ asset: AssetKey) async throws(RecorderError) {
        guard let record = try await record(asset), record.pullState == .wanted else { return }
        try await storing { queue throws(QueueError) in
            try await queue.markUnobtainable(record.id, reason: "the recorder does not have it any more")
        }
    }

    private func plan(_ asset: RecorderAsset) async throws(RecorderError) -> AssetPlan {
        guard let record = try await record(asset.key) else {
            return .refused("the queue did not take it: another capture has the same identity")
        }
        switch record.pullState {
        case .stored, .released: return .held
        case .unobtainable, .damaged: return .refused("the queue has given it up")
        case .wanted: break
        }
        guard record.byteSize == Int64(asset.sizeBytes) else {
            return .refused(
                "its size is \(asset.sizeBytes) now and was \(record.byteSize) when it was queued")
        }
        guard record.pulledBytes > 0 else { return .wanted(nil) }
        let digest = PrefixCRC()
        let id = record.id
        let offset = try await storing { queue throws(QueueError) in
            try await queue.beginPull(id) { digest.update($0) }
        }
        open.insert(id)
        guard let held = UInt32(exactly: offset), held > 0 else { return .wanted(nil) }
        return .wanted(ResumePoint(offset: held, crc32: digest.value, objectSize: asset.sizeBytes))
    }

    func append(_ bytes: [UInt8], at offset: UInt32, to asset: AssetKey) async throws(RecorderError) {
        let id = try await opened(asset)
        _ = try await storing { queue throws(QueueError) in
            try await queue.append(bytes, to: id, at: Int64(offset))
        }
    }

    func checkpoint(_ asset: AssetKey, at point: ResumePoint) async throws(RecorderError) {
        let id = try await opened(asset)
        _ = try await storing { queue throws(QueueError) in try await queue.checkpointPull(id) }
    }

    func restart(_ asset: AssetKey) async throws(RecorderError) {
        let id = try await opened(asset)
        try await storing { queue throws(QueueError) in try await queue.restartPull(id) }
    }

    func finish(_ asset: RecorderAsset, proof: AssetProof) async throws(RecorderError) -> AssetVerdict {
        let id = try await opened(asset.key)
        let crc: UInt32 =
            switch proof {
            case .checksum(let value), .none(let value): value
            }
        _ = try await storing { queue throws(QueueError) in try await queue.finishPull(id, crc32: crc) }
        open.remove(id)
        return .durable
    }

    func custody(of asset: AssetKey) async throws(RecorderError) -> Custody {
        let (subject, custody) = try await subject(of: asset)
        // Written down before the recorder is told: a delete whose answer is lost is in doubt, not forgotten.
        if let subject, policy.allows(custody) {
            try await storing { queue throws(QueueError) in try await queue.beginDelete(subject) }
        }
        return custody
    }

    func didDelete(_ asset: AssetKey) async throws(RecorderError) {
        let subject: DeletableObject.Subject =
            if let session = manifests[asset.objectID] { .manifest(session) } else { .asset(asset.queueID) }
        try await storing { queue throws(QueueError) in try await queue.settleDelete(subject, .deleted) }
    }

    private func subject(
        of asset: AssetKey
    ) async throws(RecorderError) -> (DeletableObject.Subject?, Custody) {
        for (policy, custody) in [
            (RecorderDeletePolicy.afterUpload, Custody.uploaded), (.afterQueue, .queued),
        ] {
            let objects = try await storing { queue throws(QueueError) in
                try await queue.deletableObjects(
                    recorder: asset.serial, storageGeneration: asset.storageGeneration, policy: policy,
                    limit: DirectoryListing.maximumObjects)
            }
            guard let object = objects.first(where: { $0.objectID == asset.objectID.description }) else {
                continue
            }
            if case .manifest(let session) = object.subject { manifests[asset.objectID] = session }
            return (object.subject, custody)
        }
        return (nil, .none)
    }

    /// The asset's part, opened from its start when it is not open yet.
    private func opened(_ asset: AssetKey) async throws(RecorderError) -> AssetID {
        let id = asset.queueID
        guard !open.contains(id) else { return id }
        _ = try await storing { queue throws(QueueError) in try await queue.beginPull(id) }
        open.insert(id)
        return id
    }

    private func record(_ asset: AssetKey) async throws(RecorderError) -> AssetRecord? {
        try await storing { queue throws(QueueError) in try await queue.asset(asset.queueID) }
    }

    /// Runs a step on the queue. What makes every other step fail too ends the link; anything else concerns one file.
    private func storing<Value: Sendable>(
        _ body: @Sendable (CaptureQueue) async throws(QueueError) -> Value
    ) async throws(RecorderError) -> Value {
        do throws(QueueError) {
            return try await body(queue)
        } catch {
            let endsLink: Bool =
                switch error.code {
                case .diskFull, .lowSpace, .io, .storageSuspect, .closed, .database, .corrupt: true
                default: false
                }
            throw RecorderError(.store, error.message, hint: error.hint, endsLink: endsLink)
        }
    }
}

extension AssetKey {
    /// The asset's identity in the queue and in the cloud.
    var queueID: AssetID {
        Identity.asset(serial: serial, storageGeneration: storageGeneration, objectID: objectID.description)
    }
}

/// The CRC-32 of a prefix, computed on the queue's executor while it reads the prefix again.
private final class PrefixCRC: Sendable {
    private let crc = Locked(CRC32())

    var value: UInt32 { crc.withLock { $0.value } }

    func update(_ bytes: UnsafeRawBufferPointer) {
        crc.withLock { $0.update(bytes) }
    }
}
