import Control
import Glibc

/// `celestiad login`
enum LoginVerb {
    static let verb = Verb(
        name: "login", summary: "Log in to the cloud.",
        discussion: [
            "The password is asked for without echo, or read from a file or a pipe. It is never taken from the command line, where every user could see it."
        ],
        positionals: [
            Positional(name: "IDENTIFIER", help: "Your e-mail address or user name.", isRequired: false)
        ],
        options: [
            Option(
                name: "password-file", value: "FILE",
                help: "Read the password from FILE; - is standard input."),
            .json,
        ]
    ) { invocation throws(ControlError) in
        let identifier = try await identifier(invocation)
        let password = try await password(invocation)
        let account = try await invocation.connect().login(identifier: identifier, password: password)
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

    private static func password(_ invocation: Invocation) async throws(ControlError) -> Password {
        if let file = invocation.arguments.value("password-file") {
            return Password(try await SecretFile.firstLine(of: file, "password", invocation.console))
        }
        guard invocation.console.inputIsTerminal else {
            throw ControlError(
                .invalidArgument, "standard input is not a terminal to ask for the password",
                hint: "--password-file FILE, or --password-file - to read it from standard input")
        }
        guard let answer = await invocation.console.ask("Password: ", echo: false), !answer.isEmpty else {
            throw ControlError(.cancelled, "no password was given")
        }
        return Password(answer)
    }
}

/// A secret in a file or on standard input.
enum SecretFile {
    private static let limit = 4096

    /// The first line of `path`, `-` being standard input. `what` names it in errors, which never contain it.
    static func firstLine(of path: String, _ what: String, _ console: Console) async throws(ControlError)
        -> String
    {
        let bytes = path == "-" ? try await console.input.all(limit: limit) : try read(path, what, console)
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        guard !line.isEmpty, let text = String(validating: line, as: UTF8.self) else {
            throw ControlError(
                .invalidArgument, "there is no \(what) in \(path == "-" ? "standard input" : path)")
        }
        return text
    }

    private static func read(
        _ path: String, _ what: String, _ console: Console
    ) throws(ControlError) -> [UInt8] {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard fd >= 0 else {
            throw ControlError(.invalidArgument, "the \(what) file \(path) cannot be read: \(reason())")
        }
        defer { close(fd) }
        var info = stat()
        if fstat(fd, &info) == 0, info.st_mode & S_IFMT == S_IFREG, info.st_mode & 0o077 != 0 {
            console.note("warning: other users may read the \(what) file → chmod 600 \(Text.clean(path))")
        }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = Glibc.read(fd, &bytes, bytes.count)
        guard count >= 0 else {
            throw ControlError(.invalidArgument, "the \(what) file \(path) cannot be read: \(reason())")
        }
        return Array(bytes.prefix(count))
    }

    private static func reason() -> String { String(cString: strerror(errno)) }
}
