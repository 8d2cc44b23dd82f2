import Control

/// `celestiad cloud ACTION`
enum CloudVerb {
    static let actions = Actions(
        "cloud",
        [
            Action(
                "status", "",
                "Ask whether the cloud is well, how much storage is left, and what time it has there."),
            Action("sessions", "", "List the sessions of the account, newest first."),
            Action(
                "download", "SESSION [ASSET]",
                "Copy the files of SESSION, or one of them, into a folder. Done again it goes on where it ended."
            ),
        ])

    static let verb = Verb(
        name: "cloud", summary: "Show what the account has in the cloud, and fetch it.",
        discussion: ["Every file is compared with the SHA-256 that the cloud tells before it gets its name."],
        actions: actions,
        positionals: [
            Positional(name: "ACTION", help: "One of those above."),
            Positional(
                name: "SESSION", help: "For download: an id of cloud sessions or a clear beginning of it.",
                isRequired: false),
            Positional(
                name: "ASSET", help: "For download: the id of one file, or a clear beginning of it.",
                isRequired: false),
        ],
        options: [
            .json,
            Option(
                name: "to", value: "DIR", help: "For download: the folder (default: celestia-SESSION).",
                actions: ["download"], completes: .folders),
            Option(
                name: "limit", value: "N", help: "For sessions: show at most N (default 50).",
                actions: ["sessions"]),
            Option(
                name: "offset", value: "N", help: "For sessions: leave out the N newest.",
                actions: ["sessions"]),
            Option(
                name: "deleted", help: "For sessions: with those that were deleted.", actions: ["sessions"]),
        ]
    ) { invocation throws(ControlError) in
        let action = try actions.action(invocation)
        if action == "download" { return try await CloudDownload(invocation).run() }
        guard invocation.positional(1) == nil else {
            throw ControlError(.invalidArgument, "cloud \(action) takes no further word")
        }
        return action == "status" ? try await status(invocation) : try await sessions(invocation)
    }

    private static func status(_ invocation: Invocation) async throws(ControlError) -> ExitCode {
        let status = try await invocation.connect().cloudStatus()
        if invocation.wantsJSON {
            try invocation.console.printJSON(status)
        } else {
            invocation.console.print(CloudView(invocation.console.layout).lines(status))
        }
        if status.state != "ok" { return .unhealthy }
        return status.account.state == "logged_in" ? .success : .notLoggedIn
    }

    private static func sessions(_ invocation: Invocation) async throws(ControlError) -> ExitCode {
        let arguments = invocation.arguments
        let query = CloudSessionQuery(
            offset: try arguments.number("offset", in: 0...1_000_000_000) ?? 0,
            limit: try arguments.number("limit", in: 1...SessionQuery.maximumLimit) ?? 50,
            deleted: arguments.has("deleted"))
        let page = try await invocation.connect().cloudSessions(query)
        if invocation.wantsJSON {
            try invocation.console.printJSON(page)
            return .success
        }
        if page.sessions.isEmpty {
            invocation.console.note(
                page.total == 0 ? "the account has no sessions" : "there are only \(page.total)")
        } else {
            invocation.console.print(CloudView(invocation.console.layout).table(page.sessions))
        }
        let shown = page.offset + page.sessions.count
        if shown < page.total {
            invocation.console.note("… and \(page.total - shown) older: --offset \(shown)")
        }
        if let unreadable = page.unreadable {
            invocation.console.note(
                "\(Units.count(unreadable, "session")) more that this version cannot read")
        }
        return .success
    }
}
