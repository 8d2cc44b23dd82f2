import Control

/// `celestiad devices`
enum DevicesVerb {
    static let verb = Verb(
        name: "devices", summary: "List the paired recorders.",
        options: [.json, Option(name: "fail-if-none", help: "Exit with 9 when there is none.")]
    ) { invocation throws(ControlError) in
        let recorders = try await invocation.connect().recorders()
        if invocation.wantsJSON {
            try invocation.console.printJSON(RecorderListDocument(recorders: recorders))
        } else if recorders.isEmpty {
            invocation.console.note("no recorder is paired\n  → celestiad pair")
        } else {
            invocation.console.print(RecorderView(invocation.console.layout).table(recorders))
        }
        return recorders.isEmpty && invocation.arguments.has("fail-if-none") ? .nothingToDo : .success
    }
}

/// What `devices --json` prints.
struct RecorderListDocument: Codable {
    let recorders: [RecorderDocument]
}
