import Control

/// `celestiad completions WHAT`
enum CompletionsVerb {
    static let actions = Actions(
        "completions",
        ShellCompletion.Shell.allCases.map {
            Action($0.rawValue, "", "Print the completions for \($0.rawValue).")
        } + [
            Action("devices", "", "Print the ids of the paired recorders."),
            Action("nearby", "", "Print the addresses of the recorders that are paired or in reach."),
            Action("sessions", "", "Print the ids of the newest sessions."),
            Action("verbs", "", "Print the verbs."),
        ])

    static let verb = Verb(
        name: "completions", summary: "Print completions for a shell.",
        discussion: ["For bash: celestiad completions bash > /etc/bash_completion.d/celestiad"],
        actions: actions,
        positionals: [Positional(name: "ACTION", help: "One of those above.")]
    ) { invocation throws(ControlError) in
        let action = try actions.action(invocation)
        let console = invocation.console
        if let shell = ShellCompletion.Shell(rawValue: action) {
            console.print(ShellCompletion.script(for: shell, Program.verbs))
            return .success
        }
        switch action {
        case "verbs": console.print(Program.verbs.map(\.name))
        case "devices":
            console.print(try await invocation.connect().recorders().map(\.id).filter(isPlain))
        case "nearby":
            console.print(try await nearby(invocation).filter(isPlain))
        default:
            let page = try await invocation.connect().sessions(SessionQuery(limit: 100))
            console.print(page.sessions.map(\.id).filter(isPlain))
        }
        return .success
    }

    private static func nearby(_ invocation: Invocation) async throws(ControlError) -> [String] {
        let paired = try await invocation.connect().recorders().compactMap(\.address)
        let bus = CommandRunner.busAddress(invocation.arguments, invocation.environment)
        return Set(paired + (await NearbyRecorders.addresses(bus))).sorted()
    }

    /// A shell expands what it is offered, and a serial number is what a recorder says that it is: only ids that mean
    /// nothing to any shell are offered.
    static func isPlain(_ id: String) -> Bool {
        !id.isEmpty && id.first != "-"
            && id.unicodeScalars.allSatisfy {
                $0.isASCII
                    && ($0.properties.isAlphabetic || $0.properties.numericType != nil
                        || "._:-".unicodeScalars.contains($0))
            }
    }
}
