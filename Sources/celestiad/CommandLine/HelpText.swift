import Control

/// Help, made from the declarations of the verbs. Pure.
enum HelpText {
    /// Where the package puts docs/.
    static let documents = "/usr/share/doc/celestiad/docs"

    /// `celestiad VERB …` with what it takes.
    static func usage(_ verb: Verb) -> String {
        var words = ["celestiad", verb.name]
        // What only actions take is said with them.
        words +=
            verb.actions == nil
            ? verb.positionals.map { $0.isRequired ? $0.name : "[\($0.name)]" }
            : [verb.positionals.first?.name ?? ""] + (verb.actions?.listing == nil ? ["…"] : [])
        return (words + ["[options]"]).joined(separator: " ")
    }

    static func lines(for verb: Verb, width: Int) -> [String] {
        var lines = ["usage: \(usage(verb))"]
        if verb.actions?.listing != nil { lines.append("       celestiad \(verb.name) ACTION … [options]") }
        lines.append("")
        lines += Text.wrap(verb.summary, width: width)
        for paragraph in verb.discussion { lines += [""] + Text.wrap(paragraph, width: width) }
        if let actions = verb.actions?.all {
            let titles = actions.map { ("\($0.name) \($0.arguments)".trimmingSpace(), $0.help) }
            lines += ["", "actions:"] + entries(titles, width: width)
        }
        let arguments = verb.positionals.filter { !$0.help.isEmpty }
        if !arguments.isEmpty {
            lines += ["", "arguments:"] + entries(arguments.map { ($0.name, $0.help) }, width: width)
        }
        lines +=
            ["", "options:"]
            + entries((verb.options + Option.common).map { (title($0), $0.help) }, width: width)
        return lines
    }

    static func lines(for verbs: [Verb], width: Int) -> [String] {
        var lines = ["usage: celestiad VERB [arguments] [options]", ""]
        lines += Text.wrap(
            "Brings what a Celestia recorder captured to the cloud: `celestiad run` is the daemon, every other verb talks to it.",
            width: width)
        lines += ["", "verbs:"] + entries(verbs.map { ($0.name, $0.summary) }, width: width)
        lines +=
            ["", "exit codes:"]
            + entries(ExitCode.allCases.map { ("\($0.rawValue)", $0.meaning) }, width: width)
        lines += ["", "celestiad help VERB says more; \(documents)/json.md is for programs."]
        return lines
    }

    private static func title(_ option: Option) -> String {
        let long = "--" + option.name + (option.value.map { " \($0)" } ?? "")
        return option.short.map { "-\($0), \(long)" } ?? "    \(long)"
    }

    private static func entries(_ entries: [(title: String, help: String)], width: Int) -> [String] {
        let column = min(28, (entries.map { $0.title.count }.max() ?? 0) + 4)
        return entries.flatMap { entry -> [String] in
            let help = Text.wrap(entry.help, width: max(20, width - column))
            let title = "  " + entry.title
            let isShort = title.count <= column - 2
            let first = isShort ? [Text.pad(title, to: column) + (help.first ?? "")] : [title]
            let rest = isShort ? help.dropFirst() : help[...]
            return first + rest.map { String(repeating: " ", count: column) + $0 }
        }
    }
}
