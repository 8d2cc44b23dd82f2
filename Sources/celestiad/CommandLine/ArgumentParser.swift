import Control

/// Turns the command line into a verb and its arguments. Pure.
struct ArgumentParser {
    let verbs: [Verb]

    enum Command {
        case run(Verb, Arguments)
        /// Help on a verb, or on the whole.
        case help(Verb?)
    }

    /// `words` without the program's own name. Throws `invalidArgument` with a suggestion where there is one.
    func parse(_ words: [String]) throws(ControlError) -> Command {
        var words = words[...]
        var leading = Arguments()
        // Options that every verb takes may also stand before it.
        while let word = words.first, word.hasPrefix("-") {
            if word == "--version", let version = verbs.first(where: { $0.name == "version" }) {
                return .run(version, leading)
            }
            try takeOption(&words, of: Option.common, verb: nil, into: &leading)
        }
        guard let name = words.popFirst() else { return .help(nil) }
        guard let verb = verbs.first(where: { $0.name == name }) else { throw unknownVerb(name) }
        let arguments = try parse(words, of: verb, leading)
        return leading.has("help") || arguments.has("help") ? .help(verb) : .run(verb, arguments)
    }

    private func parse(
        _ words: ArraySlice<String>, of verb: Verb, _ leading: Arguments
    ) throws(ControlError) -> Arguments {
        var words = words
        var arguments = leading
        while let word = words.first {
            if word == "--" {
                arguments.positionals += words.dropFirst()
                break
            } else if word.hasPrefix("-"), word != "-" {
                try takeOption(&words, of: verb.options + Option.common, verb: verb, into: &arguments)
            } else {
                arguments.positionals.append(word)
                words.removeFirst()
            }
        }
        guard !arguments.has("help") else { return arguments }
        let given = arguments.positionals.count
        if given < verb.positionals.count, verb.positionals[given].isRequired {
            throw usage("\(verb.name) needs \(verb.positionals[given].name)", verb)
        }
        guard given <= verb.positionals.count || verb.positionals.last?.isRepeated == true else {
            // Not repeated: it may be a password.
            throw usage("there is a word too many for \(verb.name)", verb)
        }
        try checkOptions(of: verb, arguments)
        return arguments
    }

    /// An option that the action does not look at would be a wish that nobody hears.
    private func checkOptions(of verb: Verb, _ arguments: Arguments) throws(ControlError) {
        guard verb.actions != nil else { return }
        let action = arguments.positionals.first ?? ""
        for option in verb.options
        where arguments.has(option.name) && !option.actions.isEmpty && !option.actions.contains(action) {
            let owners = option.actions.map { "celestiad \(verb.name) \($0)" }
            throw usage("--\(option.name) goes with \(owners.joined(separator: " and ")) only", verb)
        }
    }

    private func takeOption(
        _ words: inout ArraySlice<String>, of options: [Option], verb: Verb?, into arguments: inout Arguments
    ) throws(ControlError) {
        let word = words.removeFirst()
        let (name, inlineValue) = Self.split(word)
        let isLong = word.hasPrefix("--")
        guard
            let option = options.first(where: {
                isLong ? $0.name == name : $0.short.map { String($0) == name } ?? false
            })
        else { throw unknownOption(word, name, options, verb) }
        guard arguments.options[option.name] == nil else {
            throw usage("--\(option.name) is given twice", verb)
        }
        guard let valueName = option.value else {
            guard inlineValue == nil else { throw usage("--\(option.name) takes no value", verb) }
            arguments.options[option.name] = ""
            return
        }
        guard let value = inlineValue ?? words.popFirst() else {
            throw usage("--\(option.name) needs \(valueName)", verb)
        }
        arguments.options[option.name] = value
    }

    /// `--name=value` in its two parts; a short option has its value in the next word.
    private static func split(_ word: String) -> (name: String, value: String?) {
        let body = word.drop { $0 == "-" }
        guard word.hasPrefix("--"), let equals = body.firstIndex(of: "=") else { return (String(body), nil) }
        return (String(body[..<equals]), String(body[body.index(after: equals)...]))
    }

    private func unknownVerb(_ name: String) -> ControlError {
        let similar = Suggestion.closest(to: name, among: verbs.map(\.name))
        return ControlError(
            .invalidArgument, "there is no verb \"\(Text.clean(name))\"",
            hint: similar.map { "did you mean: celestiad \($0)" } ?? "see: celestiad help")
    }

    private func unknownOption(_ word: String, _ name: String, _ options: [Option], _ verb: Verb?)
        -> ControlError
    {
        let similar = Suggestion.closest(to: name, among: options.map(\.name))
        guard let similar else { return usage("there is no option \(Text.clean(word))", verb) }
        return ControlError(
            .invalidArgument, "there is no option \(Text.clean(word))", hint: "did you mean: --\(similar)")
    }

    private func usage(_ message: String, _ verb: Verb?) -> ControlError {
        ControlError(
            .invalidArgument, Text.clean(message),
            hint: verb.map { "usage: \(HelpText.usage($0))" } ?? "see: celestiad help")
    }
}

/// What the user may have meant.
enum Suggestion {
    /// The most similar candidate, if it is similar enough to be meant: at most two slips, fewer in short words.
    static func closest(to word: String, among candidates: [String]) -> String? {
        let word = String(word.prefix(64))
        let limit = min(2, max(1, word.count / 3))
        let ranked = candidates.map { (name: $0, distance: distance(word, $0)) }
        return ranked.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.name
            ?? (word.count >= 3 ? candidates.first { $0.hasPrefix(word) } : nil)
    }

    /// Insertions, deletions, replacements and swaps of neighbours between the two.
    private static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left), Array(right))
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var rows = [Array(0...right.count)]
        for i in 1...left.count {
            var row = [i]
            for j in 1...right.count {
                let replaced = rows[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1)
                var best = min(replaced, rows[i - 1][j] + 1, row[j - 1] + 1)
                if i > 1, j > 1, left[i - 1] == right[j - 2], left[i - 2] == right[j - 1] {
                    best = min(best, rows[i - 2][j - 2] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
