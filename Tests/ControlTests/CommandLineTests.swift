import Control
import EventLoop
import Testing

@testable import celestiad

@Suite struct CommandLineTests {
    private let parser = ArgumentParser(verbs: Program.verbs)

    @Test(
        arguments: [
            (["sessions"], "sessions", [], [:]),
            (["sessions", "--limit", "5", "--json"], "sessions", [], ["limit": "5", "json": ""]),
            (["sessions", "--limit=5"], "sessions", [], ["limit": "5"]),
            (["scan", "-w", "3"], "scan", [], ["wait": "3"]),
            (["--bus", "unix:path=/x", "device", "A"], "device", ["A"], ["bus": "unix:path=/x"]),
            (["device", "--", "--json"], "device", ["--json"], [:]),
            (["login", "-", "--password-file", "-"], "login", ["-"], ["password-file": "-"]),
            (["--version"], "version", [], [:]),
        ] as [([String], String, [String], [String: String])])
    func wordsBecomeAVerbAndItsArguments(
        _ words: [String], _ name: String, _ positionals: [String], _ options: [String: String]
    ) throws {
        guard case .run(let verb, let arguments) = try parser.parse(words) else {
            Issue.record("not a verb: \(words)")
            return
        }
        #expect(verb.name == name)
        #expect(arguments == Arguments(positionals: positionals, options: options))
    }

    @Test(
        arguments: [
            (["stauts"], "there is no verb \"stauts\"", "did you mean: celestiad status"),
            (["xyzzy"], "there is no verb \"xyzzy\"", "see: celestiad help"),
            (["sess"], "there is no verb \"sess\"", "did you mean: celestiad sessions"),
            (["status", "--wach"], "there is no option --wach", "did you mean: --watch"),
            (["status", "-z"], "there is no option -z", "usage: celestiad status [options]"),
            (["device"], "device needs ID", "usage: celestiad device ID [options]"),
            (["status", "x"], "there is a word too many for status", "usage: celestiad status [options]"),
            (["scan", "--wait"], "--wait needs SECONDS", "usage: celestiad scan [options]"),
            (["status", "--json=1"], "--json takes no value", "usage: celestiad status [options]"),
            (["status", "--json", "--json"], "--json is given twice", "usage: celestiad status [options]"),
            (
                ["account", "register", "ada", "a@b.c", "secret"], "there is a word too many for account",
                "usage: celestiad account ACTION … [options]"
            ),
            (
                ["cloud", "sessions", "--to", "x"], "--to goes with celestiad cloud download only",
                "usage: celestiad cloud ACTION … [options]"
            ),
            (["\u{1B}[2J"], "there is no verb \"\u{FFFD}[2J\"", "see: celestiad help"),
        ] as [([String], String, String)])
    func mistakesAreExplained(_ words: [String], _ message: String, _ hint: String) {
        #expect(throws: ControlError(.invalidArgument, message, hint: hint)) { try parser.parse(words) }
    }

    @Test func everyVerbHasHelp() throws {
        for verb in Program.verbs {
            for words in [[verb.name, "--help"], ["-h", verb.name]] {
                guard case .help(let found) = try parser.parse(words) else {
                    Issue.record("no help for \(verb.name)")
                    continue
                }
                #expect(found?.name == verb.name)
            }
            let lines = HelpText.lines(for: verb, width: 60)
            #expect(lines.first == "usage: \(HelpText.usage(verb))")
            for option in verb.options { #expect(lines.contains { $0.contains("--\(option.name)") }) }
            #expect(lines.filter { Text.width($0) > 60 } == [])
        }
        #expect(Set(Program.verbs.map(\.name)).count == Program.verbs.count)
        let reading = ["scan", "devices", "device", "sessions", "session", "status", "version"]
        for verb in Program.verbs where reading.contains(verb.name) { #expect(verb.options.contains(.json)) }
    }

    @Test func helpReadsWell() throws {
        guard case .help(let verb?) = try parser.parse(["forget", "--help"]) else { return }
        #expect(
            HelpText.lines(for: verb, width: 72).joined(separator: "\n") == """
                usage: celestiad forget ID [options]

                Forget a recorder and its Bluetooth bond.

                What was pulled from it stays in the queue and in the cloud.

                arguments:
                  ID  Its serial number, a clear beginning of it, or its address.

                options:
                      --unbind       Also remove it from your account in the cloud.
                  -y, --yes          Do not ask.
                      --bus ADDRESS  The message bus; also CELESTIAD_BUS. Default: the
                                     system bus.
                  -h, --help         Show help.
                """)
    }

    @Test(
        arguments: [
            (["--bus", "a"], ["CELESTIAD_BUS": "b", "DBUS_SYSTEM_BUS_ADDRESS": "c"], "a"),
            ([], ["CELESTIAD_BUS": "b", "DBUS_SYSTEM_BUS_ADDRESS": "c"], "b"),
            ([], ["CELESTIAD_BUS": "", "DBUS_SYSTEM_BUS_ADDRESS": "c"], "c"),
            ([], [:], "unix:path=/var/run/dbus/system_bus_socket"),
        ] as [([String], [String: String], String)])
    func theBusIsTheFirstThatIsNamed(_ words: [String], _ environment: [String: String], _ address: String)
        throws
    {
        guard case .run(_, let arguments) = try parser.parse(["status"] + words) else { return }
        #expect(CommandRunner.busAddress(arguments, environment) == address)
    }

    /// journald takes the level of each line from a prefix; a terminal would show it.
    @Test(arguments: [
        (true, "<3>celestiad: it fails\n<3>  → mend it\n"), (false, "celestiad: it fails\n  → mend it\n"),
    ])
    func errorsHaveTheirLevelInTheJournal(_ isJournal: Bool, _ expected: String) {
        let written = Locked("")
        var console = Console(
            write: { _ in }, writeError: { text in written.withLock { $0 += text } }, input: ScriptedInput([])
        )
        console.errorIsJournal = isJournal
        console.fail(ControlError(.failed, "it fails", hint: "mend it"))
        #expect(written.withLock { $0 } == expected)
    }
}
