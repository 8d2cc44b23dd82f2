import DBus

/// The methods of Cloud, as `dbus/life.ccdw.Celestia1.Cloud.xml` describes them.
enum CloudMethod: String, CaseIterable {
    case status = "Status"
    case register = "Register"
    case profile = "Profile"
    case editProfile = "EditProfile"
    case changePassword = "ChangePassword"
    case sessions = "Sessions"
    case session = "Session"
    case download = "Download"
    case unbindDevice = "UnbindDevice"
    case bindDevice = "BindDevice"
    case renameDevice = "RenameDevice"

    var inputs: [ExportedArgument] {
        switch self {
        case .status, .profile, .editProfile, .sessions: [.options]
        case .session, .unbindDevice, .bindDevice: [ExportedArgument("id", .string), .options]
        case .renameDevice: [ExportedArgument("id", .string), ExportedArgument("name", .string), .options]
        case .register:
            [
                ExportedArgument("username", .string), ExportedArgument("identifier", .string),
                ExportedArgument("password", .unixFD), .options,
            ]
        case .changePassword:
            [ExportedArgument("old", .unixFD), ExportedArgument("new", .unixFD), .options]
        case .download:
            [
                ExportedArgument("session", .string), ExportedArgument("asset", .string),
                ExportedArgument("file", .unixFD), ExportedArgument("bytes", .int64), .options,
            ]
        }
    }

    var outputs: [ExportedArgument] {
        switch self {
        case .status: [ExportedArgument("status", .document)]
        case .register: [ExportedArgument("account", .document)]
        case .profile, .editProfile: [ExportedArgument("profile", .document)]
        case .sessions: [ExportedArgument("page", .document)]
        case .session: [ExportedArgument("session", .document)]
        case .download: [ExportedArgument("job", .objectPath)]
        case .unbindDevice, .bindDevice, .renameDevice: [ExportedArgument("recorder", .document)]
        case .changePassword: []
        }
    }
}
