internal import DBus

/// Why a request to the daemon did not work. Each code is one D-Bus error name and one exit code.
package struct ControlError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The raw value is the last element of the D-Bus error name.
    package enum Code: String, Sendable, Hashable, CaseIterable {
        case failed = "Failed"
        case invalidArgument = "InvalidArgument"
        case timeout = "Timeout"
        /// No such recorder, session or job; or a recorder that is not paired.
        case notFound = "NotFound"
        /// The daemon is not on the bus, or left it.
        case notRunning = "NotRunning"
        case notAuthorized = "NotAuthorized"
        case notLoggedIn = "NotLoggedIn"
        case adapterUnavailable = "AdapterUnavailable"
        case nothingToDo = "NothingToDo"
        case partial = "Partial"
        case diskLow = "DiskLow"
        case busy = "Busy"
        /// There is no message bus.
        case noBus = "NoBus"
        /// The cloud cannot be reached, or does not answer as it should.
        case cloudUnavailable = "CloudUnavailable"
        /// The user, or whoever asked, ended it.
        case cancelled = "Cancelled"

        /// The exit code of a verb that ends with this error.
        package var exitCode: ExitCode {
            switch self {
            case .failed: .failure
            case .invalidArgument: .usage
            case .timeout: .timeout
            case .notFound: .notFound
            case .notRunning: .notRunning
            case .notAuthorized: .notAuthorized
            case .notLoggedIn: .notLoggedIn
            case .adapterUnavailable: .adapterUnavailable
            case .nothingToDo: .nothingToDo
            case .partial: .partial
            case .diskLow: .diskLow
            case .busy: .busy
            case .noBus: .noBus
            case .cloudUnavailable: .cloudUnavailable
            case .cancelled: .interrupted
            }
        }

        /// The error's name on the bus.
        package var name: String { ControlNames.errorPrefix + rawValue }
    }

    package let code: Code
    /// What happened and why, in one line.
    package let message: String
    /// What to do next, where there is something.
    package let hint: String?

    package init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    package var description: String { hint.map { "\(message); \($0)" } ?? message }
}

// MARK: - On the bus

extension ControlError {
    /// The error as the reply to a call: the message on the first line, the hint on the next.
    var dbus: DBusError {
        let line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
        return .remote(code.name, hint.map { "\(line)\n\($0)" } ?? line)
    }

    /// What a failed call means to a client.
    init(_ error: DBusError) {
        let unknownOwner = [DBusErrorName.serviceUnknown, DBusErrorName.nameHasNoOwner]
        switch error.code {
        case .remote where error.name.hasPrefix(ControlNames.errorPrefix):
            let code = Code(rawValue: String(error.name.dropFirst(ControlNames.errorPrefix.count)))
            let lines = error.message.split(separator: "\n", maxSplits: 1).map(String.init)
            self.init(code ?? .failed, lines.first ?? error.name, hint: lines.dropFirst().first)
        case .remote where unknownOwner.contains(error.name): self = .notRunning
        case .remote where error.name == DBusErrorName.accessDenied:
            self.init(
                .notAuthorized, "the message bus does not let you talk to celestiad: \(error.message)",
                hint: "is /usr/share/dbus-1/system.d/life.ccdw.Celestia1.conf installed?")
        case .remote where error.name == DBusErrorName.noReply || error.name == DBusErrorName.disconnected:
            self.init(.notRunning, "celestiad left the bus before it answered", hint: Self.startHint)
        case .remote where error.name == DBusErrorName.unknownMethod:
            self.init(
                .failed, "the celestiad that runs does not know this request",
                hint: "restart it after an upgrade: sudo systemctl restart celestiad")
        case .remote: self.init(.failed, error.description)
        case .cannotConnect:
            self.init(.noBus, error.message, hint: "is D-Bus running? see also --bus ADDRESS")
        case .disconnected: self.init(.noBus, "the message bus went away")
        case .noReply:
            self.init(.timeout, "celestiad did not answer in time", hint: "sudo journalctl -u celestiad")
        case .cancelled: self = .cancelled
        case .invalidArgument: self.init(.invalidArgument, error.message)
        case .malformed, .nameTaken: self.init(.failed, error.description)
        }
    }

    private static let startHint = "systemctl status celestiad"

    static let notRunning = ControlError(
        .notRunning, "celestiad is not running", hint: "start it: sudo systemctl start celestiad")
    static let cancelled = ControlError(.cancelled, "cancelled")
}
