import EventLoop
import ObjectTransfer
import Recorder

/// A queue in memory that loses what was not checkpointed whenever a link ends, as a crash would.
actor MemoryStore: CaptureStore {
    private(set) var captures: [RecorderCapture] = []
    private(set) var finished: [AssetKey: [UInt8]] = [:]
    private(set) var proofs: [AssetKey: AssetProof] = [:]
    private(set) var restarts: [AssetKey] = []
    private(set) var deleted: [AssetKey] = []
    private(set) var appends: [AssetKey: Int] = [:]
    /// Assets that are wanted from before, whatever this link plans.
    var expected: Set<AssetKey> = []
    private(set) var givenUp: [AssetKey] = []
    var onPlan: (@Sendable () async -> Void)?
    var uploaded: Set<AssetKey> = []
    var refused: Set<AssetKey> = []
    var verdict = AssetVerdict.durable
    var manifests: [AssetKey: [UInt8]] = [:]
    /// Fail appends after so many bytes.
    var capacity = Int.max

    private var parts: [AssetKey: (bytes: [UInt8], point: ResumePoint)] = [:]
    private var received = 0

    func configure(_ change: @Sendable (isolated MemoryStore) -> Void) {
        change(self)
    }

    /// Spoils the journalled prefix of an asset, as bad memory would.
    func spoil(_ key: AssetKey) {
        parts[key]?.point.crc32 ^= 1
    }

    func part(_ key: AssetKey) -> ResumePoint? { parts[key]?.point }

    func manifest(_ key: AssetKey, sizeBytes: UInt32) -> [UInt8]? { manifests[key] }

    func plan(_ capture: RecorderCapture, from recorder: RecorderIdentity) async -> [AssetKey: AssetPlan] {
        captures.append(capture)
        await onPlan?()
        var plans: [AssetKey: AssetPlan] = [:]
        for key in capture.assets.map(\.key) {
            if finished[key] != nil {
                plans[key] = .held
            } else if refused.contains(key) {
                plans[key] = .refused("not wanted")
            } else {
                if let part = parts[key] {
                    parts[key]?.bytes = Array(part.bytes.prefix(Int(part.point.offset)))
                }
                plans[key] = .wanted(parts[key]?.point)
            }
        }
        return plans
    }

    func wanted(
        besides present: Set<ObjectID>, from recorder: RecorderIdentity, storageGeneration: UInt32
    ) -> [AssetKey] {
        expected.filter { !present.contains($0.objectID) }
    }

    func giveUp(_ asset: AssetKey) {
        expected.remove(asset)
        givenUp.append(asset)
    }

    func append(_ bytes: [UInt8], at offset: UInt32, to asset: AssetKey) throws(RecorderError) {
        received += bytes.count
        guard received <= capacity else { throw RecorderError(.store, "disk full", endsLink: true) }
        var part = parts[asset] ?? ([], ResumePoint(offset: 0, crc32: 0, objectSize: 0))
        guard part.bytes.count == Int(offset) else {
            throw RecorderError(.store, "append at \(offset), \(part.bytes.count) are held", endsLink: true)
        }
        part.bytes += bytes
        parts[asset] = part
        appends[asset, default: 0] += bytes.count
    }

    func checkpoint(_ asset: AssetKey, at point: ResumePoint) {
        parts[asset]?.point = point
    }

    func restart(_ asset: AssetKey) {
        restarts.append(asset)
        parts[asset] = nil
    }

    func finish(_ asset: RecorderAsset, proof: AssetProof) -> AssetVerdict {
        finished[asset.key] = parts[asset.key]?.bytes ?? []
        proofs[asset.key] = proof
        parts[asset.key] = nil
        return verdict
    }

    func custody(of asset: AssetKey) -> Custody {
        if uploaded.contains(asset) { return .uploaded }
        if finished[asset] != nil { return .queued }
        let isManifest = captures.contains {
            if case .manifest(_, let object) = $0.origin { object.id == asset.objectID } else { false }
        }
        return isManifest ? .queued : .none
    }

    func didDelete(_ asset: AssetKey) {
        deleted.append(asset)
    }
}

/// What was told while a link was worked on.
final class EventLog: Sendable {
    private let events = Locked([RecorderEvent]())

    func add(_ event: RecorderEvent) {
        events.withLock { $0.append(event) }
    }

    var all: [RecorderEvent] { events.withLock { $0 } }

    var problems: [String] {
        all.compactMap { if case .problem(let text) = $0 { text } else { nil } }
    }

    var skipped: [UInt64] {
        all.compactMap {
            if case .skipped(let asset, _) = $0 { asset.key.objectID.value } else { nil }
        }
    }
}
