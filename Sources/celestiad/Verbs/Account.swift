import CaptureQueue
import Control

/// `celestiad account ACTION`
enum AccountVerb {
    static let actions = Actions(
        "account",
        [
            Action(
                "register", "USERNAME IDENTIFIER",
                "Make an account and log in to it; IDENTIFIER is an e-mail address or a phone number."),
            Action("show", "", "Show the account that is logged in."),
            Action("edit", "", "Change what the options name of it."),
            Action("password", "", "Change its password."),
        ])

    static let verb = Verb(
        name: "account", summary: "Make an account in the cloud, show it or change it.",
        discussion: [Passwords.discussion], actions: actions,
        positionals: [
            Positional(name: "ACTION", help: "One of those above."),
            Positional(name: "USERNAME", help: "For register: at least 2 characters.", isRequired: false),
            Positional(
                name: "IDENTIFIER", help: "For register: an e-mail address or phone number.",
                isRequired: false),
        ],
        options: [
            Passwords.option(of: ["register", "password"]),
            Option(
                name: "new-password-file", value: "FILE",
                help: "For password: read the new one from FILE; - is standard input.", actions: ["password"],
                completes: .files),
            Option(name: "username", value: "NAME", help: "For edit: the new user name.", actions: ["edit"]),
            Option(
                name: "email", value: "ADDRESS", help: "For edit: the new e-mail address.", actions: ["edit"]),
            Option(
                name: "phone", value: "NUMBER", help: "For edit: the new phone number.", actions: ["edit"]),
            Option(
                name: "avatar", value: "URL", help: "For edit: the address of the new picture.",
                actions: ["edit"]),
            .json,
        ]
    ) { invocation throws(ControlError) in
        let action = try actions.action(invocation)
        guard action == "register" || invocation.positional(1) == nil else {
            throw ControlError(.invalidArgument, "account \(action) takes no further word")
        }
        switch action {
        case "register": return try await register(invocation)
        case "edit": return try await edit(invocation)
        case "password": return try await changePassword(invocation)
        default: return try show(try await invocation.connect().profile(), invocation)
        }
    }

    private static func register(_ invocation: Invocation) async throws(ControlError) -> ExitCode {
        guard let username = invocation.positional(1), let identifier = invocation.positional(2) else {
            throw ControlError(
                .invalidArgument, "account register needs USERNAME and IDENTIFIER",
                hint: "such as: celestiad account register ada ada@example.com")
        }
        guard username.unicodeScalars.count >= 2 else {
            throw ControlError(.invalidArgument, "the user name needs at least 2 characters")
        }
        if let problem = DisplayName.problem(with: username) {
            throw ControlError(.invalidArgument, "a user name \(problem)")
        }
        let client = try await invocation.connectBeforeAsking()
        let password = try await Passwords(invocation).new("password-file")
        let account = try await client.register(
            username: username, identifier: identifier, password: password)
        if invocation.wantsJSON {
            try invocation.console.printJSON(account)
        } else {
            invocation.console.note(
                "made the account \(Text.clean(account.name ?? username)) and logged in"
                    + (account.host.map { " at \(Text.clean($0))" } ?? ""))
        }
        return .success
    }

    private static func edit(_ invocation: Invocation) async throws(ControlError) -> ExitCode {
        let arguments = invocation.arguments
        let change = ProfileChange(
            username: arguments.value("username"), email: arguments.value("email"),
            phoneNumber: arguments.value("phone"), avatarURL: arguments.value("avatar"))
        guard !change.isEmpty else {
            throw ControlError(
                .invalidArgument, "there is nothing to change",
                hint: "name at least one of --username, --email, --phone, --avatar")
        }
        let values = [change.username, change.email, change.phoneNumber, change.avatarURL]
        guard values.allSatisfy({ $0 != "" }) else {
            throw ControlError(
                .invalidArgument, "a field of the account cannot be emptied, only replaced",
                hint: "leave the option out to keep what is there")
        }
        return try show(try await invocation.connect().editProfile(change), invocation)
    }

    private static func changePassword(_ invocation: Invocation) async throws(ControlError) -> ExitCode {
        let files = ["password-file", "new-password-file"].map { invocation.arguments.value($0) }
        guard files != ["-", "-"] else {
            throw ControlError(.invalidArgument, "only one of the passwords can come by standard input")
        }
        let client = try await invocation.connectBeforeAsking()
        let passwords = Passwords(invocation)
        let old = try await passwords.current("Old password: ")
        let new = try await passwords.new("new-password-file")
        try await client.changePassword(old: old, new: new)
        invocation.console.note("the password is changed")
        return .success
    }

    private static func show(
        _ profile: ProfileDocument, _ invocation: Invocation
    ) throws(ControlError) -> ExitCode {
        if invocation.wantsJSON {
            try invocation.console.printJSON(profile)
        } else {
            invocation.console.print(CloudView(invocation.console.layout).lines(profile))
        }
        return .success
    }
}
