import Control

/// `celestiad forget ID`
enum ForgetVerb {
    static let verb = Verb(
        name: "forget", summary: "Forget a recorder and its Bluetooth bond.",
        discussion: ["What was pulled from it stays in the queue and in the cloud."],
        positionals: [
            Positional(
                name: "ID", help: "Its serial number, a clear beginning of it, or its address.",
                completes: .recorders)
        ],
        options: [
            Option(name: "unbind", help: "Also remove it from your account in the cloud."),
            Option(name: "yes", short: "y", help: "Do not ask."),
        ]
    ) { invocation throws(ControlError) in
        let client = try await invocation.connect()
        let recorder = try await client.recorder(invocation.positional(0) ?? "")
        let name = Text.clean(recorder.id) + (recorder.name.map { " (\(Text.clean($0)))" } ?? "")
        let pending = recorder.pendingCaptures ?? 0
        let warning = pending > 0 ? " \(Units.count(pending, "capture")) on it are not pulled yet." : ""
        try await invocation.confirm("Forget \(name)?\(warning)", "whether \(name) is to be forgotten")
        try await client.forget(recorder.id, unbind: invocation.arguments.has("unbind"))
        invocation.console.note("forgot \(name)")
        return .success
    }
}
