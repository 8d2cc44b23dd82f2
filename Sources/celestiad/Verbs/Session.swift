import Control

/// `celestiad session ID` and `celestiad session ACTION ID`
enum SessionVerb {
    /// What can be done, as it is typed, with what it means.
    static let actions = Actions(
        "session", listing: "sessions",
        [
            Action("reconcile", "ID", "Ask the cloud what it has of it, before anything else is sent."),
            Action("retry", "ID", "Try again now."),
            Action("pause", "ID", "Do not send it until resume."),
            Action("resume", "ID", "End the pause."),
            Action("cancel", "ID", "Discard it; its files stay here until purge."),
            Action("purge", "ID", "Remove the files of a cancelled one, for good."),
            Action(
                "migrate", "ID",
                "Send it to the host that is configured and the account that is logged in now, instead of those that it was "
                    + "queued for."),
            Action(
                "export", "ID [DIR]",
                "Copy its files and what is known of them into a new folder DIR (default: celestiad-ID)."),
        ])

    static let verb = Verb(
        name: "session", summary: "Show one capture with its files, or act on it.",
        discussion: [
            "Without an action the session is shown.",
            "retry looks anew at whatever the session waited for, and it is held again if that is still so: a full "
                + "account, a refusal, a conflict, a session that was deleted in the cloud. celestiad never makes a "
                + "session anew that was deleted there: restore it first, or leave it.",
        ],
        actions: actions,
        positionals: [
            Positional(
                name: "ID", help: "The session's id or a clear beginning of it.", completes: .sessions),
            Positional(name: "ID", help: "", isRequired: false, completes: .sessions),
            Positional(
                name: "DIR", help: "Where export puts the files.", isRequired: false, completes: .folders),
        ],
        options: [
            .json, Option(name: "yes", short: "y", help: "Do not ask before purge.", actions: ["purge"]),
        ]
    ) { invocation throws(ControlError) in
        guard let id = invocation.positional(1) else {
            let id = try actions.subject(invocation)
            return try show(try await invocation.connect().session(id), invocation)
        }
        let action = try actions.action(invocation)
        guard action == "export" || invocation.positional(2) == nil else {
            throw ControlError(.invalidArgument, "session \(action) takes one ID")
        }
        return try await perform(action, id, invocation)
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
        invocation.console.note(
            isDone ? "it is in the cloud already; nothing was changed" : said(action, session))
        _ = try show(session, invocation)
        return isDone ? .nothingToDo : .success
    }

    private static func said(_ action: SessionAction, _ session: SessionDocument) -> String {
        switch action {
        case .reconcile: "the cloud is asked before anything else is sent"
        case .retry: "it is tried again now"
        case .cancel:
            session.assets?.contains { hasBytes($0) } ?? true
                ? "discarded; its files stay here until: celestiad session purge"
                : "discarded; none of its files is here"
        case .pause: "it waits until: celestiad session resume"
        case .resume: "the pause is over"
        case .purge: "its files are removed"
        }
    }

    /// Whether there is anything here that a purge would remove.
    private static func hasBytes(_ asset: AssetDocument) -> Bool {
        switch asset.state {
        case "released", "removed", "expected": false
        default: true
        }
    }

    private static func confirmPurge(
        _ id: String, _ client: ControlClient, _ invocation: Invocation
    ) async throws(ControlError) {
        guard !invocation.arguments.has("yes") else { return }
        let session = try await client.session(id)
        let title = session.title.map { " (\(Text.clean($0)))" } ?? ""
        let size = "\(Units.count(session.files, "file")), \(Units.bytes(session.bytes))"
        try await invocation.confirm(
            "Remove \(size) of session \(Text.clean(String(session.id.prefix(8))))\(title) for good?",
            "whether the files are to be removed")
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
