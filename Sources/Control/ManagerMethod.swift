import DBus

/// The methods of Manager, as `dbus/life.ccdw.Celestia1.Manager.xml` describes them.
enum ManagerMethod: String, CaseIterable {
    case status = "Status"
    case recorders = "Recorders"
    case recorder = "Recorder"
    case sessions = "Sessions"
    case session = "Session"
    case reconcile = "Reconcile"
    case retry = "Retry"
    case cancel = "Cancel"
    case pause = "Pause"
    case resume = "Resume"
    case purge = "Purge"
    case migrate = "Migrate"
    case openAsset = "OpenAsset"
    case storage = "Storage"
    case importFile = "Import"
    case scan = "Scan"
    case pair = "Pair"
    case forget = "Forget"
    case sync = "Sync"
    case login = "Login"
    case logout = "Logout"

    var inputs: [ExportedArgument] {
        switch self {
        case .status, .recorders, .sessions, .storage, .sync, .logout: [.options]
        case .recorder, .session, .forget, .reconcile, .retry, .cancel, .pause, .resume, .purge, .migrate,
            .openAsset:
            [ExportedArgument("id", .string), .options]
        case .importFile: [ExportedArgument("file", .unixFD), ExportedArgument("name", .string), .options]
        case .scan: [ExportedArgument("seconds", .uint32), .options]
        case .pair: [ExportedArgument("device", .string), .options]
        case .login:
            [ExportedArgument("identifier", .string), ExportedArgument("password", .unixFD), .options]
        }
    }

    var outputs: [ExportedArgument] {
        switch self {
        case .status: [ExportedArgument("status", .document)]
        case .recorders: [ExportedArgument("recorders", .array(.document))]
        case .recorder: [ExportedArgument("recorder", .document)]
        case .sessions: [ExportedArgument("page", .document)]
        case .session, .reconcile, .retry, .cancel, .pause, .resume, .purge, .migrate:
            [ExportedArgument("session", .document)]
        case .openAsset: [ExportedArgument("file", .unixFD)]
        case .storage: [ExportedArgument("storage", .document)]
        case .importFile: [ExportedArgument("outcome", .document)]
        case .scan, .pair: [ExportedArgument("job", .objectPath)]
        case .login: [ExportedArgument("account", .document)]
        case .forget, .sync, .logout: []
        }
    }
}

extension ExportedArgument {
    /// The options that every method takes last.
    static let options = ExportedArgument("options", .document)
}

extension DBusType {
    /// `a{sv}`.
    static let document = DBusType.dictionary(key: .string, value: .variant)
}
