import BlueZ
import ObjectTransfer
import Recorder

extension LinkMachine.Failure {
    /// What a failure of BlueZ means for the link.
    init(_ error: BlueZError) {
        let kind: Kind =
            switch error.code {
            case .busGone, .bluetoothdGone, .adapterGone, .adapterOff: .adapterUnavailable
            case .connectFailed(.keyMissing), .notPaired, .authenticationFailed, .authenticationRejected:
                .keyMissing
            case .connectFailed(.abortByRemote), .linkLost: .endedByRecorder
            case .characteristicMissing, .notPermitted: .unusable
            default: .transient
            }
        self.init(kind, Self.words(kind, error.message))
    }

    /// What a failure of the work on the link means for it.
    init(_ error: RecorderError, hasProgressed: Bool = false) {
        let kind: Kind =
            switch error.code {
            case .transfer(.notPaired): .keyMissing
            case .transfer(.characteristicMissing), .notARecorder, .malformedStatus: .unusable
            case .store: .storage
            default: .transient
            }
        self.init(kind, Self.words(kind, error.message), hasProgressed: hasProgressed)
    }

    private static func words(_ kind: Kind, _ message: String) -> String {
        kind == .keyMissing
            ? "the recorder does not know this hub any more (\(message)); \(LinkMachine.repairAdvice)"
            : message
    }
}
