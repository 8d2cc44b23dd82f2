extension ShellCompletion {
    static func fish(_ verbs: [Verb]) -> [String] {
        let valued = Set(
            verbs.flatMap(options).filter { $0.value != nil }.flatMap { option in
                ["--\(option.name)"] + (option.short.map { ["-\($0)"] } ?? [])
            })
        var lines = fishHelpers(valued.sorted()) + ["complete -c celestiad -f"]
        lines += Option.common.map { fishOption($0, "-n '__celestiad_at 0'") }
        for verb in verbs {
            lines.append(
                "complete -c celestiad -n '__celestiad_at 0' -a \(verb.name) -d '\(quoted(verb.summary))'")
            lines += options(verb).map { fishOption($0, "-n '__celestiad_of \(verb.name)'") }
            for place in places(verb) {
                let at = "-n '__celestiad_\(place.isRepeated ? "of" : "at \(place.number)") \(verb.name)'"
                lines += place.actions.map {
                    "complete -c celestiad \(at) -a \($0.name) -d '\(quoted($0.help))'"
                }
                let offer = fishOffer(place.completes)
                if !offer.isEmpty { lines.append("complete -c celestiad \(at)\(offer)") }
            }
        }
        return lines
    }

    private static func fishHelpers(_ valued: [String]) -> [String] {
        [
            "# fish completion for celestiad",
            "# The words before the cursor, without the program, options and their values.",
            "function __celestiad_words",
            "    set -l words (commandline -opc)",
            "    set -e words[1]",
            "    set -l is_value no",
            "    for word in $words",
            "        if test $is_value = yes",
            "            set is_value no",
            "            continue",
            "        end",
            "        switch $word",
            "            case \(valued.joined(separator: " "))",
            "                set is_value yes",
            "            case '-?*'",
            "            case '*'",
            "                printf '%s\\n' $word",
            "        end",
            "    end",
            "end",
            "# Whether the cursor is in the words of this verb.",
            "function __celestiad_of -a verb",
            "    set -l words (__celestiad_words)",
            "    test \"$words[1]\" = $verb",
            "end",
            "# Whether it is at the NUMBER-th of them; 0: at the verb.",
            "function __celestiad_at -a number verb",
            "    set -l words (__celestiad_words)",
            "    test (count $words) -eq $number; and test \"$words[1]\" = \"$verb\"",
            "end",
        ]
    }

    private static func fishOption(_ option: Option, _ condition: String) -> String {
        let short = option.short.map { " -s \($0)" } ?? ""
        let value = option.value == nil ? "" : " -r\(fishOffer(option.completes))"
        return
            "complete -c celestiad \(condition)\(short) -l \(option.name)\(value) -d '\(quoted(option.help))'"
    }

    private static func fishOffer(_ completion: Completion) -> String {
        switch completion {
        case .nothing: ""
        case .files: " -F"
        case .folders: " -a '(__fish_complete_directories)'"
        case .verbs, .recorders, .nearby, .sessions:
            " -a '(celestiad completions \(ids(completion) ?? "") 2>/dev/null)'"
        }
    }
}
