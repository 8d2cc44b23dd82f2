/// Where the configuration comes from: files and variables, read in this order, the later going before the earlier.
package protocol ConfigurationFiles {
    /// The file's text; nil when there is none. Throws `configuration` when it cannot be read.
    func text(of path: String) throws(GatewayError) -> String?
    /// The names in a folder, unsorted; none when there is no such folder. Throws `configuration`.
    func names(in folder: String) throws(GatewayError) -> [String]
}

/// One key's value, and who set it.
package struct ConfigurationSetting: Sendable, Equatable {
    package let section: String
    package let name: String
    /// As it would be written into a file, without a password that it may hold.
    package let value: String
    /// File and line, or a variable; nil: the default.
    package let origin: String?
    /// Whether the value tells of a person.
    package let isPrivate: Bool

    package init(section: String, name: String, value: String, origin: String?, isPrivate: Bool) {
        self.section = section
        self.name = name
        self.value = value
        self.origin = origin
        self.isPrivate = isPrivate
    }
}

extension Configuration {
    /// The systemd credential with the password to log in with (systemd.exec(5), LoadCredential=); nil: none was passed.
    package static func passwordCredential(in environment: [String: String]) -> String? {
        credential("celestiad.password", in: environment)
    }

    /// Where a systemd credential would be; nil: none were passed.
    static func credential(_ name: String, in environment: [String: String]) -> String? {
        guard let directory = environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty else { return nil }
        return "\(directory)/\(name)"
    }

    /// The file that is read when no other is named.
    package static let defaultPath = "/etc/celestiad/celestiad.conf"
    /// Where a user's own settings belong: no package ever brings this file.
    package static let localPath = "\(defaultPath).d/local.conf"

    /// Reads the file (missing is fine unless `path` was named by the user), the `*.conf` in the folder beside it that has
    /// its name and `.d`, in the order of their names, and the environment.
    ///
    /// Throws `configuration` naming the file, the line and what is allowed: the first mistake of `problems`.
    package static func load(
        path: String?, environment: [String: String], files: some ConfigurationFiles
    ) throws(GatewayError) -> (configuration: Configuration, settings: [ConfigurationSetting]) {
        let reading = read(path: path, environment: environment, files: files)
        if let problem = reading.problems.first { throw problem }
        return (reading.configuration, reading.settings)
    }

    /// Everything that is wrong with what `load` reads.
    package static func problems(
        path: String?, environment: [String: String], files: some ConfigurationFiles
    ) -> [GatewayError] {
        read(path: path, environment: environment, files: files).problems
    }

    private static func read(
        path: String?, environment: [String: String], files: some ConfigurationFiles
    ) -> ConfigurationReading {
        var reading = ConfigurationReading()
        reading.take(systemd: environment)
        let file = path ?? environment["CELESTIAD_CONFIG"]
        let name = file ?? defaultPath
        reading.attempt { reading throws(GatewayError) in
            if let text = try files.text(of: name) {
                reading.take(file: name, text: text)
            } else if file != nil {
                throw GatewayError(
                    .configuration, "the configuration file \(name) does not exist",
                    hint: "Name another with --config or leave it out to use the defaults.")
            }
        }
        reading.attempt { reading throws(GatewayError) in
            for dropIn in try files.names(in: name + ".d").sorted() where dropIn.hasSuffix(".conf") {
                reading.attempt { reading throws(GatewayError) in
                    let dropInPath = "\(name).d/\(dropIn)"
                    guard let text = try files.text(of: dropInPath) else {
                        throw GatewayError(
                            .configuration, "\(Terminal.printable(dropInPath)) is a link to nothing",
                            hint: "Remove it, or put in place what it names.")
                    }
                    reading.take(file: dropInPath, text: text)
                }
            }
        }
        reading.take(environment: environment)
        return reading
    }
}

