package import ObjectTransfer

/// The order of work on one link (recorder-profile.md): one step at a time, each decided from what the steps
/// before brought. Pure; ``RecorderSession`` does the steps.
package struct LinkWorkMachine: Sendable {
    /// What to do next.
    package enum Step: Sendable, Equatable {
        case readIdentity
        case writeClock
        case readStatus
        case readBattery
        case list
        /// Read the status again: what was listed counts only for the generation and the recording state
        /// that still hold.
        case confirmStatus
        case readManifest(ObjectMetadata)
        /// Take the capture with this index into the queue.
        case plan(Int)
        /// These are all objects there are: what is wanted beside them may be gone.
        case compare(Set<ObjectID>)
        /// Everything is planned; say what is to come.
        case announce(captures: Int, wanted: Int, bytes: UInt64)
        case pull(RecorderAsset, ResumePoint?)
        /// Delete the object on the recorder if the policy allows it now.
        case release(ObjectMetadata, AssetKey)
        case finished
        case stop(RecorderError)
    }

    /// What a step brought.
    package enum Outcome: Sendable, Equatable {
        case identity(RecorderIdentity)
        /// The step needs no result (clock, battery, announcement), or its failure does not matter.
        case done
        case status(CaptureStatus)
        case listing(DirectoryListing)
        case manifest(ManifestReading)
        case planned([AssetKey: AssetPlan])
        /// The asset is held whole; `isReleasable` unless its digest differs or its proof is missing.
        case pulled(isReleasable: Bool)
        /// The asset was left out (it grows, or failed in a way that leaves the link of use).
        case skipped
        /// Whether the object is gone from the recorder.
        case released(Bool)
        case failed(RecorderError)
    }

    /// The step that waits for its outcome.
    package private(set) var step = Step.readIdentity
    /// The captures of this link, once the manifests are read.
    package private(set) var captures: [RecorderCapture] = []
    /// What is not as it should be; to be shown once.
    package private(set) var problems: [String] = []

    /// Whether a file or a part of the listing was left out, for whatever reason.
    private var isSomethingLeft = false

    private let policy: DeletePolicy
    private let isIntroduction: Bool
    private var ledger = FailureLedger()
    private var identity: RecorderIdentity?
    private var status: CaptureStatus?
    private var listing: DirectoryListing?
    private var unreadManifests: [ObjectMetadata] = []
    private var manifests: [ObjectID: ManifestReading] = [:]
    private var catalog: CaptureCatalog?
    private var isCompared = false
    private var isAnnounced = false
    private var plansLeft: Range<Int> = 0..<0
    private var pulls: [(asset: RecorderAsset, resume: ResumePoint?)] = []
    private var salvaged: Set<AssetKey> = []
    private var salvageFailures = 0
    private var releases: [(object: ObjectMetadata, key: AssetKey)] = []
    /// Files that must be gone before the manifest of a capture may go.
    private var blockers: [Int: Set<AssetKey>] = [:]
    private var owners: [AssetKey: Int] = [:]

    /// After so many salvaged objects that the recorder listed and did not give, the others wait for the next link.
    package static let salvageFailuresPerLink = 64

    /// Work for a link whose objects are deleted by `policy`. An introduction ends after the battery: it learns
    /// who the recorder is and how it is, and touches nothing that was recorded.
    package init(policy: DeletePolicy, isIntroduction: Bool = false) {
        self.policy = policy
        self.isIntroduction = isIntroduction
    }

    /// The identity, once it was read.
    package var recorder: RecorderIdentity? { identity }

    /// Whether everything that the recorder has was understood and is held, once the work is finished.
    package var isWhole: Bool { catalog?.isComplete == true && !isSomethingLeft }

    /// The generation of the recorder's storage, once its status was read.
    package var storageGeneration: UInt32? { status?.storageGeneration }

    /// The key of an object, once identity and status were read.
    package func key(of id: ObjectID) -> AssetKey? {
        guard let identity, let status else { return nil }
        return AssetKey(
            serial: identity.serial, storageGeneration: status.storageGeneration, objectID: id)
    }

    /// Takes what the current step brought and returns the next one. `ledger` tells which objects failed
    /// before.
    package mutating func handle(_ outcome: Outcome, ledger: FailureLedger) -> Step {
        self.ledger = ledger
        if case .failed(let error) = outcome {
            step = next(afterFailure: error)
        } else {
            step = next(after: outcome)
        }
        return step
    }

    private mutating func next(after outcome: Outcome) -> Step {
        switch (step, outcome) {
        case (.readIdentity, .identity(let identity)):
            self.identity = identity
            return .writeClock
        case (.writeClock, _): return .readStatus
        case (.readStatus, .status(let status)):
            self.status = status
            return .readBattery
        case (.readBattery, _): return isIntroduction ? .finished : .list
        case (.list, .listing(let listing)):
            self.listing = listing
            return .confirmStatus
        case (.confirmStatus, .status(let now)): return confirm(now)
        case (.readManifest(let object), .manifest(let reading)):
            manifests[object.id] = reading
            return nextManifest()
        case (.plan(let index), .planned(let plans)):
            take(plans, of: index)
            return nextWork()
        case (.pull(let asset, _), .pulled(let isReleasable)):
            if isReleasable { enqueueRelease(asset.object, asset.key) }
            return nextWork()
        case (.release(_, let key), .released(let isGone)):
            if isGone { unblock(key) }
            return nextWork()
        case (.pull(let asset, _), _):
            noteFailedPull(of: asset.key)
            return nextWork()
        case (.compare, _), (.announce, _), (.release, _): return nextWork()
        case (.finished, _), (.stop, _): return step
        case (.readIdentity, _), (.readStatus, _), (.list, _), (.confirmStatus, _), (.readManifest, _),
            (.plan, _):
            return .stop(RecorderError(.notARecorder, "\(step) gave no result", endsLink: true))
        }
    }

    /// A failed step ends the link where nothing can follow without it.
    private mutating func next(afterFailure error: RecorderError) -> Step {
        guard !error.endsLink else { return .stop(error) }
        switch step {
        case .readIdentity, .readStatus, .list, .confirmStatus: return .stop(error)
        case .writeClock:
            problems.append(error.message)
            return .readStatus
        case .readBattery: return isIntroduction ? .finished : .list
        case .readManifest(let object):
            manifests[object.id] = .unread(error.message)
            return nextManifest()
        case .pull(let asset, _):
            // It was told already, with the object that was left out.
            noteFailedPull(of: asset.key)
            return nextWork()
        case .plan, .compare, .release, .announce:
            isSomethingLeft = true
            problems.append(error.message)
            return nextWork()
        case .finished, .stop: return step
        }
    }

    private mutating func confirm(_ now: CaptureStatus) -> Step {
        guard now.storageGeneration == status?.storageGeneration else {
            return .stop(
                RecorderError(.objectChanged, "the recorder's storage was formatted just now", endsLink: true)
            )
        }
        // It may have begun or ended in between; both times it must have been at rest.
        if now.flags.contains(.recording) { status?.flags.insert(.recording) }
        unreadManifests = (listing?.objects ?? []).filter { $0.type == RecorderProfile.manifestType }
        unreadManifests.reverse()
        return nextManifest()
    }

    private mutating func nextManifest() -> Step {
        if let object = unreadManifests.popLast() { return .readManifest(object) }
        guard let identity, let status, let listing else { return .finished }
        let catalog = CaptureCatalog(
            listing: listing, manifests: manifests, serial: identity.serial,
            storageGeneration: status.storageGeneration, isRecording: status.flags.contains(.recording))
        self.catalog = catalog
        captures = catalog.captures
        problems += catalog.problems
        plansLeft = captures.indices
        return nextWork()
    }

    private mutating func take(_ plans: [AssetKey: AssetPlan], of index: Int) {
        let capture = captures[index]
        blockers[index] = Set(capture.assets.map(\.key))
        if capture.origin == .salvage { salvaged.formUnion(capture.assets.map(\.key)) }
        for asset in capture.assets {
            owners[asset.key] = index
            switch plans[asset.key] ?? .refused("the queue has no place for it") {
            case .held: enqueueRelease(asset.object, asset.key)
            case .refused(let reason):
                isSomethingLeft = true
                problems.append("object \(asset.key.objectID): \(reason)")
            case .wanted where ledger.isGivenUp(asset.key):
                isSomethingLeft = true
                problems.append("object \(asset.key.objectID) failed too often and is left alone")
            case .wanted(let resume): pulls.append((asset, resume))
            }
        }
        if capture.assets.isEmpty { releaseManifest(of: index) }
    }

    private mutating func nextWork() -> Step {
        if let index = plansLeft.popFirst() { return .plan(index) }
        if !isCompared {
            isCompared = true
            if let present = catalog?.present { return .compare(present) }
        }
        if !isAnnounced {
            isAnnounced = true
            orderPulls()
            let bytes = pulls.reduce(UInt64(0)) { sum, pull in
                sum + UInt64(pull.asset.sizeBytes - min(pull.asset.sizeBytes, pull.resume?.offset ?? 0))
            }
            return .announce(captures: captures.count, wanted: pulls.count, bytes: bytes)
        }
        if let release = releases.popLast() { return .release(release.object, release.key) }
        if let pull = pulls.popLast() { return .pull(pull.asset, pull.resume) }
        return .finished
    }

    /// The last to be pulled comes first. What failed is tried after the rest; of salvaged objects whatever failed less
    /// comes first, so that each has its turn where only so many may fail on one link.
    private mutating func orderPulls() {
        let ranked = pulls.enumerated().map { position, pull in
            let failures = ledger.failures(of: pull.asset.key)
            let counts = salvaged.contains(pull.asset.key) || ledger.isDeferred(pull.asset.key)
            return (pull: pull, rank: (counts ? failures : 0, position))
        }
        pulls = ranked.sorted { $0.rank > $1.rank }.map(\.pull)
    }

    private mutating func noteFailedPull(of key: AssetKey) {
        isSomethingLeft = true
        guard salvaged.contains(key) else { return }
        salvageFailures += 1
        guard salvageFailures == Self.salvageFailuresPerLink else { return }
        let left = pulls.count { salvaged.contains($0.asset.key) }
        pulls.removeAll { salvaged.contains($0.asset.key) }
        guard left > 0 else { return }
        problems.append(
            "\(left) more objects that no manifest names wait for the next time: \(salvageFailures) of those before "
                + "were listed and could not be read")
    }

    private mutating func enqueueRelease(_ object: ObjectMetadata, _ key: AssetKey) {
        if policy != .never { releases.append((object, key)) }
    }

    private mutating func unblock(_ key: AssetKey) {
        guard let index = owners[key] else { return }
        blockers[index]?.remove(key)
        if blockers[index]?.isEmpty == true { releaseManifest(of: index) }
    }

    /// The manifest goes last: without it the files that are left would have no capture.
    private mutating func releaseManifest(of index: Int) {
        guard let catalog, catalog.isComplete, case .manifest(_, let object) = captures[index].origin
        else { return }
        enqueueRelease(object, catalog.key(of: object.id))
    }
}
