extension ShellCompletion {
    static func bash(_ verbs: [Verb]) -> [String] {
        let valued = verbs.map { verb in
            options(verb).filter { $0.value != nil }.flatMap { option in
                ["\"\(verb.name) --\(option.name)\""]
                    + (option.short.map { ["\"\(verb.name) -\($0)\""] } ?? [])
            }.joined(separator: " | ")
        }
        let early = Option.common.filter { $0.value != nil }.map { "\" --\($0.name)\"" }
        var lines = bashHelpers + ["_celestiad() {"]
        lines += bashReading((early + valued).filter { !$0.isEmpty }).map { "    " + $0 }
        lines += ["    case \"$verb $option\" in", "        *\" \") ;;"]
        for verb in verbs {
            for option in options(verb) where option.value != nil && option.completes != .nothing {
                lines.append(
                    "        \"\(verb.name) --\(option.name)\") \(bashOffer(option.completes)); return ;;")
            }
        }
        lines += ["        *) return ;;", "    esac", "    case \"$verb $current\" in"]
        lines.append("        \" -\"*) _celestiad_offer_words \(flags(Option.common)); return ;;")
        for verb in verbs {
            lines.append(
                "        \"\(verb.name) -\"*) _celestiad_offer_words \(flags(options(verb))); return ;;")
        }
        lines += ["    esac", "    case \"$verb $place\" in"]
        lines.append("        \" \"*) _celestiad_offer_words \(verbs.map(\.name).joined(separator: " ")) ;;")
        for verb in verbs {
            lines += places(verb).filter { !$0.isOpen }.map { "        " + bashPlace(verb, $0) }
        }
        return lines + ["    esac", "}", "complete -F _celestiad celestiad"]
    }

    private static let bashHelpers = [
        "# bash completion for celestiad",
        "# Offers the lines of standard input that go on with what is typed.",
        "_celestiad_offer() {",
        "    local word",
        "    while IFS= read -r word; do",
        "        [[ $word == \"$current\"* ]] || continue",
        "        printf -v word %q \"${word#\"$kept\"}\"",
        "        COMPREPLY+=(\"$word\")",
        "    done",
        "}",
        "_celestiad_offer_words() { _celestiad_offer < <(printf '%s\\n' \"$@\"); }",
        "_celestiad_offer_ids() { _celestiad_offer < <(celestiad completions \"$1\" 2>/dev/null); }",
    ]

    /// Finds out what is being typed: `current`, `verb`, how many-th of its words that is (`place`), and whether it is the
    /// value of an `option`. `valued` are patterns of "VERB OPTION" for options that take one.
    private static func bashReading(_ valued: [String]) -> [String] {
        [
            "local words=() word current verb= option= place=1 kept= at",
            "# A colon or = ends a word for readline, but not for celestiad.",
            "for word in \"${COMP_WORDS[@]:0:COMP_CWORD+1}\"; do",
            "    if ((${#words[@]})) && [[ $word == [:=]* || ${words[-1]} == *[:=] ]]; then",
            "        words[-1]+=$word",
            "    else",
            "        words+=(\"$word\")",
            "    fi",
            "done",
            "current=${words[-1]}",
            "for ((at = 1; at < ${#words[@]} - 1; at++)); do",
            "    word=${words[at]}",
            "    case \"$verb $word\" in",
            "        \(valued.joined(separator: " | \\\n            "))) option=$word; ((++at)) ;;",
            "        *\" -\"?*) ;;",
            "        \" \"*) verb=$word ;;",
            "        *) ((++place)) ;;",
            "    esac",
            "done",
            "((at == ${#words[@]})) || option=",
            "if [[ $current == --*=* ]]; then",
            "    option=${current%%=*} current=${current#*=}",
            "fi",
            "# What stands before the last colon has been set aside.",
            "[[ $COMP_WORDBREAKS != *:* ]] || kept=${current%\"${current##*:}\"}",
            "COMPREPLY=()",
        ].flatMap { $0.split(separator: "\n").map(String.init) }
    }

    private static func bashPlace(_ verb: Verb, _ place: Place) -> String {
        let pattern = place.isRepeated ? "\"\(verb.name) \"*" : "\"\(verb.name) \(place.number)\""
        let actions = place.actions.map(\.name).joined(separator: " ")
        let offers = [actions.isEmpty ? "" : "_celestiad_offer_words \(actions)", bashOffer(place.completes)]
        return "\(pattern)) \(offers.filter { !$0.isEmpty }.joined(separator: "; ")) ;;"
    }

    private static func bashOffer(_ completion: Completion) -> String {
        switch completion {
        case .nothing: ""
        // readline's own, which knows about quotes and ~.
        case .files: "compopt -o default"
        case .folders: "compopt -o dirnames"
        case .verbs, .recorders, .nearby, .sessions: "_celestiad_offer_ids \(ids(completion) ?? "")"
        }
    }

    private static func flags(_ options: [Option]) -> String {
        options.map { "--\($0.name)" }.joined(separator: " ")
    }
}
