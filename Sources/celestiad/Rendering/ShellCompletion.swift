/// Completions for shells, made from the declarations of the verbs; ids are asked for when they are needed. Pure.
enum ShellCompletion {
    enum Shell: String, CaseIterable {
        case bash, zsh, fish
    }

    static func script(for shell: Shell, _ verbs: [Verb]) -> [String] {
        switch shell {
        case .bash: bash(verbs)
        case .zsh: zsh(verbs)
        case .fish: fish(verbs)
        }
    }

    /// The command that prints ids, one in each line.
    private static func ids(_ completion: Completion) -> String? {
        switch completion {
        case .recorders: "celestiad completions devices 2>/dev/null"
        case .sessions: "celestiad completions sessions 2>/dev/null"
        case .nothing, .files, .folders, .verbs: nil
        }
    }

    private static func options(_ verb: Verb) -> [Option] { verb.options + Option.common }

    /// What a verb's words complete to, beside its actions.
    private static func subjects(_ verb: Verb) -> [Completion] {
        var found: [Completion] = []
        for completion in verb.positionals.map(\.completes) where completion != .nothing {
            if !found.contains(completion) { found.append(completion) }
        }
        return found
    }

    // MARK: bash

    private static func bash(_ verbs: [Verb]) -> [String] {
        let names = verbs.map(\.name).joined(separator: " ")
        var lines = [
            "# bash completion for celestiad", "_celestiad() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb= at",
            "    COMPREPLY=()",
            "    # Options that every verb takes may stand before it.",
            "    for ((at = 1; at < COMP_CWORD; at++)); do", "        case ${COMP_WORDS[at]} in",
        ]
        lines += Option.common.filter { $0.value != nil }.map { "        --\($0.name)) ((at++)) ;;" }
        lines += [
            "        -*) ;;", "        *) verb=${COMP_WORDS[at]}; break ;;", "        esac", "    done",
            "    case $verb in",
            "    \"\") COMPREPLY=($(compgen -W \"\(names) \(flags(Option.common))\" -- \"$current\")) ;;",
        ]
        for verb in verbs {
            lines += ["    \(verb.name))"] + bash(verb, names).map { "        " + $0 } + ["        ;;"]
        }
        return lines + ["    esac", "}", "complete -F _celestiad celestiad"]
    }

    private static func bash(_ verb: Verb, _ names: String) -> [String] {
        var lines: [String] = []
        let valued = options(verb).filter { $0.value != nil }
        if !valued.isEmpty {
            lines.append("case $previous in")
            for option in valued {
                lines.append("--\(option.name)) \(bashReply(option.completes, names)); return ;;")
            }
            lines.append("esac")
        }
        lines += [
            "case $current in",
            "-*) COMPREPLY=($(compgen -W \"\(flags(options(verb)))\" -- \"$current\")); return ;;", "esac",
        ]
        if let actions = verb.actions?.names {
            lines.append(
                "[ \"$COMP_CWORD\" -eq $((at + 1)) ] && COMPREPLY=($(compgen -W \"\(actions.joined(separator: " "))\" -- \"$current\"))"
            )
        }
        for subject in subjects(verb) { lines.append(bashReply(subject, names, adding: true)) }
        return lines
    }

    private static func bashReply(
        _ completion: Completion, _ names: String, adding: Bool = false
    ) -> String {
        let words =
            switch completion {
            case .nothing: ":"
            case .files, .folders: ""
            case .verbs: "compgen -W \"\(names)\" -- \"$current\""
            case .recorders, .sessions: "compgen -W \"$(\(ids(completion) ?? ""))\" -- \"$current\""
            }
        guard words.isEmpty else { return "COMPREPLY\(adding ? "+" : "")=($(\(words)))" }
        // Names of files have spaces, and folders go on.
        let kind = completion == .folders ? "-d" : "-f"
        return
            "compopt -o filenames 2>/dev/null; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen \(kind) -- \"$current\")"
    }

    private static func flags(_ options: [Option]) -> String {
        options.map { "--\($0.name)" }.joined(separator: " ")
    }

