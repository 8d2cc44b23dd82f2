import Control

/// `celestiad scan`
enum ScanVerb {
    static let verb = Verb(
        name: "scan", summary: "Look for recorders nearby.",
        options: [
            .wait("How long to look (default 10)."), .json,
            Option(name: "fail-if-none", help: "Exit with 9 when none is found."),
        ]
    ) { invocation throws(ControlError) in
        let seconds = try invocation.arguments.number("wait", in: 1...600) ?? 10
        let client = try await invocation.connect()
        let found = try await LiveScan(console: invocation.console).run(client, seconds: seconds)
        if invocation.wantsJSON {
            try invocation.console.printJSON(ScanDocument(found: ScanView.sorted(found)))
        } else if found.isEmpty {
            invocation.console.note(
                "no recorder was found in \(seconds) s; is it on, near, and in pairing mode?")
        } else {
            invocation.console.print(ScanView(invocation.console.layout).table(found))
        }
        return found.isEmpty && invocation.arguments.has("fail-if-none") ? .nothingToDo : .success
    }
}

/// What `scan --json` prints.
struct ScanDocument: Codable {
    let found: [ScanResultDocument]
}

/// A scan whose list lives on standard error while it runs, where that is a terminal.
struct LiveScan {
    let console: Console

    func run(
        _ client: ControlClient, seconds: Int, numbered: Bool = false,
        _ update: ([ScanResultDocument]) async -> Void = { _ in }
    ) async throws(ControlError) -> [ScanResultDocument] {
        var area = LiveArea(console, onError: true)
        defer { area.erase() }
        return try await client.scan(seconds: UInt32(clamping: seconds)) { found in
            await update(found)
            guard console.errorIsTerminal else { return }
            let layout = console.errorLayout
            let title = Text.fit("looking for recorders for \(seconds) s …", to: layout.width)
            area.draw([title] + (found.isEmpty ? [] : ScanView(layout).table(found, numbered: numbered)))
        }
    }
}
