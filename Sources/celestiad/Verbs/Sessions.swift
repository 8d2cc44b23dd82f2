import Control

/// `celestiad sessions`
enum SessionsVerb {
    static let verb = Verb(
        name: "sessions", summary: "List captures and how far each has come, newest first.",
        options: [
            .json,
            Option(name: "limit", value: "N", help: "Show at most N (default 50)."),
            Option(name: "offset", value: "N", help: "Leave out the N newest."),
            Option(name: "device", value: "ID", help: "Only those of this recorder.", completes: .recorders),
            Option(
                name: "state", value: "STATE",
                help: "Only those in this state, such as imported or uploading."),
            Option(
                name: "attention",
                help:
                    "Only those that are held, have failed for good, or may be in the cloud without our knowing."
            ),
            Option(name: "fail-if-none", help: "Exit with 9 when there is none."),
        ]
    ) { invocation throws(ControlError) in
        let arguments = invocation.arguments
        var query = SessionQuery(
            offset: try arguments.number("offset", in: 0...1_000_000_000) ?? 0,
            limit: try arguments.number("limit", in: 1...SessionQuery.maximumLimit) ?? 50,
            recorder: arguments.value("device"), state: arguments.value("state"),
            attention: arguments.has("attention"))
        let client = try await invocation.connect()
        let unknown = try await resolve(&query, client)
        let page = try await client.sessions(query)
        // Sessions outlive the pairing: also a recorder that is forgotten may have some.
        if let unknown, page.total == 0 { throw unknown }
        if invocation.wantsJSON {
            try invocation.console.printJSON(page)
        } else if page.sessions.isEmpty {
            invocation.console.note(nothing(query))
        } else {
            invocation.console.print(SessionView(invocation.console.layout).table(page.sessions))
            let shown = page.offset + page.sessions.count
            if shown < page.total {
                invocation.console.note("… and \(page.total - shown) older: --offset \(shown)")
            }
        }
        return page.sessions.isEmpty && arguments.has("fail-if-none") ? .nothingToDo : .success
    }

    /// Makes a whole id of what the user typed for the recorder; returns the error when none is paired by that name.
    private static func resolve(
        _ query: inout SessionQuery, _ client: ControlClient
    ) async throws(ControlError) -> ControlError? {
        guard let recorder = query.recorder else { return nil }
        do throws(ControlError) {
            query.recorder = try await client.recorder(recorder).id
            return nil
        } catch {
            guard error.code == .notFound else { throw error }
            return error
        }
    }

    private static func nothing(_ query: SessionQuery) -> String {
        query == SessionQuery(limit: query.limit)
            ? "no captures yet → celestiad pair, if no recorder is paired" : "no session matches"
    }
}
