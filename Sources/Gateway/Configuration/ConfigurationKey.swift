import BlueZ
import Recorder

/// One key of the configuration: where it stands, what it takes and what it means. The one source for reading,
/// for messages and for the documented sample file.
package struct ConfigurationKey: Sendable {
    package let section: String
    package let name: String
    /// The environment variable that sets it too.
    package let variable: String
    /// What it takes, for messages.
    package let allowed: String
    package let documentation: String
    /// The default, as it would be written.
    package let standard: String
    /// Whether a value tells of a person; such are left out of what is passed on.
    package let isPrivate: Bool
    /// Returns false when the value is not of what is allowed.
    private let assign: @Sendable (inout Configuration, String) -> Bool
    /// What is wrong with a value beyond that, in words; nil: nothing.
    private let check: @Sendable (String) -> String?

    init(
        section: String, name: String, variable: String, allowed: String, documentation: String,
        standard: String, isPrivate: Bool = false,
        check: @escaping @Sendable (String) -> String? = { _ in nil },
        assign: @escaping @Sendable (inout Configuration, String) -> Bool
    ) {
        self.section = section
        self.name = name
        self.variable = variable
        self.allowed = allowed
        self.documentation = documentation
        self.standard = standard
        self.isPrivate = isPrivate
        self.assign = assign
        self.check = check
    }

    func set(_ value: String, in configuration: inout Configuration, at place: String) throws(GatewayError) {
        let isAllowed = assign(&configuration, value)
        let problem = check(value)
        guard !isAllowed || problem != nil else { return }
        let reason = problem.map { ": \($0)" } ?? ""
        throw GatewayError(
            .configuration, "\(place): \(name)=\(Self.shown(value)) is not usable\(reason)",
            hint: "It takes \(allowed).")
    }

    /// As messages name it.
    package var title: String { "[\(section)] \(name)" }

    /// The value without a password that may stand before an @.
    static func shown(_ value: String) -> String {
        guard let at = value.lastIndex(of: "@") else { return Terminal.printable(value) }
        return Terminal.printable("…" + value[at...])
    }

    static func unknown(_ entry: INIFile.Entry, at place: String) -> GatewayError {
        let names = all.map(\.title)
        let written = "[\(entry.section)] \(entry.key)"
        let nearest = Suggestion.nearest(to: written, among: names)
        let own = names.filter { $0.hasPrefix("[\(entry.section)] ") }
        let list = own.isEmpty ? names : own
        return GatewayError(
            .configuration, "\(place): there is no key \(Terminal.printable(written))",
            hint: nearest.map { "Did you mean \($0)?" } ?? "The keys are: \(list.joined(separator: ", ")).")
    }

    package static let all: [ConfigurationKey] = [
        ConfigurationKey(
            section: "General", name: "StateDirectory", variable: "CELESTIAD_STATE_DIRECTORY",
            allowed: "an absolute path",
            documentation: "Where the queue, the spool and the credentials are kept.",
            standard: "/var/lib/celestiad",
            assign: {
                $0.stateDirectory = $1
                return $1.hasPrefix("/")
            }),
        ConfigurationKey(
            section: "General", name: "LogLevel", variable: "CELESTIAD_LOG_LEVEL",
            allowed: "error, warning, notice, info or debug", documentation: "How much is logged.",
            standard: "info",
            assign: { configuration, value in
                guard let level = LogLevel(name: value) else { return false }
                configuration.logLevel = level
                return true
            }),
        ConfigurationKey(
            section: "Bus", name: "Address", variable: "CELESTIAD_BUS", allowed: "a D-Bus address",
            documentation: "The message bus that BlueZ is on and that celestiad serves its own API on.",
            standard: "unix:path=/run/dbus/system_bus_socket",
            assign: {
                $0.busAddress = $1
                return $1.contains(":")
            }),
        ConfigurationKey(
            section: "Cloud", name: "URL", variable: "CELESTIAD_CLOUD_URL",
            allowed: "an https URL; http only to this machine",
            documentation: "The base URL of the Celestia API. Sessions keep the one they were queued for.",
            standard: "https://api.ccdw.life/celestia-trace/v1", isPrivate: true,
            check: ValueCheck.apiAddress,
            assign: {
                $0.cloudURL = $1
                return true
            }),
        ConfigurationKey(
            section: "Cloud", name: "CAFile", variable: "CELESTIAD_CLOUD_CA_FILE",
            allowed: "the absolute path of a file with certificates in PEM form",
            documentation: "Certificates to trust instead of the system's.", standard: "",
            check: ValueCheck.certificates,
            assign: {
                $0.cloudCAFile = $1.isEmpty ? nil : $1
                return $1.isEmpty || $1.hasPrefix("/")
            }),
        ConfigurationKey(
            section: "Cloud", name: "PinnedPublicKey", variable: "CELESTIAD_CLOUD_PINNED_PUBLIC_KEY",
            allowed: "sha256//BASE64 (of 32 bytes), several separated by ;",
            documentation: "The server's public key must be one of these.", standard: "",
            check: ValueCheck.pins,
            assign: {
                $0.cloudPinnedKey = $1.isEmpty ? nil : $1
                return true
            }),
        ConfigurationKey(
            section: "Cloud", name: "Identifier", variable: "CELESTIAD_CLOUD_IDENTIFIER",
            allowed: "a user name, e-mail address or phone number",
            documentation:
                "Whom to log in as without being asked, when there is no login or it has ended; the password is the "
                + "systemd credential celestiad.password. Empty: nobody.",
            standard: "", isPrivate: true,
            assign: {
                $0.cloudIdentifier = $1.isEmpty ? nil : $1
                return $1.utf8.count <= 256
            }),
        ConfigurationKey(
            section: "Bluetooth", name: "Adapter", variable: "CELESTIAD_ADAPTER",
            allowed: "an adapter's address such as 00:1A:7D:DA:71:13",
            documentation: "The only adapter to use. Empty: any.", standard: "",
            assign: { configuration, value in
                configuration.adapter = value.isEmpty ? nil : value.uppercased()
                return value.isEmpty || DeviceAddress(value) != nil
            }),
        ConfigurationKey(
            section: "Recorder", name: "Delete", variable: "CELESTIAD_RECORDER_DELETE",
            allowed: "after-upload, after-queue or never",
            documentation:
                "When a file is deleted on the recorder: when the cloud holds it with the same SHA-256, "
                + "when the hub holds it, or never.",
            standard: "after-upload",
            assign: { configuration, value in
                guard let policy = DeletePolicy(rawValue: value) else { return false }
                configuration.deletePolicy = policy
                return true
            }),
        ConfigurationKey(
            section: "Recorder", name: "SyncInterval", variable: "CELESTIAD_RECORDER_SYNC_INTERVAL",
            allowed: "a time from 1s to 30d, such as 90s, 15min or 2h",
            documentation: "How often a recorder in reach is asked for new captures.", standard: "15min",
            assign: { configuration, value in
                guard let interval = TimeSpan.parse(value),
                    (Duration.seconds(1)...Duration.seconds(30 * 86_400)).contains(interval)
                else { return false }
                configuration.syncInterval = interval
                return true
            }),
        ConfigurationKey(
            section: "Queue", name: "ReservedMiB", variable: "CELESTIAD_QUEUE_RESERVED_MIB",
            allowed: "a whole number of MiB from 0 to 1073741824",
            documentation:
                "Free disk space that pulls leave untouched, together with ReservedPercent: the larger counts.",
            standard: "512",
            assign: { configuration, value in
                guard let number = Int64(value), (0...(1 << 30)).contains(number) else { return false }
                configuration.reservedMiB = number
                return true
            }),
        ConfigurationKey(
            section: "Queue", name: "ReservedPercent", variable: "CELESTIAD_QUEUE_RESERVED_PERCENT",
            allowed: "a whole number from 0 to 90", documentation: "See ReservedMiB.", standard: "5",
            assign: { configuration, value in
                guard let number = Int64(value), (0...90).contains(number) else { return false }
                configuration.reservedPercent = number
                return true
            }),
        ConfigurationKey(
            section: "Queue", name: "KeepAfterUpload", variable: "CELESTIAD_QUEUE_KEEP_AFTER_UPLOAD",
            allowed: "a time from 0 to 1000000d, such as 12h or 30d",
            documentation:
                "How long the hub keeps files that the cloud has confirmed; shorter when their space is needed.",
            standard: "0",
            assign: { configuration, value in
                guard let span = TimeSpan.parse(value) else { return false }
                configuration.keepAfterUpload = span
                return true
            }),
        ConfigurationKey(
            section: "Import", name: "WatchedFolder", variable: "CELESTIAD_IMPORT_WATCHED_FOLDER",
            allowed: "an absolute path",
            documentation:
                "A folder whose sound files and photos, also in its subfolders, are taken into the queue. Empty: none.",
            standard: "", isPrivate: true,
            assign: {
                $0.watchedFolder = $1.isEmpty ? nil : $1
                return $1.isEmpty || $1.hasPrefix("/")
            }),
        ConfigurationKey(
            section: "Import", name: "Settling", variable: "CELESTIAD_IMPORT_SETTLING",
            allowed: "a time such as 10s or 2min",
            documentation:
                "How long a file in the watched folder must not have changed before it counts as complete.",
            standard: "10s",
            assign: { configuration, value in
                guard let span = TimeSpan.parse(value) else { return false }
                configuration.folderSettling = span
                return true
            }),
        ConfigurationKey(
            section: "Upload", name: "Parallel", variable: "CELESTIAD_UPLOAD_PARALLEL",
            allowed: "a whole number from 1 to 4", documentation: "Assets uploaded at the same time.",
            standard: "2",
            assign: { configuration, value in
                guard let number = Int(value), (1...4).contains(number) else { return false }
                configuration.parallelUploads = number
                return true
            }),
        ConfigurationKey(
            section: "Upload", name: "RateLimit", variable: "CELESTIAD_UPLOAD_RATE_LIMIT",
            allowed:
                "off, a rate from 16K to 1024G such as 512K, or a timetable such as 08:00,256K 18:00,2M Sat-00:00,off",
            documentation:
                "How many bytes per second all uploads together may send; each time holds until the next.",
            standard: "off", check: { RateTimetable.problem(with: $0) },
            assign: { configuration, value in
                guard let rates = RateTimetable(value) else { return false }
                configuration.uploadRates = rates
                return true
            }),
        ConfigurationKey(
            section: "Upload", name: "Metered", variable: "CELESTIAD_UPLOAD_METERED",
            allowed: "hold or ignore",
            documentation:
                "Whether uploads wait while NetworkManager says, or guesses, that the network is metered.",
            standard: "hold",
            assign: { configuration, value in
                configuration.holdsWhenMetered = value == "hold"
                return value == "hold" || value == "ignore"
            }),
        ConfigurationKey(
            section: "Metrics", name: "TextfilePath", variable: "CELESTIAD_METRICS_TEXTFILE_PATH",
            allowed: "an absolute path that ends in .prom",
            documentation:
                "A file for node_exporter's textfile collector, replaced at intervals. Empty: none.",
            standard: "",
            assign: {
                $0.metrics.file = $1.isEmpty ? nil : $1
                return $1.isEmpty || $1.hasPrefix("/") && $1.hasSuffix(".prom")
            }),
        ConfigurationKey(
            section: "Metrics", name: "Interval", variable: "CELESTIAD_METRICS_INTERVAL",
            allowed: "a time from 1s to 1d, such as 15s or 1min",
            documentation: "How often TextfilePath is written.", standard: "1min",
            assign: { configuration, value in
                guard let span = TimeSpan.parse(value),
                    (Duration.seconds(1)...Duration.seconds(86_400)).contains(span)
                else { return false }
                configuration.metrics.interval = span
                return true
            }),
        ConfigurationKey(
            section: "Metrics", name: "Listen", variable: "CELESTIAD_METRICS_LISTEN",
            allowed: "127.0.0.1:PORT, [::1]:PORT or unix:/PATH",
            documentation:
                "Where GET /metrics is answered, to this machine only; every local user can read a port. Empty: nowhere.",
            standard: "",
            assign: {
                $0.metrics.address = MetricsAddress($1)
                return $1.isEmpty || $0.metrics.address != nil
            }),
        ConfigurationKey(
            section: "MQTT", name: "Host", variable: "CELESTIAD_MQTT_HOST",
            allowed: "a host name or an address",
            documentation:
                "The MQTT broker by which Home Assistant finds the recorders. It needs libmosquitto1: sudo apt-get install "
                + "libmosquitto1. Empty: none.",
            standard: "", isPrivate: true,
            assign: {
                $0.mqtt.host = $1
                return $1.utf8.count <= 255 && $1.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x2F }
            }),
        ConfigurationKey(
            section: "MQTT", name: "Port", variable: "CELESTIAD_MQTT_PORT",
            allowed: "a whole number from 1 to 65535, or 0 for the usual one",
            documentation: "The broker's port; usual are 1883, and 8883 with TLS.", standard: "0",
            assign: { configuration, value in
                guard let port = UInt16(value) else { return false }
                configuration.mqtt.givenPort = port
                return true
            }),
        ConfigurationKey(
            section: "MQTT", name: "TLS", variable: "CELESTIAD_MQTT_TLS", allowed: "yes or no",
            documentation:
                "Whether the connection is encrypted and the broker's certificate is checked. Without it the password goes "
                + "over the network as it is, which is warned of.",
            standard: "no",
            assign: {
                $0.mqtt.usesTLS = $1 == "yes"
                return $1 == "yes" || $1 == "no"
            }),
        ConfigurationKey(
            section: "MQTT", name: "CAFile", variable: "CELESTIAD_MQTT_CA_FILE",
            allowed: "the absolute path of a file with certificates in PEM form",
            documentation: "Certificates to trust for the broker instead of the system's.", standard: "",
            check: ValueCheck.certificates,
            assign: {
                $0.mqtt.caFile = $1.isEmpty ? nil : $1
                return $1.isEmpty || $1.hasPrefix("/")
            }),
        ConfigurationKey(
            section: "MQTT", name: "Username", variable: "CELESTIAD_MQTT_USERNAME",
            allowed: "a user name of at most 256 bytes",
            documentation: "Whom to be at the broker. Empty: nobody.", standard: "", isPrivate: true,
            assign: {
                $0.mqtt.username = $1.isEmpty ? nil : $1
                return $1.utf8.count <= 256
            }),
        ConfigurationKey(
            section: "MQTT", name: "PasswordFile", variable: "CELESTIAD_MQTT_PASSWORD_FILE",
            allowed: "an absolute path",
            documentation:
                "A file whose first line is the password for that. Empty: the systemd credential "
                + "celestiad.mqtt-password, if there is one.",
            standard: "",
            assign: {
                $0.mqtt.passwordFile = $1.isEmpty ? nil : $1
                return $1.isEmpty || $1.hasPrefix("/")
            }),
        ConfigurationKey(
            section: "MQTT", name: "DiscoveryPrefix", variable: "CELESTIAD_MQTT_DISCOVERY_PREFIX",
            allowed: "letters, digits, - _ and / between them",
            documentation: "Where Home Assistant looks for announcements.", standard: "homeassistant",
            assign: {
                $0.mqtt.discoveryPrefix = $1
                return MQTTConfiguration.isTopic($1)
            }),
        ConfigurationKey(
            section: "MQTT", name: "TopicPrefix", variable: "CELESTIAD_MQTT_TOPIC_PREFIX",
            allowed: "letters, digits, - _ and / between them",
            documentation: "Where the states are published.", standard: "celestiad",
            assign: {
                $0.mqtt.topicPrefix = $1
                return MQTTConfiguration.isTopic($1)
            }),
    ]
}
