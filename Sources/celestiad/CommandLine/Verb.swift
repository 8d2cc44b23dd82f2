import Control

/// One verb of the command line: everything that help, completions and manuals say about it, and what it does.
struct Verb: Sendable {
    let name: String
    /// One line, as in the list of verbs.
    let summary: String
    /// More, in the verb's own help; paragraphs of text.
    var discussion: [String] = []
    var actions: Actions?
    var positionals: [Positional] = []
    var options: [Option] = []
    /// The daemon itself ends by signals in its own way; every other verb is cancelled by them.
    var handlesSignals = false
    let run: @Sendable (Invocation) async throws(ControlError) -> ExitCode
}

/// What a shell offers for a word that is still to be typed.
enum Completion: Sendable, Hashable {
    case nothing, files, folders
    /// Ids that the daemon knows now.
    case recorders, sessions
    /// Addresses of recorders that are paired or in reach.
    case nearby
    case verbs
}

/// A word that is not an option.
struct Positional: Sendable, Hashable {
    /// In capitals, as help shows it.
    let name: String
    /// Empty for the one that repeats another after an action.
    let help: String
    var isRequired = true
    /// Takes all the words that are left; the last one only.
    var isRepeated = false
    var completes = Completion.nothing
}

/// An option: `--name` or `--name VALUE`.
struct Option: Sendable, Hashable {
    /// Without the dashes.
    let name: String
    var short: Character?
    /// What the value is called in help; nil for a flag.
    var value: String?
    let help: String
    /// The actions that it goes with; none: all.
    var actions: [String] = []
    var completes = Completion.nothing

    static let json = Option(
        name: "json", help: "Print JSON instead of text (\(HelpText.documents)/json.md).")
    static let bus = Option(
        name: "bus", value: "ADDRESS",
        help: "The message bus; also CELESTIAD_BUS. Default: the system bus.")
    static let help = Option(name: "help", short: "h", help: "Show help.")
    static func wait(_ help: String) -> Option {
        Option(name: "wait", short: "w", value: "SECONDS", help: help)
    }

    /// What every verb takes.
    static let common = [bus, help]
}

/// What the user has typed after the verb.
struct Arguments: Sendable, Hashable {
    var positionals: [String] = []
    /// Values by option name; flags have an empty one.
    var options: [String: String] = [:]

    func has(_ option: String) -> Bool { options[option] != nil }
    func value(_ option: String) -> String? { options[option] }

    /// A whole number within `range`. Throws `invalidArgument` with what is allowed.
    func number(_ option: String, in range: ClosedRange<Int>) throws(ControlError) -> Int? {
        guard let text = options[option] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw ControlError(
                .invalidArgument,
                "--\(option) takes a whole number from \(range.lowerBound) to \(range.upperBound), not \"\(Text.clean(text))\""
            )
        }
        return number
    }
}

/// One run of a verb.
struct Invocation: Sendable {
    let arguments: Arguments
    let console: Console
    let environment: [String: String]
    /// Connects to the bus that the user means.
    let connect: @Sendable () async throws(ControlError) -> ControlClient

    /// Connects where the user will be asked for something: that he may not is to be said before.
    func connectBeforeAsking() async throws(ControlError) -> ControlClient {
        let client = try await connect()
        _ = try await client.version()
        return client
    }

    var wantsJSON: Bool { arguments.has("json") }

    /// The n-th word; the parser has checked that required ones are there.
    func positional(_ index: Int) -> String? {
        index < arguments.positionals.count ? arguments.positionals[index] : nil
    }

    /// Asks before something that cannot be undone, unless --yes said so. Throws `cancelled` for a no, and
    /// `invalidArgument` where nobody can be asked; `what` says then what was to be asked.
    func confirm(_ question: String, _ what: String) async throws(ControlError) {
        guard !arguments.has("yes") else { return }
        guard console.inputIsTerminal else {
            throw ControlError(
                .invalidArgument, "standard input is not a terminal to ask \(what)", hint: "say so: --yes")
        }
        guard await console.confirm(question) else {
            throw ControlError(.cancelled, "nothing was changed")
        }
    }
}
