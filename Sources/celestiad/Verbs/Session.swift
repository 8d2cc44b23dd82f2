import Control

/// `celestiad session ID` and `celestiad session ACTION ID`
enum SessionVerb {
    /// What can be done, as it is typed, with what it means.
    private static let actions: [(name: String, help: String)] = [
        ("reconcile", "ask the cloud what it has of it, before anything else is sent"),
        ("retry", "try again now"),
        ("pause", "do not send it until resume"),
        ("resume", "end the pause"),
        ("cancel", "discard it; its files stay here until purge"),
        ("purge", "remove the files of a cancelled one, for good"),
        ("migrate", "send it to the host that is configured now instead of the one that it was queued for"),
        ("export", "copy its files and what is known of them into a new folder DIR (default: celestiad-ID)"),
    ]

    static let verb = Verb(
        name: "session", summary: "Show one capture with its files, or act on it.",
        discussion: ["Without an action the session is shown. The actions are:"]
            + actions.map { "\($0.name): \($0.help)." } + [
                "retry looks anew at whatever the session waited for, and it is held again if that is still so: a full "
                    + "account, a refusal, a conflict, a session that was deleted in the cloud. celestiad never makes a "
                    + "session anew that was deleted there: restore it first, or leave it."
            ],
        positionals: [
            Positional(name: "[ACTION] ID", help: "The session's id or a clear beginning of it."),
            Positional(name: "ID", help: "The same, after an action.", isRequired: false),
            Positional(name: "DIR", help: "Where export puts the files.", isRequired: false),
        ],
        options: [.json, Option(name: "yes", short: "y", help: "Do not ask before purge.")]
    ) { invocation throws(ControlError) in
        let first = invocation.positional(0) ?? ""
        guard let id = invocation.positional(1) else {
            guard !actions.contains(where: { $0.name == first }) else {
                throw ControlError(
                    .invalidArgument, "session \(first) needs ID", hint: "celestiad sessions lists them")
            }
            return try show(try await invocation.connect().session(first), invocation)
        }
        guard actions.contains(where: { $0.name == first }) else {
            let similar = Suggestion.closest(to: first, among: actions.map(\.name))
            throw ControlError(
                .invalidArgument, "there is no action \"\(Text.clean(first))\"",
                hint: similar.map { "did you mean: celestiad session \($0) ID" }
                    ?? "see: celestiad help session")
        }
        guard first == "export" || invocation.positional(2) == nil else {
            throw ControlError(.invalidArgument, "session \(first) takes one ID")
        }
        return try await perform(first, id, invocation)
    }

    private static func perform(
        _ action: String, _ id: String, _ invocation: Invocation
    ) async throws(ControlError) -> ExitCode {
        let client = try await invocation.connect()
        switch action {
        case "export":
            return try await SessionExport(client: client, invocation: invocation).run(
                id, to: invocation.positional(2))
        case "migrate":
            let new = try await client.migrate(id)
            invocation.console.note(
                "made session \(Text.clean(new.id)) for \(Text.clean(new.host ?? "the host"))")
            return try show(new, invocation)
        case "purge": try await confirmPurge(id, client, invocation)
        default: break
        }
        guard let action = SessionAction.allCases.first(where: { $0.rawValue.lowercased() == action }) else {
            throw ControlError(.invalidArgument, "there is no such action")
        }
        let session = try await client.act(action, on: id)
        let isDone = session.state == "imported" && [.retry, .reconcile].contains(action)
        invocation.console.note(isDone ? "it is in the cloud already; nothing was changed" : said(action))
        _ = try show(session, invocation)
        return isDone ? .nothingToDo : .success
    }

    private static func said(_ action: SessionAction) -> String {
        switch action {
        case .reconcile: "the cloud is asked before anything else is sent"
        case .retry: "it is tried again now"
        case .cancel: "discarded; its files stay here until: celestiad session purge"
        case .pause: "it waits until: celestiad session resume"
        case .resume: "the pause is over"
        case .purge: "its files are removed"
        }
    }

    private static func confirmPurge(
        _ id: String, _ client: ControlClient, _ invocation: Invocation
    ) async throws(ControlError) {
        guard !invocation.arguments.has("yes") else { return }
        guard invocation.console.inputIsTerminal else {
            throw ControlError(
                .invalidArgument,
                "standard input is not a terminal to ask whether the files are to be removed",
                hint: "say so: --yes")
        }
        let session = try await client.session(id)
        let title = session.title.map { " (\(Text.clean($0)))" } ?? ""
        let size = "\(Units.count(session.files, "file")), \(Units.bytes(session.bytes))"
        guard
            await invocation.console.confirm(
                "Remove \(size) of session \(Text.clean(String(session.id.prefix(8))))\(title) for good?")
        else { throw ControlError(.cancelled, "nothing was changed") }
    }

    private static func show(_ session: SessionDocument, _ invocation: Invocation) throws(ControlError)
        -> ExitCode
    {
        if invocation.wantsJSON {
            try invocation.console.printJSON(session)
        } else {
            invocation.console.print(SessionView(invocation.console.layout).lines(session))
        }
        return .success
    }
}
