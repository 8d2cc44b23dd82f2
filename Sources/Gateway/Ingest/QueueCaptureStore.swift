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
    /// Salvaged objects that the queue does not know: each becomes a session when its first bytes are here.
    private var salvage: [AssetKey: CaptureRegistration] = [:]

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
        try await requireSpace(for: capture)
        if let registration = mapping.registration(of: capture, from: recorder) {
            try await storing { queue throws(QueueError) in _ = try await queue.register(registration) }
        }
        var plans: [AssetKey: AssetPlan] = [:]
        for asset in capture.assets {
            if let record = try await record(asset.key) {
                plans[asset.key] = try await plan(asset, record)
            } else {
                // Named by no manifest, or by one that came after its session was sealed.
                salvage[asset.key] = mapping.salvaged(asset, from: recorder)
                plans[asset.key] = .wanted(nil)
            }
        }
        return plans
    }

    /// On a disk that is low nothing is written for what cannot be taken anyway, not even its rows.
    private func requireSpace(for capture: RecorderCapture) async throws(RecorderError) {
        for asset in capture.assets {
            let state = try await record(asset.key)?.pullState ?? .wanted
            guard state == .wanted else { continue }
            return try await storing { queue throws(QueueError) in try await queue.requireSpace(for: 1) }
        }
    }

    func wanted(
        besides present: Set<ObjectID>, from recorder: RecorderIdentity, storageGeneration: UInt32
    ) async throws(RecorderError) -> [AssetKey] {
        let wanted = try await storing { queue throws(QueueError) in
            try await queue.wantedAssets(recorder: recorder.serial, storageGeneration: storageGeneration)
        }
        return wanted.compactMap { ObjectID(hex: $0.objectID) }.filter { !present.contains($0) }.map {
            AssetKey(serial: recorder.serial, storageGeneration: storageGeneration, objectID: $0)
        }
    }

    /// A file that is gone from the recorder does not hold up the others of its capture; it stays listed, with the reason.
    func giveUp(_ asset: AssetKey) async throws(RecorderError) {
        let id = asset.queueID
        try await storing { queue throws(QueueError) in
            try await queue.markUnobtainable(id, reason: "the recorder does not have it any more")
        }
        open.remove(id)
    }

    private func plan(
        _ asset: RecorderAsset, _ record: AssetRecord
    ) async throws(RecorderError) -> AssetPlan {
        switch record.pullState {
        case .stored, .released: return .held
        case .wanted: break
        case .unobtainable, .damaged:
            let isWanted = try await storing { queue throws(QueueError) in try await queue.takeUp(record.id) }
            guard isWanted else {
                return .refused("its session is over: it was given up when the recorder did not have it")
            }
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
        let stored = try await storing { queue throws(QueueError) in
            try await queue.finishPull(id, crc32: crc)
        }
        open.remove(id)
        return stored.isAsAnnounced ? .durable : .digestMismatch
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
            let object = try await storing { queue throws(QueueError) in
                try await queue.deletableObject(
                    asset.objectID.description, recorder: asset.serial,
                    storageGeneration: asset.storageGeneration, policy: policy)
            }
            guard let object else { continue }
            if case .manifest(let session) = object.subject { manifests[asset.objectID] = session }
            return (object.subject, custody)
        }
        return (nil, .none)
    }

    /// The asset's part, opened from its start when it is not open yet.
    private func opened(_ asset: AssetKey) async throws(RecorderError) -> AssetID {
        let id = asset.queueID
        guard !open.contains(id) else { return id }
        if let registration = salvage.removeValue(forKey: asset) {
            try await storing { queue throws(QueueError) in _ = try await queue.register(registration) }
        }
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
