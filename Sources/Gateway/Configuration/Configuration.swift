package import Recorder

/// What the daemon is told: by `/etc/celestiad/celestiad.conf`, and over it by `CELESTIAD_…` variables.
package struct Configuration: Sendable, Equatable {
    /// Where the queue, the spool and the credentials are.
    package var stateDirectory = "/var/lib/celestiad"
    package var logLevel = LogLevel.info
    /// The D-Bus address of the bus that BlueZ and our own API are on.
    package var busAddress = "unix:path=/run/dbus/system_bus_socket"
    /// The API's base URL, as written; checked when the cloud client is made.
    package var cloudURL = "https://api.ccdw.life/celestia-trace/v1"
    /// A file of certificates to trust instead of the system's.
    package var cloudCAFile: String?
    /// `sha256//…` public key pins, as curl takes them.
    package var cloudPinnedKey: String?
    /// Whom to log in as without being asked; nil: nobody.
    package var cloudIdentifier: String?
    /// The file of the systemd credential with the password for that.
    package var passwordFile: String?
    /// The address of the only adapter to use; nil for any.
    package var adapter: String?
    /// When a capture's objects may be deleted on the recorder.
    package var deletePolicy = DeletePolicy.afterUpload
    /// How long a connected recorder that has nothing new is left alone.
    package var syncInterval = Duration.seconds(15 * 60)
    /// Free space that pulls leave untouched.
    package var reservedMiB: Int64 = 512
    package var reservedPercent: Int64 = 5
    /// How long imported bytes stay in the spool.
    package var keepAfterUpload = Duration.zero
    /// Assets uploaded at the same time.
    package var parallelUploads = 2
    /// How fast uploads may be, all together.
    package var uploadRates = RateTimetable.unlimited
    /// Whether uploads wait while the network is metered.
    package var holdsWhenMetered = true
    /// The folder whose files are taken into the queue; nil for none.
    package var watchedFolder: String?
    /// How long a file there must not have changed before it is taken.
    package var folderSettling = Duration.seconds(10)

    package init() {}
}

extension Configuration {
    /// The file that is read when no other is named.
    package static let defaultPath = "/etc/celestiad/celestiad.conf"

    /// Reads the file (missing is fine unless `path` was named by the user) and the environment.
    ///
    /// Throws `configuration` naming the file, the line and what is allowed.
    package static func load(
        path: String?, environment: [String: String], read: (String) throws(GatewayError) -> String?
    ) throws(GatewayError) -> Configuration {
        var configuration = Configuration()
        // systemd names the state directory; the file and CELESTIAD_STATE_DIRECTORY go before it.
        if let directory = environment["STATE_DIRECTORY"], !directory.isEmpty {
            configuration.stateDirectory = directory
        }
        if let directory = environment["CREDENTIALS_DIRECTORY"], !directory.isEmpty {
            configuration.passwordFile = "\(directory)/celestiad.password"
        }
        let file = path ?? environment["CELESTIAD_CONFIG"]
        let name = file ?? defaultPath
        if let text = try read(name) {
            try configuration.apply(file: name, text: text)
        } else if file != nil {
            throw GatewayError(
                .configuration, "the configuration file \(name) does not exist",
                hint: "Name another with --config or leave it out to use the defaults.")
        }
        try configuration.apply(environment: environment)
        return configuration
    }

    mutating func apply(file: String, text: String) throws(GatewayError) {
        var lines: [String: Int] = [:]
        for entry in try INIFile.parse(text, name: file) {
            let place = "\(file):\(entry.line)"
            guard
                let key = ConfigurationKey.all.first(where: {
                    $0.section == entry.section && $0.name == entry.key
                })
            else { throw ConfigurationKey.unknown(entry, at: place) }
            if let first = lines.updateValue(entry.line, forKey: "[\(key.section)] \(key.name)") {
                throw GatewayError(
                    .configuration,
                    "\(place): [\(key.section)] \(key.name) is set again; line \(first) sets it already",
                    hint: "Remove one of the two lines.")
            }
            try key.set(entry.value, in: &self, at: place)
        }
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
                    ?? "docs/configuration.md lists those that there are.")
        }
    }

    mutating func apply(environment: [String: String]) throws(GatewayError) {
        try Self.checkNames(environment)
        for key in ConfigurationKey.all {
            guard let value = environment[key.variable] else { continue }
            try key.set(value, in: &self, at: "the environment variable \(key.variable)")
        }
        // What every D-Bus program honours, below our own variable.
        if environment["CELESTIAD_BUS"] == nil, let address = environment["DBUS_SYSTEM_BUS_ADDRESS"],
            !address.isEmpty
        {
            busAddress = address
        }
    }
}
