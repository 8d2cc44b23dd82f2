/// Completions for shells, made from the declarations of the verbs; ids are asked for when they are needed. Pure.
///
/// What the program answers is offered as it is, a word a line, and no shell evaluates it: bash gets it quoted, zsh and
/// fish quote what they insert.
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

    /// What `celestiad completions` is asked for.
    static func ids(_ completion: Completion) -> String? {
        switch completion {
        case .recorders: "devices"
        case .nearby: "nearby"
        case .sessions: "sessions"
        case .verbs: "verbs"
        case .nothing, .files, .folders: nil
        }
    }

    static func options(_ verb: Verb) -> [Option] { verb.options + Option.common }

    /// A word of a verb that is no option.
    struct Place {
        /// From 1 on, the verb's own.
        let number: Int
        /// It and all that follow.
        let isRepeated: Bool
        let actions: [Action]
        let completes: Completion
        var isOpen: Bool { actions.isEmpty && completes == .nothing }
    }

    /// Its words, also those that nothing can be offered for.
    static func places(_ verb: Verb) -> [Place] {
        verb.positionals.enumerated().map { index, positional in
            Place(
                number: index + 1, isRepeated: positional.isRepeated,
                actions: index == 0 ? verb.actions?.all ?? [] : [], completes: positional.completes)
        }
    }

    /// Inside single quotes, for each of these shells and their descriptions.
    static func quoted(_ text: String) -> String {
        text.replacing("'", with: "’").replacing(":", with: " -").replacing("\\", with: "/")
    }
}
