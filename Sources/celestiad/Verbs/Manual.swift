import Control

/// `celestiad manual PAGE`
enum ManualVerb {
    static let actions = Actions(
        "manual", ManualPage.allCases.map { Action($0.rawValue, "", "Print this page for man(1).") })

    static let verb = Verb(
        name: "manual", summary: "Print a manual page.",
        discussion: ["To read one: celestiad manual celestiad.1 | man -l -"], actions: actions,
        positionals: [Positional(name: "PAGE", help: "One of those above.")]
    ) { invocation throws(ControlError) in
        let name = try actions.action(invocation)
        guard let page = ManualPage(rawValue: name) else { return .usage }
        invocation.console.write(page.lines(Program.verbs).map { $0 + "\n" }.joined())
        return .success
    }
}
