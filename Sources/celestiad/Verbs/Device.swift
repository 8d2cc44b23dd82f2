import Control
import Gateway

/// `celestiad device ID` and `celestiad device ACTION ID`
enum DeviceVerb {
    static let actions = Actions(
        "device", listing: "devices",
        [
            Action("rename", "ID NAME", "Call it NAME, here and in the account."),
            Action(
                "unbind", "ID",
                "Remove it from the account. It stays paired, but nothing is read from it until bind."),
            Action("bind", "ID", "Put it into the account again, and read it."),
        ])

    static let verb = Verb(
        name: "device", summary: "Show one recorder in full, or say what it is to the account.",
        discussion: ["Without an action the recorder is shown."], actions: actions,
        positionals: [
            Positional(
                name: "ID", help: "Its serial number, a clear beginning of it, or its address.",
                completes: .recorders),
            Positional(name: "ID", help: "", isRequired: false, completes: .recorders),
            Positional(name: "NAME", help: "For rename: 1 to 64 characters.", isRequired: false),
        ],
        options: [
            .json, Option(name: "yes", short: "y", help: "Do not ask before unbind.", actions: ["unbind"]),
        ]
    ) { invocation throws(ControlError) in
        guard let id = invocation.positional(1) else {
            return try show(
                try await invocation.connect().recorder(try actions.subject(invocation)), invocation)
        }
        let action = try actions.action(invocation)
        let name = invocation.positional(2)
        guard (action == "rename") == (name != nil) else {
            throw ControlError(
                .invalidArgument,
                name == nil ? "device rename needs ID and NAME" : "device \(action) takes one ID")
        }
        let client = try await invocation.connect()
        let recorder: RecorderDocument
        switch action {
        case "rename":
            recorder = try await client.renameDevice(id, to: name ?? "")
            invocation.console.note(
                "it is called \(Text.clean(recorder.name ?? recorder.id)) here now; the account is told of it as soon as it can be"
            )
        case "unbind":
            try await confirmUnbind(id, client, invocation)
            recorder = try await client.unbindDevice(id)
            invocation.console.note(
                "\(Text.clean(recorder.id)) is not in the account any more, and nothing is read from it until: celestiad device bind \(Terminal.shellWord(Text.clean(recorder.id)))"
            )
        default:
            recorder = try await client.bindDevice(id)
            invocation.console.note(
                "\(Text.clean(recorder.id)) is read again; the account is told of it as soon as it can be")
        }
        return try show(recorder, invocation)
    }

    private static func confirmUnbind(
        _ id: String, _ client: ControlClient, _ invocation: Invocation
    ) async throws(ControlError) {
        guard !invocation.arguments.has("yes") else { return }
        let recorder = try await client.recorder(id)
        let name = Text.clean(recorder.id) + (recorder.name.map { " (\(Text.clean($0)))" } ?? "")
        try await invocation.confirm(
            "Remove \(name) from the account?", "whether \(name) is to be removed from the account")
    }

    private static func show(
        _ recorder: RecorderDocument, _ invocation: Invocation
    ) throws(ControlError) -> ExitCode {
        if invocation.wantsJSON {
            try invocation.console.printJSON(recorder)
        } else {
            invocation.console.print(RecorderView(invocation.console.layout).lines(recorder))
        }
        return .success
    }
}
