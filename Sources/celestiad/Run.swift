import Control
import EventLoop
import FoundationEssentials
import Gateway
import Glibc

/// `celestiad run`: the daemon itself.
enum RunVerb {
    static let verb = Verb(
        name: "run", summary: "Run the daemon in the foreground, as systemd does.",
        discussion: [
            "Reads \(Configuration.defaultPath) and, over it, the environment; docs/configuration.md lists the keys. "
                + "Ends in order with SIGTERM or SIGINT: what is under way is put down where it is, and the next start goes "
                + "on with it."
        ],
        options: [
            Option(
                name: "config", value: "FILE",
                help: "Read this file instead of \(Configuration.defaultPath); also CELESTIAD_CONFIG.")
        ],
        handlesSignals: true
    ) { invocation throws(ControlError) in
        ProcessMemory.releaseCode()
        do throws(GatewayError) {
            var environment = invocation.environment
            if let bus = invocation.arguments.value("bus") { environment["CELESTIAD_BUS"] = bus }
            let configuration = try Configuration.load(
                path: invocation.arguments.value("config"), environment: environment, read: read)
            let log = Log.standardError(
                level: configuration.logLevel, underJournal: environment["JOURNAL_STREAM"] != nil)
            let process = DaemonProcess(
                configuration: configuration, log: log, service: ServiceManager(), loop: try loop())
            try await process.run()
            return .success
        } catch {
            throw ControlError(error)
        }
    }

    private static func loop() throws(GatewayError) -> EventLoop {
        do throws(SystemError) {
            return try EventLoop.start(name: "control")
        } catch {
            throw GatewayError(.system, error.description)
        }
    }

    /// The file's text; nil when there is none. Throws `configuration` when it cannot be read.
    private static func read(_ path: String) throws(GatewayError) -> String? {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        guard fd >= 0 else {
            guard errno != ENOENT else { return nil }
            throw GatewayError(
                .configuration,
                "the configuration file \(path) cannot be read: \(SystemError("open").description)",
                hint: "Make it readable for the user that celestiad runs as.")
        }
        let file = OwnedFD(fd)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= 1 << 20 {
            let count = Glibc.read(file.rawValue, &buffer, buffer.count)
            guard count >= 0 else {
                throw GatewayError(
                    .configuration,
                    "the configuration file \(path) cannot be read: \(SystemError("read").description)",
                    hint: "Name another with --config; it is an INI file.")
            }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw GatewayError(
                .configuration, "the configuration file \(path) is not UTF-8 text",
                hint: "It is an INI file; see docs/configuration.md.")
        }
        return text
    }
}
