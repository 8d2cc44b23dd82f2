import Control
import Gateway

/// Manual pages in man(7) macros, made from the declarations that `--help` and the configuration are made from. Pure.
enum ManualPage: String, CaseIterable {
    case program = "celestiad.1"
    case service = "celestiad.service.8"
    case configuration = "celestiad.conf.5"
    case examples = "celestiad-examples.7"

    func lines(_ verbs: [Verb]) -> [String] {
        var page = Page(name: rawValue)
        switch self {
        case .program: Self.program(verbs, &page)
        case .service: Self.service(&page)
        case .configuration: Self.configuration(&page)
        case .examples: Self.examples(&page)
        }
        page.section("SEE ALSO")
        let others = Self.allCases.filter { $0 != self }.map(\.rawValue) + ["bluetoothctl.1", "systemctl.1"]
        page.text(others.map(Self.reference).joined(separator: ", "))
        return page.lines
    }

    /// `celestiad.1` as pages are referred to.
    private static func reference(_ file: String) -> String {
        let dot = file.lastIndex(of: ".") ?? file.endIndex
        return "\(file[..<dot])(\(file[dot...].dropFirst()))"
    }

    private static func program(_ verbs: [Verb], _ page: inout Page) {
        page.title("celestiad", "bring what a Celestia recorder captured to the cloud")
        page.section("SYNOPSIS")
        page.example(["celestiad VERB [arguments] [options]"])
        page.section("DESCRIPTION")
        page.text(
            "celestiad run is the daemon: it finds paired recorders by Bluetooth, reads their recordings, keeps them in a "
                + "durable queue and uploads them to the Celestia cloud. Every other verb talks to it by D-Bus."
        )
        page.section("VERBS")
        for verb in verbs {
            page.subsection(HelpText.usage(verb))
            page.text(verb.summary)
            for paragraph in verb.discussion { page.text(paragraph) }
            for action in verb.actions?.all ?? [] {
                page.item("\(verb.name) \(action.name) \(action.arguments)".trimmingSpace(), action.help)
            }
            for positional in verb.positionals where !positional.help.isEmpty {
                page.item(positional.name, positional.help)
            }
            for option in verb.options {
                let short = option.short.map { "-\($0), " } ?? ""
                page.item("\(short)--\(option.name)\(option.value.map { " \($0)" } ?? "")", option.help)
            }
        }
        page.section("OPTIONS")
        page.text("Every verb takes these.")
        for option in Option.common {
            page.item("--\(option.name)\(option.value.map { " \($0)" } ?? "")", option.help)
        }
        page.section("EXIT STATUS")
        for code in ExitCode.allCases { page.item("\(code.rawValue)", code.meaning) }
        page.section("ENVIRONMENT")
        page.item("CELESTIAD_BUS, DBUS_SYSTEM_BUS_ADDRESS", "The message bus, in place of the system's.")
        page.item("NO_COLOR", "Set to anything: no colours.")
    }

    private static func service(_ page: inout Page) {
        page.title("celestiad.service", "the daemon under systemd")
        page.section("SYNOPSIS")
        page.example(["sudo systemctl enable --now celestiad"])
        page.section("DESCRIPTION")
        page.text(
            "The service runs as a user of its own, without capabilities. It is ready when it has looked for Bluetooth "
                + "adapters, and needs none: adapters and networks may come and go. Members of group celestiad, and root, "
                + "may use it.")
        page.text(
            "It feeds systemd's watchdog only while all of its parts answer. Ended in order or by force it goes on where it "
                + "was: what is queued is durable before it is reported as queued.")
        page.section("FILES")
        page.item(Configuration.defaultPath, "The configuration; see celestiad.conf(5).")
        page.item(
            Configuration().stateDirectory,
            "The queue, the files that are not in the cloud yet, and the login.")
        page.section("DIAGNOSIS")
        page.example(["celestiad doctor", "celestiad status", "sudo journalctl -u celestiad"])
        page.text("What is in the journal is described in \(HelpText.documents)/logging.md.")
        page.section("RELOAD")
        page.text(
            "A reload (sudo systemctl reload celestiad) checks the configuration first, as celestiad config check does, and fails when it "
                + "is not understood: nothing is changed then. Nothing that is under way ends by a reload.")
        page.section("CREDENTIALS")
        page.item(
            "celestiad.password",
            "The password of the account that [Cloud] Identifier names (LoadCredential= of systemd.exec(5)): the hub logs in "
                + "by itself.")
    }

