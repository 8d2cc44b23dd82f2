import Control

/// `celestiad pair`
enum PairVerb {
    static let verb = Verb(
        name: "pair", summary: "Pair with a recorder.",
        discussion: [
            "On a terminal it looks for recorders, asks which one, and asks you to compare the number that both sides show. A script names the recorder and gives the answers: --device with --passkey-file, or with --yes, which compares nothing.",
            "A recorder that is paired already is left as it is. An existing bond is only replaced with --repair.",
        ],
        options: [
            Option(
                name: "device", value: "ID",
                help: "The recorder's address, or its id if it was paired before.", completes: .nearby),
            Option(name: "yes", short: "y", help: "Answer yes, also to the comparison of the numbers."),
            Option(
                name: "passkey-file", value: "FILE",
                help:
                    "The six digits that the recorder shows, to compare with or to enter; - is standard input.",
                completes: .files),
            Option(
                name: "allow-just-works",
                help:
                    "Accept a pairing without any check of who the other side is: anyone near could be in between."
            ),
            Option(name: "repair", help: "Remove the bond that there is and make a new one."),
            Option(name: "first-time", help: "Fail if the recorder is paired already."),
            .wait("How long to look for recorders (default 30)."), .json,
        ]
    ) { invocation throws(ControlError) in
        let client = try await invocation.connect()
        try preflight(try await client.status())
        let arguments = invocation.arguments
        let seconds = try arguments.number("wait", in: 1...Int(PairRequest.maximumSearchSeconds)) ?? 30
        let device = try await device(invocation, client, seconds)
        let dialogue = try await PairDialogue(invocation)
        let request = PairRequest(
            device: device, firstTime: arguments.has("first-time"), repair: arguments.has("repair"),
            allowJustWorks: arguments.has("allow-just-works"),
            searchSeconds: arguments.has("wait") ? UInt32(clamping: seconds) : nil)
        var progress = PairProgress(invocation.console)
        let result = try await client.pair(request) { job throws(ControlError) in
            progress.show(job)
            return try await dialogue.answer(job)
        }
        try report(result, invocation)
        await advise(invocation, client)
        return .success
    }

    /// What would keep every pairing from working, as the status says it.
    private static func preflight(_ status: StatusDocument) throws(ControlError) {
        let trouble = status.health.first { HealthItem.bluetoothTroubles.contains($0.code) }
        guard let trouble else { return }
        throw ControlError(.adapterUnavailable, Text.clean(trouble.text), hint: trouble.hint)
    }

    // MARK: Which one

    private static func device(
        _ invocation: Invocation, _ client: ControlClient, _ seconds: Int
    ) async throws(ControlError) -> String {
        if let device = invocation.arguments.value("device") { return device }
        let console = invocation.console
        guard console.inputIsTerminal else {
            throw ControlError(
                .invalidArgument, "standard input is not a terminal to ask which recorder",
                hint: "name it: --device ID; celestiad scan lists what is near")
        }
        console.note("Put the recorder in pairing mode. Press Enter when it is in the list.")
        let found = ScanView.sorted(try await scan(client, seconds, console))
        guard !found.isEmpty else {
            throw ControlError(
                .notFound, "no recorder was found",
                hint: "is it on, near, and in pairing mode? then try again")
        }
        console.writeError(console.encoded(ScanView(console.errorLayout).table(found, numbered: true)))
        return try await choose(found, console)
    }

    /// Scans until the time is over or the user presses Enter.
    private static func scan(
        _ client: ControlClient, _ seconds: Int, _ console: Console
    ) async throws(ControlError) -> [ScanResultDocument] {
        let latest = Latest()
        let result: Result<[ScanResultDocument], ControlError>? = await withTaskGroup(
            of: Result<[ScanResultDocument], ControlError>?.self
        ) { group in
            group.addTask {
                do throws(ControlError) {
                    return .success(
                        try await LiveScan(console: console).run(client, seconds: seconds, numbered: true) {
                            await latest.set($0)
                        })
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                _ = await console.input.line(echo: false)  // an echo would move the list
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            await group.waitForAll()
            return first
        }
        if Task.isCancelled { throw ControlError(.cancelled, "interrupted") }
        guard let result else { return await latest.found }
        return try result.get()
    }

    private actor Latest {
        private(set) var found: [ScanResultDocument] = []
        func set(_ found: [ScanResultDocument]) { self.found = found }
    }

    /// Also one alone is asked for: it may be a stranger's.
    private static func choose(
        _ found: [ScanResultDocument], _ console: Console
    ) async throws(ControlError) -> String {
        let last = found.count
        while let answer = await console.ask("Which one? [\(last == 1 ? "1" : "1-\(last)"), q] ")?
            .trimmingSpace()
        {
            if answer.lowercased() == "q" { break }
            if let number = Int(answer), (1...last).contains(number) { return found[number - 1].address }
            console.note("please answer with a number from 1 to \(last), or q")
        }
        throw ControlError(.cancelled, "nothing was paired")
    }

    // MARK: What came of it

    private static func report(_ result: PairResultDocument, _ invocation: Invocation) throws(ControlError) {
        let console = invocation.console
        guard !invocation.wantsJSON else { return try console.printJSON(result) }
        let name = Text.clean(result.recorder.name ?? result.recorder.id)
        console.note(
            result.alreadyPaired ? "\(name) was paired already; nothing was changed" : "paired with \(name)")
        console.print(RecorderView(console.layout).lines(result.recorder))
    }

    private static func advise(_ invocation: Invocation, _ client: ControlClient) async {
        do throws(ControlError) {
            let account = try await client.status().account
            if account.state != "logged_in" { invocation.console.note("next: celestiad login") }
        } catch {
            // Advice is not worth an error after a pairing that worked.
        }
    }
}

/// The stages of a pairing and the number to type on the recorder, each said once.
private struct PairProgress {
    private let console: Console
    private var stage: String?
    private var lastPrompt = 0

    init(_ console: Console) {
        self.console = console
    }

    mutating func show(_ job: JobDocument) {
        if let stage = job.stage, stage != self.stage {
            self.stage = stage
            console.note("\(Words.plain(stage)) …")
        }
        guard let prompt = job.prompt, prompt.serial != lastPrompt else { return }
        lastPrompt = prompt.serial
        guard prompt.kind == PromptDocument.Kind.display else { return }
        let number = Text.clean(prompt.passkey ?? "?")
        console.note("security: passkey entry; type this number on the recorder: \(number)")
    }
}
