import DBus

/// Why something that BlueZ or the Bluetooth kernel was asked for did not work.
package struct BlueZError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// The connection to the message bus is gone; nothing works until the process starts afresh.
        case busGone
        /// bluetoothd does not run, or went or restarted while the operation was under way.
        case bluetoothdGone
        /// The adapter is not there (any more).
        case adapterGone
        /// The adapter is off or blocked by rfkill.
        case adapterOff
        /// BlueZ does not know the device (any more): it must be discovered again.
        case deviceGone
        /// The device is not connected, or the link that the operation belongs to is gone.
        case linkLost
        /// The device's services are not resolved (any more) on this link: to be awaited again.
        case servicesChanged
        /// The device could not be connected.
        case connectFailed(ConnectFailure)
        /// No answer before the deadline.
        case timedOut
        /// BlueZ is busy with an operation of the same kind.
        case inProgress
        /// The attribute needs a paired link.
        case notPaired
        /// The device refused the attribute operation.
        case attribute(ATTError)
        /// BlueZ or the device does not allow this.
        case notPermitted
        /// BlueZ, the device or the kernel cannot do this.
        case unsupported
        /// Pairing failed: wrong passkey, refusal by the device, or keys that one side has lost.
        case authenticationFailed
        /// Pairing was refused by the device.
        case authenticationRejected
        /// Pairing was ended by the device or by BlueZ.
        case authenticationCanceled
        /// Nobody answered the pairing in time.
        case authenticationTimedOut
        /// Our user refused the pairing.
        case pairingDeclined
        /// The device does not offer a required service or characteristic.
        case characteristicMissing
        /// bluetoothd never answered AcquireNotify: the device must be disconnected before anything else is asked
        /// of it (bluez issues 1376 and 1383, mended in 5.84).
        case linkUnusable
        /// The device refused the L2CAP channel.
        case refused
        /// No byte came on an L2CAP channel before the deadline.
        case stalled
        /// The channel was closed by us.
        case closed
        /// The calling task was cancelled.
        case cancelled
        /// The request itself is wrong.
        case invalidArgument
        /// What came is not as its interface says.
        case malformed
        /// Anything else; the message has the reason.
        case failed
    }

    package let code: Code
    /// The D-Bus error name where BlueZ gave one, else empty.
    package let name: String
    /// What happened, for a person.
    package let message: String

    package init(_ code: Code, name: String = "", _ message: String) {
        self.code = code
        self.name = name
        self.message = message
    }

    /// Whether the same request may succeed later without anybody changing anything.
    package var isTransient: Bool {
        switch code {
        case .connectFailed(let failure): failure.isTransient
        case .bluetoothdGone, .adapterGone, .adapterOff, .deviceGone, .linkLost, .servicesChanged, .timedOut,
            .inProgress, .authenticationCanceled, .characteristicMissing, .linkUnusable, .refused, .stalled,
            .failed:
            true
        case .busGone, .notPaired, .attribute, .notPermitted, .unsupported, .authenticationFailed,
            .authenticationRejected, .authenticationTimedOut, .pairingDeclined, .closed, .cancelled,
            .invalidArgument, .malformed:
            false
        }
    }

    package var description: String {
        name.isEmpty ? message : "\(message) (\(name))"
    }

    static let busGone = BlueZError(.busGone, "the connection to the message bus is closed")
    static let bluetoothdGone = BlueZError(
        .bluetoothdGone, "bluetoothd is not running, or went while it was working for us")
    static let cancelled = BlueZError(.cancelled, "cancelled")

    static func timedOut(_ what: String, _ duration: Duration) -> BlueZError {
        let time =
            duration < .seconds(1)
            ? "\(duration.components.attoseconds / 1_000_000_000_000_000) ms"
            : "\(duration.components.seconds) s"
        return BlueZError(.timedOut, "\(what) did not happen within \(time)")
    }
}

// MARK: - Reading what BlueZ answers

extension BlueZError {
    /// BlueZ's error names (doc/org.bluez.*.rst; src/error.c).
    enum Name {
        static let prefix = "org.bluez.Error."
        static let rejected = prefix + "Rejected"
        static let canceled = prefix + "Canceled"
        static let alreadyExists = prefix + "AlreadyExists"
    }

    /// The meaning of an error that a call to BlueZ ended with.
    init(_ error: DBusError) {
        let refusal = ATTError(parsing: error.message).map { "the device refused: \($0)" }
        self.init(Self.code(of: error), name: error.name, refusal ?? error.message)
    }

    private static func code(of error: DBusError) -> Code {
        switch error.code {
        case .disconnected, .cannotConnect: .busGone
        case .cancelled: .cancelled
        case .invalidArgument, .nameTaken: .invalidArgument
        case .malformed: .malformed
        // The bus says so when the callee left; libdbus's own text for a deadline is another.
        case .noReply: error.message.contains("disconnected from message bus") ? .bluetoothdGone : .timedOut
        case .remote:
            error.name.hasPrefix(Name.prefix)
                ? code(named: error.name.dropFirst(Name.prefix.count), text: error.message)
                : code(ofBusError: error.name)
        }
    }

    private static func code(ofBusError name: String) -> Code {
        switch name {
        case DBusErrorName.unknownObject, DBusErrorName.unknownMethod, DBusErrorName.unknownInterface:
            // Objects come and go with the device that they describe.
            .deviceGone
        case DBusErrorName.serviceUnknown, DBusErrorName.nameHasNoOwner: .bluetoothdGone
        case DBusErrorName.accessDenied: .notPermitted
        case DBusErrorName.invalidArgs: .invalidArgument
        default: .failed
        }
    }

    private static func code(named name: Substring, text: String) -> Code {
        switch name {
        case "Failed": code(ofFailure: text)
        case "InProgress", "Busy": .inProgress
        case "NotReady", "Blocked": .adapterOff
        case "NotConnected": .linkLost
        case "DoesNotExist": .deviceGone
        case "NotPermitted": code(ofRefusal: text)
        case "NotAuthorized": .notPermitted
        case "NotSupported": .unsupported
        case "InvalidArguments": code(ofInvalidArguments: text)
        case "AuthenticationFailed": .authenticationFailed
        case "AuthenticationRejected": .authenticationRejected
        case "AuthenticationCanceled": .authenticationCanceled
        case "AuthenticationTimeout": .authenticationTimedOut
        case "ConnectionAttemptFailed": .connectFailed(ConnectFailure(text) ?? .timeout)
        default: .failed
        }
    }

    private static func code(ofFailure text: String) -> Code {
        if let error = ATTError(parsing: text) { return error.needsPairing ? .notPaired : .attribute(error) }
        if text == "Operation already in progress" { return .inProgress }  // EALREADY, BlueZ < 5.81
        if let failure = ConnectFailure(text) { return .connectFailed(failure) }
        switch text {
        case "Not connected", "Not Connected": return .linkLost
        case "Not paired": return .notPaired
        default: return .failed
        }
    }

    private static func code(ofRefusal text: String) -> Code {
        switch text {
        case "Not paired": .notPaired
        case "Read not permitted": .attribute(.readNotPermitted)
        case "Write not permitted": .attribute(.writeNotPermitted)
        default: .notPermitted
        }
    }

    private static func code(ofInvalidArguments text: String) -> Code {
        switch text {
        case "Invalid offset": .attribute(.invalidOffset)
        case "Invalid Length": .attribute(.invalidLength)
        default: .invalidArgument
        }
    }
}
