extension ShellCompletion {
    static func zsh(_ verbs: [Verb]) -> [String] {
        var lines = [
            "#compdef celestiad",
            "# The last argument is what is asked for; _arguments puts how to show it before that.",
            "_celestiad_ids() {", "    local -a ids",
            "    ids=(${(f)\"$(celestiad completions ${@[-1]} 2>/dev/null)\"})",
            "    compadd \"${@[1,-2]}\" -a ids", "}",
            "_celestiad_verbs() {", "    local -a verbs", "    verbs=(",
        ]
        lines += verbs.map { "        '\($0.name):\(quoted($0.summary))'" }
        lines += [
            "    )", "    _describe verb verbs", "}", "_celestiad() {", "    local context state line",
            "    typeset -A opt_args",
            "    _arguments -C \(Option.common.map(zshOption).joined(separator: " ")) \\",
            "        '1:verb:_celestiad_verbs' '*::argument:->arguments'",
            "    [ \"$state\" = arguments ] || return", "    case $line[1] in",
        ]
        for verb in verbs {
            let specs = options(verb).map(zshOption) + places(verb).map(zshPlace)
            lines += ["    \(verb.name)) _arguments \(specs.joined(separator: " ")) ;;"]
        }
        return lines + ["    esac", "}", "_celestiad \"$@\""]
    }

    private static func zshOption(_ option: Option) -> String {
        let help = quoted(option.help).replacing("[", with: "\\[").replacing("]", with: "\\]")
        guard let value = option.value else {
            return
                ([option.short.map { "'-\($0)[\(help)]'" }, "'--\(option.name)[\(help)]'"].compactMap { $0 })
                .joined(separator: " ")
        }
        return "'--\(option.name)=[\(help)]:\(value):\(zshAction(option.completes))'"
    }

    private static func zshPlace(_ place: Place) -> String {
        let actions = place.actions.map(\.name).joined(separator: " ")
        let offers = [actions.isEmpty ? "" : "compadd \(actions)", zshAction(place.completes)].filter {
            !$0.isEmpty
        }
        let number = place.isRepeated ? "*" : "\(place.number)"
        return
            "'\(number):word:\(offers.count > 1 ? "{ \(offers.joined(separator: "; ")) }" : offers.joined())'"
    }

    private static func zshAction(_ completion: Completion) -> String {
        switch completion {
        case .nothing: ""
        case .files: "_files"
        case .folders: "_files -/"
        case .verbs: "_celestiad_verbs"
        case .recorders, .nearby, .sessions: "_celestiad_ids \(ids(completion) ?? "")"
        }
    }
}
