import CaptureQueue
import Cloud

/// The order of work on one session: doubts, metadata, quota, files, confirmation (upload.md C-77). Pure; the driver
/// does one step, stores what came of it, and asks again with what is stored now.
package struct UploadMachine: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        /// List what the server holds, settle every doubt by it, adopt or merge its view of the session.
        case reconcile
        /// Send the metadata.
        case upsert
        /// Ask what fits.
        case quota
        /// Send the files.
        case assets
        /// Store that all of it is confirmed.
        case confirm
        case end(UploadEnd.Kind)

        var isEnd: Bool { if case .end = self { true } else { false } }
    }

    /// The session as stored.
    package struct View: Sendable, Equatable {
        /// Requests of unknown outcome.
        package var isInDoubt = false
        /// Whether the server has acknowledged the metadata as it is now.
        package var isSynced = false
        /// Whether the server's revision is known to have moved on (C-34).
        package var isBaseStale = false
        /// Files to be sent.
        package var hasPending = false

        package init(
            isInDoubt: Bool = false, isSynced: Bool = false, isBaseStale: Bool = false,
            hasPending: Bool = false
        ) {
            self.isInDoubt = isInDoubt
            self.isSynced = isSynced
            self.isBaseStale = isBaseStale
            self.hasPending = hasPending
        }
    }

    package enum Input: Sendable, Equatable {
        /// The step before is done and stored; here is what is stored.
        case stored(View)
        /// The server was asked for its view, and what it says is stored.
        case reconciled(View)
        case quotaKnown(View)
        /// Every file had its turn; `done` when all are confirmed.
        case sent(UploadEnd.Kind, View)
        case failed(UploadFailure)
    }

    /// Rounds of upsert, conflict, merge before the user is asked (C-32).
    package static let maximumRounds = 5

    private var step = Step.reconcile
    private var conflicts = 0
    private var doubts = 0
    private var isQuotaKnown = false

    package init() {}

    package mutating func handle(_ input: Input) -> Step {
        step = decide(input)
        return step
    }

    private mutating func decide(_ input: Input) -> Step {
        switch input {
        case .stored(let view), .reconciled(let view): return next(view)
        case .quotaKnown(let view):
            isQuotaKnown = true
            return next(view)
        case .sent(.done, let view): return next(view)
        case .sent(let kind, _): return .end(kind)
        case .failed(let failure): return afterFailure(failure)
        }
    }

    private func next(_ view: View) -> Step {
        if view.isInDoubt { return .reconcile }
        guard view.isSynced else { return view.isBaseStale ? .reconcile : .upsert }
        guard view.hasPending else { return .confirm }
        return isQuotaKnown ? .assets : .quota
    }

    private mutating func afterFailure(_ failure: UploadFailure) -> Step {
        guard step == .upsert else { return .end(.init(failure)) }
        switch failure.outcome {
        case .conflict:
            // Also when the answer to the first upsert was lost: looking tells whose it is (C-31).
            conflicts += 1
            return conflicts > Self.maximumRounds ? .end(.hold(.conflict)) : .reconcile
        case .ambiguous(let after):
            doubts += 1
            return doubts > Self.maximumRounds ? .end(.retry(after: after)) : .reconcile
        default: return .end(.init(failure))
        }
    }
}
