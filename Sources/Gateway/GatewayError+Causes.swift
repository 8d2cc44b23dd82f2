import BlueZ
package import CaptureQueue
import Cloud
import DBus
import EventLoop
import HTTP

// What the failures of the modules below mean to the user of the daemon.

extension GatewayError {
    init(_ error: BlueZError) {
        switch error.code {
        case .busGone: self.init(.noBus, error.message)
        case .bluetoothdGone:
            self.init(.notReady, error.message, hint: AdapterTrouble.bluetoothdAbsent.hint)
        case .adapterGone: self.init(.notReady, error.message, hint: "Plug the adapter in again.")
        case .adapterOff:
            self.init(.notReady, error.message, hint: AdapterTrouble.off.hint)
        case .timedOut, .authenticationTimedOut:
            self.init(.timeout, error.message, hint: "Keep the recorder near and awake, and try again.")
        case .inProgress: self.init(.notReady, error.message, hint: "Try again in half a minute.")
        case .cancelled: self.init(.cancelled, "cancelled")
        case .pairingDeclined: self.init(.refused, "the pairing was refused here")
        case .authenticationFailed, .authenticationRejected, .authenticationCanceled:
            self.init(
                .refused, "the recorder did not accept the pairing (\(error.message))",
                hint: "Is it in pairing mode, and was the number confirmed there too?")
        case .connectFailed, .linkLost, .deviceGone:
            self.init(
                .refused, "the recorder could not be connected (\(error.message))",
                hint: "Keep it near and awake; it may be connected to a phone.")
        case .attribute:
            self.init(
                .refused, error.message,
                hint: "Switch the recorder off and on, and try again; its firmware may need an update.")
        default: self.init(.refused, error.message)
        }
    }

    /// What a failure of the queue means to the user.
    package init(_ error: QueueError) {
        switch error.code {
        case .alreadyInUse: self.init(.alreadyRunning, error.message, hint: error.hint)
        case .notFound: self.init(.notFound, error.message, hint: error.hint)
        case .invalidInput: self.init(.invalidArgument, error.message, hint: error.hint)
        case .lowSpace, .doesNotFit, .diskFull: self.init(.diskLow, error.message, hint: error.hint)
        default: self.init(.storage, error.message, hint: error.hint)
        }
    }

    init(_ error: CloudError) {
        switch error.outcome {
        case _ where error.transport == .sinkFull:
            self.init(
                .diskLow, error.message,
                hint: "Free space there; what is in the file is kept, and the same command goes on with it.")
        case _ where error.transport == .sink:
            self.init(
                .storage, error.message,
                hint: "What is in the file is kept; when it can be written, the same command goes on with it."
            )
        case .terminal(.credentialsRejected) where error.call == .changePassword:
            self.init(.notLoggedIn, "the old password is wrong", hint: "Nothing was changed.")
        case .terminal(.credentialsRejected):
            self.init(
                .notLoggedIn, "the cloud does not accept this name and password",
                hint: "Check both; nothing is tried again by itself.")
        case .terminal(.alreadyExists) where error.call == .register:
            self.init(
                .refused, error.message, hint: "Choose another name or address, or log in if it is yours.")
        case .terminal(.alreadyExists):
            self.init(.refused, error.message, hint: "Choose another one; nothing was changed.")
        case .terminal(.rejected) where error.call?.isOfUserInput == true:
            self.init(.refused, error.message, hint: "Correct it and try again; nothing was changed.")
        case .terminal(.gone):
            self.init(
                .notFound, error.message,
                hint: error.hint
                    ?? "It may have been deleted there: celestiad cloud sessions shows what there is.")
        case _ where error.code == .superseded: self.init(.busy, error.message, hint: error.hint)
        case .terminal(.invalidCall): self.init(.invalidArgument, error.message, hint: error.hint)
        case .terminal(.rejected): self.init(.refused, error.message, hint: error.hint)
        case .ambiguous where error.call == .register:
            self.init(
                .cloud, "it is not known whether the account was made: \(error.message)",
                hint: "Try celestiad login; if that is refused, register again.")
        case .ambiguous where error.call == .changePassword:
            self.init(
                .cloud, "it is not known whether the password was changed: \(error.message)",
                hint: "Try again, first with the old password, then with the new one as the old.")
        case .hold(.authRequired), .reauth:
            self.init(.notLoggedIn, error.message, hint: error.hint ?? "Run celestiad login.")
        default:
            self.init(error.code == .storage ? .storage : .cloud, error.message, hint: error.hint)
        }
    }

    init(_ error: DBusError) {
        switch error.code {
        case .cannotConnect, .disconnected:
            self.init(
                .noBus, error.message,
                hint: "Is D-Bus running? Another bus can be named by [Bus] Address or CELESTIAD_BUS.")
        case .nameTaken:
            self.init(.alreadyRunning, error.message, hint: "Another celestiad runs on this bus.")
        case .remote where error.name == DBusErrorName.accessDenied:
            self.init(
                .system, "the bus does not let us have our name: \(error.message)",
                hint: "Install the policy file life.ccdw.Celestia1.conf and run as the user that it names.")
        default: self.init(.system, error.message)
        }
    }

    init(_ error: SystemError) {
        self.init(.system, error.description)
    }

    init(_ error: HTTPError) {
        self.init(.system, error.message)
    }
}

extension CallKind {
    /// Whether what it sends is what a user has typed.
    fileprivate var isOfUserInput: Bool {
        switch self {
        case .register, .login, .updateProfile, .changePassword: true
        default: false
        }
    }
}
