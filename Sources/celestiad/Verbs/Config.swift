import Control
import Gateway
import Glibc

/// `celestiad config ACTION`
enum ConfigVerb {
    static let actions = Actions(
        "config",
        [
            Action("check", "", "Read the configuration as the daemon would, and say what is wrong with it."),
            Action("show", "", "Show every key with its value, and where that was set."),
            Action("sample", "", "Print a file with every key, its meaning and its default."),
        ])

    static let verb = Verb(
        name: "config", summary: "Check the configuration, show it, or print a file to begin with.",
        discussion: [
            "\(Configuration.defaultPath) is read, then the *.conf in \(Configuration.defaultPath).d in the order of their "
                + "names, then the environment; the later goes before the earlier. The daemon reads them "
                + "when it starts, and again with SIGHUP (sudo systemctl reload celestiad), which says what has to wait for a restart."
        ],
        actions: actions,
        positionals: [Positional(name: "ACTION", help: "One of those above.")],
        options: [
            Option(
                name: "config", value: "FILE",
                help: "Read this file instead of \(Configuration.defaultPath); also CELESTIAD_CONFIG.",
                completes: .files),
            .json,
        ]
    ) { invocation throws(ControlError) in
        let action = try actions.action(invocation)
        if action == "sample" {
            invocation.console.print(ConfigurationText.sample)
            return .success
        }
        let path = invocation.arguments.value("config")
        let (configuration, settings) = try read(path, invocation)
        if invocation.wantsJSON {
            try invocation.console.printJSON(SettingsDocument(settings))
        } else if action == "show" {
            invocation.console.print(ConfigurationText.lines(settings))
        } else {
            let count = settings.count { $0.origin != nil }
            invocation.console.print(
                "the configuration is understood: \(Units.count(count, "key")) set, \(settings.count - count) at their defaults"
            )
            noteFolder(settings, invocation)
            let mqtt = configuration.mqtt
            if let exposure = mqtt.exposure(hasPassword: mqtt.passwordFile != nil) {
                invocation.console.note("\(Text.clean(exposure)) → \(MQTTConfiguration.exposureHint)")
            }
        }
        return .success
    }

    /// Says all that is wrong, not only the first of it.
    private static func read(
        _ path: String?, _ invocation: Invocation
    ) throws(ControlError) -> (configuration: Configuration, settings: [ConfigurationSetting]) {
        let files = LocalConfigurationFiles()
        let problems = Configuration.problems(
            path: path, environment: invocation.environment, files: files)
        for problem in problems.dropLast() { invocation.console.fail(ControlError(problem)) }
        if let last = problems.last { throw ControlError(last) }
        do throws(GatewayError) {
            return try Configuration.load(path: path, environment: invocation.environment, files: files)
        } catch {
            throw ControlError(error)
        }
    }

    /// The daemon waits for a folder that is not there, which is mostly not what was meant.
    private static func noteFolder(_ settings: [ConfigurationSetting], _ invocation: Invocation) {
        let setting = settings.first { $0.section == "Import" && $0.name == "WatchedFolder" }
        guard let setting, !setting.value.isEmpty else { return }
        var info = stat()
        if stat(setting.value, &info) == 0, info.st_mode & S_IFMT == S_IFDIR { return }
        invocation.console.note(
            "[Import] WatchedFolder=\(Text.clean(setting.value)) is no folder, or may not be seen by you: nothing is taken from it until it is there"
        )
    }
}

/// What `config --json` prints.
struct SettingsDocument: Codable {
    struct Entry: Codable {
        let section: String
        let key: String
        let value: String
        let origin: String?
    }

    let settings: [Entry]

    init(_ settings: [ConfigurationSetting]) {
        self.settings = settings.map {
            Entry(section: $0.section, key: $0.name, value: $0.value, origin: $0.origin)
        }
    }
}

/// The configuration as text that could be its file. Pure.
enum ConfigurationText {
    static func lines(_ settings: [ConfigurationSetting]) -> [String] {
        sections(settings, \.section) { setting in
            let origin = setting.origin.map { "set by \(Text.clean($0))" } ?? "the default"
            return ["# \(origin)", "\(setting.name)=\(Text.clean(setting.value))"]
        }
    }

    /// Every key commented out, with what it means.
    static var sample: [String] {
        [
            "# See celestiad.conf(5). What is commented out has its default.",
            "# Your own settings belong into \(Configuration.localPath), which goes before this file:",
            "# a new version of this file then replaces it without a question.",
            "# Read again by sudo systemctl reload celestiad; celestiad config check says what is wrong before that.",
        ]
            + sections(ConfigurationKey.all, \.section) { key in
                Text.wrap(key.documentation, width: 96).map { "# \($0)" }
                    + ["# It takes \(key.allowed).", "#\(key.name)=\(key.standard)"]
            }
    }

    private static func sections<Item>(
        _ items: [Item], _ section: KeyPath<Item, String>, _ entry: (Item) -> [String]
    ) -> [String] {
        var lines: [String] = []
        var current: String?
        for item in items {
            if item[keyPath: section] != current {
                current = item[keyPath: section]
                lines += ["", "[\(item[keyPath: section])]"]
            }
            lines += entry(item)
        }
        return Array(lines.drop { $0.isEmpty })
    }
}
