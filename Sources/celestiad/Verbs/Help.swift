import Control

/// `celestiad help`
enum HelpVerb {
    static let verb = Verb(
        name: "help", summary: "Show what there is, or how a verb is used.",
        positionals: [
            Positional(name: "VERB", help: "The verb to explain.", isRequired: false, completes: .verbs)
        ]
    ) { invocation throws(ControlError) in
        // The parser's own way of showing help, so that `help VERB` and `VERB --help` are one text.
        let words = (invocation.positional(0).map { [$0] } ?? []) + ["--help"]
        guard case .help(let verb) = try ArgumentParser(verbs: Program.verbs).parse(words) else {
            return .failure
        }
        invocation.console.print(CommandRunner.help(verb, Program.verbs, invocation.console))
        return .success
    }
}
