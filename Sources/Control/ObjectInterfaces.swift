import DBus

/// What is on the bus as an object of its own: its interface, and the properties that `dbus/` describes. They are the fields of
/// its document.
enum ControlObject: CaseIterable {
    case recorder, session

    var interface: String {
        switch self {
        case .recorder: ControlNames.recorder
        case .session: ControlNames.session
        }
    }

    var xml: String {
        switch self {
        case .recorder: Introspection.recorder
        case .session: Introspection.session
        }
    }

    /// The path of one of them. Ids are serial numbers from outside, and UUIDs.
    func path(of id: String) -> ObjectPath {
        switch self {
        case .recorder: ControlNames.root.appending("recorders").appending(Self.escaped(id))
        case .session:
            ControlNames.root.appending("sessions").appending(Self.escaped(id.replacing("-", with: "")))
        }
    }

    private static func escaped(_ id: String) -> String {
        let digits = Array("0123456789abcdef")
        let text = id.utf8.map { byte in
            let character = Character(Unicode.Scalar(byte))
            return character.isASCII && (character.isLetter || character.isNumber)
                ? String(character) : "_\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
        }
        return text.isEmpty ? "_" : text.joined()
    }

    var properties: [(name: String, type: DBusType)] {
        switch self {
        case .recorder: Self.recorderProperties
        case .session: Self.sessionProperties
        }
    }

    private static let recorderProperties: [(name: String, type: DBusType)] = [
        ("Id", .string),
        ("Name", .string),
        ("OwnName", .string),
        ("Account", .string),
        ("Model", .string),
        ("Manufacturer", .string),
        ("Firmware", .string),
        ("Hardware", .string),
        ("Address", .string),
        ("Adapter", .string),
        ("Security", .string),
        ("Battery", .document),
        ("Storage", .document),
        ("Recording", .boolean),
        ("PendingCaptures", .int64),
        ("Link", .document),
        ("DataPlane", .string),
        ("DataPlaneReason", .string),
        ("LastSeen", .string),
        ("LastSync", .string),
        ("ClockSet", .string),
        ("LastError", .string),
        ("IncompleteSync", .string),
    ]

    private static let sessionProperties: [(name: String, type: DBusType)] = [
        ("Id", .string),
        ("Recorder", .string),
        ("Source", .string),
        ("Host", .string),
        ("Title", .string),
        ("StartedAt", .string),
        ("DurationMs", .int64),
        ("Salvaged", .boolean),
        ("State", .string),
        ("Reason", .string),
        ("Holds", .array(.document)),
        ("Ambiguous", .boolean),
        ("Retries", .int64),
        ("LastError", .string),
        ("TerminalReason", .string),
        ("Account", .string),
        ("MigratedFrom", .string),
        ("MigratedTo", .string),
        ("NextTry", .string),
        ("Cloud", .string),
        ("CreatedAt", .string),
        ("UpdatedAt", .string),
        ("Bytes", .int64),
        ("Files", .int64),
        ("UploadedFiles", .int64),
    ]
}

/// The methods of Recorder.
enum RecorderMethod: String, CaseIterable {
    case describe = "Describe"
    case sync = "Sync"
    case rename = "Rename"
    case bind = "Bind"
    case unbind = "Unbind"
    case forget = "Forget"

    var inputs: [ExportedArgument] {
        self == .rename ? [ExportedArgument("name", .string), .options] : [.options]
    }

    var outputs: [ExportedArgument] {
        switch self {
        case .describe, .rename, .bind, .unbind: [ExportedArgument("recorder", .document)]
        case .sync, .forget: []
        }
    }
}

/// The methods of Session.
enum SessionMethod: String, CaseIterable {
    case describe = "Describe"
    case reconcile = "Reconcile"
    case retry = "Retry"
    case cancel = "Cancel"
    case pause = "Pause"
    case resume = "Resume"
    case purge = "Purge"
    case migrate = "Migrate"

    var inputs: [ExportedArgument] { [.options] }
    var outputs: [ExportedArgument] { [ExportedArgument("session", .document)] }
}
