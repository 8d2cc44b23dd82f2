import Control

/// `celestiad device ID`
enum DeviceVerb {
    static let verb = Verb(
        name: "device", summary: "Show one recorder in full.",
        positionals: [
            Positional(name: "ID", help: "Its serial number, a clear beginning of it, or its address.")
        ],
        options: [.json]
    ) { invocation throws(ControlError) in
        let recorder = try await invocation.connect().recorder(invocation.positional(0) ?? "")
        if invocation.wantsJSON {
            try invocation.console.printJSON(recorder)
        } else {
            invocation.console.print(RecorderView(invocation.console.layout).lines(recorder))
        }
        return .success
    }
}