    private static func configuration(_ page: inout Page) {
        page.title("celestiad.conf", "configuration of celestiad")
        page.section("SYNOPSIS")
        page.example([
            Configuration.defaultPath, "\(Configuration.defaultPath).d/*.conf",
        ])
        page.section("DESCRIPTION")
        page.text(
            "An INI file of [Section] and Key=Value lines; comments begin with # or ;. The files of the folder are read after "
                + "it in the order of their names, and environment variables last: the later goes before the earlier. What "
                + "is not understood keeps the service from starting; celestiad config check finds it before that."
        )
        page.text(
            "Settings of your own belong into \(Configuration.localPath), which no package brings: a new version of "
                + "\(Configuration.defaultPath) then replaces the old one without a question. sudo systemctl reload celestiad "
                + "checks what is there and lets it count without a restart, where a key can do so."
        )
        var section = ""
        for key in ConfigurationKey.all {
            if key.section != section {
                section = key.section
                page.section("[\(section)]")
            }
            let standard = key.standard.isEmpty ? "" : " Default: \(key.standard)."
            page.item(
                "\(key.name)= (\(key.variable))", "\(key.documentation) It takes \(key.allowed).\(standard)")
        }
    }

    private static func examples(_ page: inout Page) {
        page.title("celestiad-examples", "what celestiad is used for, step by step")
        let examples: [(String, [String])] = [
            ("A new recorder", ["celestiad login", "celestiad pair", "celestiad status --watch"]),
            (
                "The same by a script",
                [
                    "celestiad login ada --password-file /run/secrets/password",
                    "celestiad pair --device C0:FF:EE:00:00:01 --passkey-file passkey",
                    "celestiad sync --wait 600",
                ]
            ),
            ("What waits, and for what", ["celestiad sessions --attention", "celestiad session ID"]),
            ("Photos of a camera's card", ["celestiad import /media/card/DCIM"]),
            (
                "Getting a recording back",
                ["celestiad cloud sessions", "celestiad cloud download ID --to folder"]
            ),
            ("A full disk", ["celestiad storage", "celestiad sync"]),
            ("A bond that was lost", ["celestiad pair --device ID --repair"]),
            ("For programs", ["celestiad status --json", "celestiad status --watch --json"]),
        ]
        for (title, commands) in examples {
            page.section(title.uppercased())
            page.example(commands)
        }
    }
}

/// The lines of a page while it is written.
private struct Page {
    private(set) var lines: [String]

    init(name: String) {
        let parts = name.split(separator: ".")
        let title = parts.dropLast().joined(separator: ".")
        lines = [".TH \"\(title)\" \"\(parts.last ?? "")\" \"\" \"celestiad \(Version.number)\"", ".ad l"]
    }

    mutating func title(_ name: String, _ purpose: String) {
        lines += [".SH NAME", "\(Self.escaped(name)) \\- \(Self.escaped(purpose))"]
    }

    mutating func section(_ title: String) { lines.append(".SH \"\(Self.escaped(title))\"") }
    mutating func subsection(_ title: String) { lines.append(".SS \"\(Self.escaped(title))\"") }
    mutating func text(_ text: String) { lines += [".PP", Self.escaped(text)] }
    mutating func item(_ title: String, _ text: String) {
        lines += [".TP", "\\fB\(Self.escaped(title))\\fR", Self.escaped(text)]
    }

    mutating func example(_ commands: [String]) {
        lines += [".PP", ".EX"] + commands.map(Self.escaped) + [".EE"]
    }

    /// What roff would take for a request or an escape, and what is no ASCII; long paths and names may be broken.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "\"": result += "\\(dq"
            case "…": result += "..."
            case "→": result += "\\(->"
            case "/", "_":
                let isInside = result.last?.isLetter ?? false
                result += isInside ? "\(character)\\:" : "\(character)"
            default: result.append(character)
            }
        }
        return result.first == "." ? "\\&" + result : result
    }
}
