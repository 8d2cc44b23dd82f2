import Control
import Gateway
import Glibc

/// Where verbs get passwords: a file, a systemd credential, or the terminal without echo; never the command line, where
/// every user could see them.
struct Passwords {
    let invocation: Invocation

    /// What the verbs that use this say of it.
    static let discussion =
        "A password is asked for without echo, or read from a file, a pipe, or the systemd credential celestiad.password. It is never taken from the command line, where every user could see it."
    static let option = option(of: [])

    /// The same for some actions of a verb.
    static func option(of actions: [String]) -> Option {
        Option(
            name: "password-file", value: "FILE", help: "Read the password from FILE; - is standard input.",
            actions: actions, completes: .files)
    }

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    /// The password that there is.
    func current(_ question: String = "Password: ") async throws(ControlError) -> Password {
        try await password("password-file", question, credential: credentialFile)
    }

    /// One to be set: on a terminal it is typed twice.
    func new(_ option: String) async throws(ControlError) -> Password {
        let first = try await password(option, "New password: ", credential: nil)
        guard first.reveal().unicodeScalars.count >= 6 else {
            throw ControlError(.invalidArgument, "the password needs at least 6 characters")
        }
        guard invocation.arguments.value(option) == nil else { return first }
        guard let again = await invocation.console.ask("The same again: ", echo: false),
            Password(again) == first
        else { throw ControlError(.invalidArgument, "that was not the same; nothing was changed") }
        return first
    }

    private var credentialFile: String? {
        Configuration.passwordCredential(in: invocation.environment).flatMap {
            access($0, F_OK) == 0 ? $0 : nil
        }
    }

    private func password(
        _ option: String, _ question: String, credential: String?
    ) async throws(ControlError) -> Password {
        let console = invocation.console
        if let file = invocation.arguments.value(option) ?? credential {
            return Password(try await SecretFile.firstLine(of: file, "password", console))
        }
        guard console.inputIsTerminal else {
            throw ControlError(
                .invalidArgument, "standard input is not a terminal to ask for the password",
                hint: "--\(option) FILE, or --\(option) - to read it from standard input")
        }
        guard let answer = await console.ask(question, echo: false), !answer.isEmpty else {
            throw ControlError(.cancelled, "no password was given")
        }
        return Password(answer)
    }
}