    // MARK: zsh

    private static func zsh(_ verbs: [Verb]) -> [String] {
        var lines = [
            "#compdef celestiad", "_celestiad_ids() {", "    local -a ids",
            "    ids=(${(f)\"$(celestiad completions $1 2>/dev/null)\"})", "    compadd -a ids", "}",
            "_celestiad_verbs() {", "    local -a verbs", "    verbs=(",
        ]
        lines += verbs.map { "        '\($0.name):\(quoted($0.summary))'" }
        lines += [
            "    )", "    _describe verb verbs", "}", "_celestiad() {", "    local context state line",
            "    _arguments -C '1:verb:_celestiad_verbs' '*::argument:->arguments'",
            "    [ \"$state\" = arguments ] || return", "    case $line[1] in",
        ]
        for verb in verbs {
            let specs = options(verb).map(zshOption) + zshWords(verb)
            lines += ["    \(verb.name)) _arguments \(specs.joined(separator: " ")) ;;"]
        }
        return lines + ["    esac", "}", "_celestiad \"$@\""]
    }

    private static func zshOption(_ option: Option) -> String {
        let help = quoted(option.help).replacing("[", with: "\\[").replacing("]", with: "\\]")
        let value = option.value.map { ":\($0):\(zshAction(option.completes))" } ?? ""
        return "'--\(option.name)[\(help)]\(value)'"
    }

    private static func zshWords(_ verb: Verb) -> [String] {
        var actions: [String] = []
        if let names = verb.actions?.names { actions.append("(\(names.joined(separator: " ")))") }
        let first = verb.positionals.first.map { zshAction($0.completes) } ?? ""
        var words: [String] = []
        if !actions.isEmpty || !first.isEmpty {
            let offered =
                actions.isEmpty || first.isEmpty
                ? actions.first ?? first
                : "{ compadd \(verb.actions?.names.joined(separator: " ") ?? ""); \(first) }"
            words.append("'1:word:\(offered)'")
        }
        let others = subjects(verb).map(zshAction)
        if !others.isEmpty { words.append("'*:word:{ \(others.joined(separator: "; ")) }'") }
        return words
    }

    private static func zshAction(_ completion: Completion) -> String {
        switch completion {
        case .nothing: ""
        case .files: "_files"
        case .folders: "_files -/"
        case .verbs: "_celestiad_verbs"
        case .recorders: "_celestiad_ids devices"
        case .sessions: "_celestiad_ids sessions"
        }
    }

    // MARK: fish

    private static func fish(_ verbs: [Verb]) -> [String] {
        var lines = ["# fish completion for celestiad", "complete -c celestiad -f"]
        for verb in verbs {
            let use = "-n __fish_use_subcommand"
            lines.append("complete -c celestiad \(use) -a \(verb.name) -d '\(quoted(verb.summary))'")
            let seen = "-n '__fish_seen_subcommand_from \(verb.name)'"
            for option in options(verb) {
                let value = option.value == nil ? "" : " -r\(fishArgument(option.completes))"
                lines.append(
                    "complete -c celestiad \(seen) -l \(option.name)\(value) -d '\(quoted(option.help))'")
            }
            for action in verb.actions?.all ?? [] {
                lines.append("complete -c celestiad \(seen) -a \(action.name) -d '\(quoted(action.help))'")
            }
            for subject in subjects(verb) {
                let argument = fishArgument(subject)
                if !argument.isEmpty { lines.append("complete -c celestiad \(seen)\(argument)") }
            }
        }
        return lines
    }

    private static func fishArgument(_ completion: Completion) -> String {
        switch completion {
        case .nothing: ""
        case .files: " -F"
        case .folders: " -a '(__fish_complete_directories)'"
        case .verbs: " -a '(celestiad completions verbs)'"
        case .recorders, .sessions: " -a '(\(ids(completion) ?? ""))'"
        }
    }

    /// Inside single quotes, for each of these shells and their descriptions.
    private static func quoted(_ text: String) -> String {
        text.replacing("'", with: "’").replacing(":", with: " -")
    }
}
