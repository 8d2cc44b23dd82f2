/// What `celestiad` exits with. Frozen: a number never changes its meaning, new ones may be added, and whoever sees
/// one that he does not know takes it for a failure (docs/json.md).
package enum ExitCode: Int32, Sendable, CaseIterable {
    case success = 0
    /// Something that has no number of its own.
    case failure = 1
    /// The command line is wrong.
    case usage = 2
    case timeout = 3
    /// No such recorder or session, or the recorder is not paired.
    case notFound = 4
    case notRunning = 5
    case notAuthorized = 6
    /// Not logged in, or the cloud refused the login.
    case notLoggedIn = 7
    /// There is no Bluetooth adapter, or it is off or blocked.
    case adapterUnavailable = 8
    /// Only where the caller asked for it (`--fail-if-none`).
    case nothingToDo = 9
    /// Some of it worked.
    case partial = 10
    case diskLow = 11
    /// The recorder is busy or connected elsewhere.
    case busy = 12
    /// There is no message bus to reach the daemon by.
    case noBus = 13
    /// `status` could be read, or `doctor` has looked, and something is wrong.
    case unhealthy = 14
    /// The cloud cannot be reached, or does not answer as it should.
    case cloudUnavailable = 15
    /// Ended by Ctrl-C.
    case interrupted = 130

    /// In a few words, as `celestiad help` and docs/json.md list them.
    package var meaning: String {
        switch self {
        case .success: "ok"
        case .failure: "another failure"
        case .usage: "the command line or the configuration is wrong"
        case .timeout: "timeout"
        case .notFound: "recorder or session not found, or not paired"
        case .notRunning: "the daemon is not running"
        case .notAuthorized: "no permission"
        case .notLoggedIn: "not logged in, or the cloud refused the login"
        case .adapterUnavailable: "no Bluetooth adapter, or it is off or blocked"
        case .nothingToDo: "nothing to do (only with --fail-if-none)"
        case .partial: "some of it worked"
        case .diskLow: "the disk is low on space"
        case .busy: "the recorder, or celestiad's state, is in use"
        case .noBus: "there is no message bus"
        case .unhealthy: "status or doctor says that something is wrong"
        case .cloudUnavailable: "the cloud cannot be reached, or does not answer as it should"
        case .interrupted: "ended by Ctrl-C or by you"
        }
    }
}
