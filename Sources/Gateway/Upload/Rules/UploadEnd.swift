package import CaptureQueue
import Cloud

/// How an attempt to send a session, or one file of it, ends.
package struct UploadEnd: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// Confirmed by the server and stored here.
        case done
        /// Put down: a stop, or somebody took the session out of the uploader's hands.
        case stopped
        /// Another attempt later; the server may have said when.
        case retry(after: Duration?)
        /// The session waits; `required` bytes must be free for a quota hold. A `lasting` one
        /// ends by itself.
        case hold(QueueHoldReason, required: Int64? = nil, lasting: Duration? = nil)
        /// Nothing at all can be sent to the host now.
        case shut(HostGate.Reason)
        /// The queue has stored what happened: a damaged file, other bytes on the server.
        case stored
        /// The queue itself does not work any more.
        case broken(QueueError)
    }

    package let kind: Kind
    /// For the user: what happened.
    package let message: String
    /// The file that it happened to.
    package let asset: AssetID?
    /// Whether the last call broke off below HTTP.
    package let isCutOff: Bool

    package init(_ kind: Kind, _ message: String = "", asset: AssetID? = nil, isCutOff: Bool = false) {
        self.kind = kind
        self.message = message
        self.asset = asset
        self.isCutOff = isCutOff
    }

    package init(_ failure: UploadFailure, asset: AssetID? = nil) {
        let kind = Kind(failure)
        self.init(kind, failure.text(for: kind), asset: asset, isCutOff: failure.isCutOff)
    }

    /// What an error of the queue means for the attempt.
    package init(_ error: QueueError, asset: AssetID? = nil) {
        let kind: Kind =
            switch error.code {
            case .assetMissing, .assetCorrupt, .receiptMismatch: .stored
            case .identityClash: .hold(.conflict)
            case .illegalTransition, .notFound: .stopped
            case .storageSuspect, .closed, .corrupt, .notWritable, .foreignSchema, .database: .broken(error)
            case .alreadyInUse, .diskFull, .lowSpace, .doesNotFit, .io, .invalidInput, .intentPending,
                .offsetMismatch,
                .sizeMismatch:
                .retry(after: .seconds(60))
            }
        self.init(kind, error.description, asset: asset)
    }

    /// Of the ends of a session's files, the one that decides: what concerns everything before what concerns one.
    package static func graver(_ left: UploadEnd, _ right: UploadEnd) -> UploadEnd {
        right.gravity > left.gravity ? right : left
    }

    private var gravity: Int {
        switch kind {
        case .done: 0
        case .retry: 1
        case .hold(.quota, _, _): 2
        case .hold: 3
        case .shut: 4
        case .stopped: 5
        case .stored: 6
        case .broken: 7
        }
    }
}

extension UploadEnd.Kind {
    /// How long an attempt rests that the account is not allowed to make: somebody has to change that first.
    private static let forbiddenRest = Duration.seconds(15 * 60)

    /// A gateway whose operator has to allow larger bodies: that may happen any hour.
    private static let gatewayRest = Duration.seconds(60 * 60)

    /// What a failed call means where no special rule applies. No failure of a call is terminal for a session: only a
    /// lost or damaged file, a revoked account or a wrong host is, and the queue itself knows those (F-19).
    package init(_ failure: UploadFailure) {
        self =
            switch failure.outcome {
            case .retry(let after): failure.isUnreachable ? .shut(.unreachable) : .retry(after: after)
            case .ambiguous(let after): .retry(after: after)
            case .success, .reauth, .reinit, .conflict: .retry(after: nil)
            case .terminal: .hold(.rejected)
            case .hold(let reason):
                switch reason {
                case .quota(let required, _): .hold(.quota, required: required)
                case .authRequired: .shut(.authRequired)
                case .hostNotCelestia: .shut(.hostNotCelestia)
                case .redirected: .shut(.redirected)
                case .clockUnsynced: .shut(.clockUnsynced)
                case .tlsUntrusted: .shut(.tlsUntrusted)
                case .forbidden: .retry(after: Self.forbiddenRest)
                case .gatewayLimit: .retry(after: Self.gatewayRest)
                }
            }
    }
}
