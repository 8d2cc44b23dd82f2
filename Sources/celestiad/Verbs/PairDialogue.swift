import Control

/// Answers the questions of a pairing: by the user on a terminal, by options for a script.
struct PairDialogue: Sendable {
    private let console: Console
    private let saysYes: Bool
    private let allowsJustWorks: Bool
    /// What the recorder shows, as a script knows it.
    private let passkey: UInt32?

    init(_ invocation: Invocation) async throws(ControlError) {
        console = invocation.console
        saysYes = invocation.arguments.has("yes")
        allowsJustWorks = invocation.arguments.has("allow-just-works")
        guard let file = invocation.arguments.value("passkey-file") else {
            passkey = nil
            return
        }
        let line = try await SecretFile.firstLine(of: file, "passkey", console).trimmingSpace()
        guard let number = PromptDocument.passkey(line) else {
            throw ControlError(.invalidArgument, "a passkey is six digits", hint: "see --passkey-file")
        }
        passkey = number
    }

    /// The answer to the job's question, nil when it asks none. Throws to cancel the pairing.
    func answer(_ job: JobDocument) async throws(ControlError) -> PairingAnswer? {
        guard let prompt = job.prompt, job.state == "running" else { return nil }
        switch prompt.kind {
        case PromptDocument.Kind.confirm: return try await confirm(prompt)
        case PromptDocument.Kind.passkey: return try await enter()
        case PromptDocument.Kind.justWorks: return try await justWorks()
        case PromptDocument.Kind.display: return nil  // nothing to answer
        default:
            throw ControlError(
                .failed, "the recorder asks for something that this program does not know",
                hint: "update celestiad")
        }
    }

    private func confirm(_ prompt: PromptDocument) async throws(ControlError) -> PairingAnswer {
        let number = Self.digits(prompt.passkey)
        if let passkey {
            guard prompt.passkey.flatMap(PromptDocument.passkey) == passkey else {
                throw ControlError(
                    .failed, "the numbers differ: the pairing was refused",
                    hint: "something else may have answered in the recorder's place; try again nearer to it")
            }
            console.note("security: numeric comparison, \(number) is what --passkey-file says")
            return .accept
        }
        if saysYes {
            console.note(
                "security: numeric comparison, \(number) accepted by --yes without a look at the recorder")
            return .accept
        }
        try requireTerminal("whether the recorder shows \(number)", "--passkey-file FILE, or --yes")
        console.note("security: numeric comparison")
        guard await console.confirm("Does the recorder show \(number)?") else { return .refuse }
        return .accept
    }

    private func enter() async throws(ControlError) -> PairingAnswer {
        if let passkey { return .passkey(passkey) }
        try requireTerminal("for the passkey", "--passkey-file FILE")
        console.note("security: passkey entry")
        while let answer = await console.ask("Which six digits does the recorder show? ")?.trimmingSpace(),
            !answer.isEmpty
        {
            if let number = PromptDocument.passkey(answer.filter { $0 != " " }) { return .passkey(number) }
            console.note("please type the six digits, or nothing to stop")
        }
        return .refuse
    }

    private func justWorks() async throws(ControlError) -> PairingAnswer {
        guard allowsJustWorks else {
            throw ControlError(
                .failed,
                "this recorder offers only Just Works, which has no protection against a man in the middle: refused",
                hint: "if you accept that somebody near could listen in: --allow-just-works")
        }
        console.note("security: Just Works, no protection against a man in the middle")
        if saysYes { return .accept }
        try requireTerminal("whether to pair without protection", "--allow-just-works --yes")
        guard await console.confirm("Pair without protection against a man in the middle?") else {
            return .refuse
        }
        return .accept
    }

    private func requireTerminal(_ question: String, _ options: String) throws(ControlError) {
        guard console.inputIsTerminal else {
            throw ControlError(
                .invalidArgument, "standard input is not a terminal to ask \(question)",
                hint: "answer by options: \(options)")
        }
    }

    private static func digits(_ passkey: String?) -> String {
        Text.clean(passkey ?? "?", limit: 12)
    }
}
