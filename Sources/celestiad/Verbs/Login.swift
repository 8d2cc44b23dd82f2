import Control

/// `celestiad login`
enum LoginVerb {
    static let verb = Verb(
        name: "login", summary: "Log in to the cloud.",
        discussion: [Passwords.discussion],
        positionals: [
            Positional(name: "IDENTIFIER", help: "Your e-mail address or user name.", isRequired: false)
        ],
        options: [Passwords.option, .json]
    ) { invocation throws(ControlError) in
        let client = try await invocation.connectBeforeAsking()
        let identifier = try await identifier(invocation)
        let password = try await Passwords(invocation).current()
        let account = try await client.login(identifier: identifier, password: password)
        if invocation.wantsJSON {
            try invocation.console.printJSON(account)
        } else {
            let name = Text.clean(account.name ?? identifier)
            invocation.console.note(
                "logged in as \(name)" + (account.host.map { " at \(Text.clean($0))" } ?? ""))
        }
        return .success
    }

    private static func identifier(_ invocation: Invocation) async throws(ControlError) -> String {
        if let given = invocation.positional(0) { return given }
        guard invocation.console.inputIsTerminal else {
            throw ControlError(
                .invalidArgument, "standard input is not a terminal to ask who you are",
                hint: "celestiad login IDENTIFIER --password-file FILE")
        }
        guard let answer = await invocation.console.ask("E-mail or user name: ")?.trimmingSpace(),
            !answer.isEmpty
        else { throw ControlError(.cancelled, "no name was given") }
        return answer
    }
}
