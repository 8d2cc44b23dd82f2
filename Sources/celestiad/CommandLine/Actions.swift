import Control

/// One action of a verb.
struct Action: Sendable {
    let name: String
    /// What follows it, as help shows it.
    let arguments: String
    let help: String

    init(_ name: String, _ arguments: String = "", _ help: String) {
        self.name = name
        self.arguments = arguments
        self.help = help
    }
}

/// The actions of a verb: `celestiad VERB ACTION …`.
struct Actions: Sendable {
    let verb: String
    let all: [Action]
    /// Where the first word may also be what the verb is about: where such are listed.
    let listing: String?

    init(_ verb: String, listing: String? = nil, _ all: [Action]) {
        self.verb = verb
        self.listing = listing
        self.all = all
    }

    var names: [String] { all.map(\.name) }

    /// The first word, when it is no action but what the verb is about. Throws `invalidArgument` for an action alone.
    func subject(_ invocation: Invocation) throws(ControlError) -> String {
        let word = invocation.positional(0) ?? ""
        guard let action = all.first(where: { $0.name == word }) else { return word }
        throw ControlError(
            .invalidArgument, "\(verb) \(word) needs \(action.arguments)",
            hint: listing.map { "celestiad \($0) lists them" })
    }

    /// The first word as an action. Throws `invalidArgument` with what was probably meant.
    func action(_ invocation: Invocation) throws(ControlError) -> String {
        let word = invocation.positional(0) ?? ""
        guard !names.contains(word) else { return word }
        let nearest = Suggestion.closest(to: word, among: names)
        let similar = all.first { $0.name == nearest }
        throw ControlError(
            .invalidArgument, "there is no action \"\(Text.clean(word))\"",
            hint: similar.map { "did you mean: celestiad \(verb) \($0.name) \($0.arguments)".trimmingSpace() }
                ?? "see: celestiad help \(verb)")
    }
}
