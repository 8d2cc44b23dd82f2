import Control

/// `celestiad session ID`
enum SessionVerb {
    static let verb = Verb(
        name: "session", summary: "Show one capture with its files.",
        positionals: [Positional(name: "ID", help: "The session's id or a clear beginning of it.")],
        options: [.json]
    ) { invocation throws(ControlError) in
        let session = try await invocation.connect().session(invocation.positional(0) ?? "")
        if invocation.wantsJSON {
            try invocation.console.printJSON(session)
        } else {
            invocation.console.print(SessionView(invocation.console.layout).lines(session))
        }
        return .success
    }
}