/// The configuration while it is read.
private struct ConfigurationReading {
    var configuration = Configuration()
    /// Everything that is wrong, in the order of reading.
    private(set) var problems: [GatewayError] = []
    private var set: [String: (value: String, origin: String)] = [:]

    /// Goes on after a mistake, which is kept.
    mutating func attempt(_ step: (inout Self) throws(GatewayError) -> Void) {
        do throws(GatewayError) {
            try step(&self)
        } catch {
            problems.append(error)
        }
    }

    var settings: [ConfigurationSetting] {
        ConfigurationKey.all.map { key in
            let found = set[key.title]
            return ConfigurationSetting(
                section: key.section, name: key.name, value: found?.value ?? key.standard,
                origin: found?.origin, isPrivate: key.isPrivate)
        }
    }

    /// systemd names directories of its own; the files and our variables go before it.
    mutating func take(systemd environment: [String: String]) {
        if let directory = environment["STATE_DIRECTORY"], !directory.isEmpty {
            configuration.stateDirectory = directory
            note("[General] StateDirectory", directory, "STATE_DIRECTORY")
        }
        configuration.passwordFile = Configuration.passwordCredential(in: environment)
        configuration.mqtt.credentialFile = Configuration.credential(
            "celestiad.mqtt-password", in: environment)
    }

    mutating func take(file: String, text: String) {
        var lines: [String: Int] = [:]
        let parsed = INIFile.parse(text, name: file)
        problems += parsed.problems
        for entry in parsed.entries {
            attempt { reading throws(GatewayError) in try reading.take(entry, of: file, &lines) }
        }
    }

    private mutating func take(
        _ entry: INIFile.Entry, of file: String, _ lines: inout [String: Int]
    ) throws(GatewayError) {
        let place = "\(file):\(entry.line)"
        guard
            let key = ConfigurationKey.all.first(where: {
                $0.section == entry.section && $0.name == entry.key
            })
        else { throw ConfigurationKey.unknown(entry, at: place) }
        if let first = lines.updateValue(entry.line, forKey: key.title) {
            throw GatewayError(
                .configuration, "\(place): \(key.title) is set again; line \(first) sets it already",
                hint: "Remove one of the two lines.")
        }
        try key.set(entry.value, in: &configuration, at: place)
        note(key.title, entry.value, place)
    }

    mutating func take(environment: [String: String]) {
        attempt { _ throws(GatewayError) in try Self.checkNames(environment) }
        for key in ConfigurationKey.all {
            guard let value = environment[key.variable] else { continue }
            attempt { reading throws(GatewayError) in
                try key.set(
                    value, in: &reading.configuration, at: "the environment variable \(key.variable)")
                reading.note(key.title, value, key.variable)
            }
        }
        // What every D-Bus program honours, below our own variable.
        if environment["CELESTIAD_BUS"] == nil, let address = environment["DBUS_SYSTEM_BUS_ADDRESS"],
            !address.isEmpty
        {
            configuration.busAddress = address
            note("[Bus] Address", address, "DBUS_SYSTEM_BUS_ADDRESS")
        }
    }

    private mutating func note(_ title: String, _ value: String, _ origin: String) {
        set[title] = (ConfigurationKey.shown(value), origin)
    }

    /// Variables of ours that are no keys: where the file is, and what only the command line reads.
    private static let otherVariables = [
        "CELESTIAD_CONFIG", "CELESTIAD_PROGRESS_INTERVAL", "CELESTIAD_FAILPOINT",
    ]

    private static func checkNames(_ environment: [String: String]) throws(GatewayError) {
        let known = ConfigurationKey.all.map(\.variable) + otherVariables
        for name in environment.keys.sorted() where name.hasPrefix("CELESTIAD_") && !known.contains(name) {
            let nearest = Suggestion.nearest(to: name, among: known)
            throw GatewayError(
                .configuration, "there is no environment variable \(Terminal.printable(name))",
                hint: nearest.map { "Did you mean \($0)?" }
                    ?? "celestiad.conf(5) lists those that there are.")
        }
    }
}
