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
            "Reads \(Configuration.defaultPath) and, over it, the environment; celestiad.conf(5) lists the keys. "
                + "Ends in order with SIGTERM or SIGINT: what is under way is put down where it is, and the next start goes "
                + "on with it."
        ],
        options: [
            Option(
                name: "config", value: "FILE",
                help: "Read this file instead of \(Configuration.defaultPath); also CELESTIAD_CONFIG.",
                completes: .files)
        ],
        handlesSignals: true
    ) { invocation throws(ControlError) in
        ProcessMemory.releaseCode()
        do throws(GatewayError) {
            var environment = invocation.environment
            if let bus = invocation.arguments.value("bus") { environment["CELESTIAD_BUS"] = bus }
            let (path, variables) = (invocation.arguments.value("config"), environment)
            let reload = { @Sendable () throws(GatewayError) in
                try Configuration.load(path: path, environment: variables, files: LocalConfigurationFiles())
            }
            let loaded = try reload()
            let log = Log.ofProcess(
                level: loaded.configuration.logLevel, journalStream: environment["JOURNAL_STREAM"])
            let process = DaemonProcess(
                live: LiveConfiguration(loaded.configuration, loaded.settings), reload: reload, log: log,
                service: ServiceManager(), loop: try loop())
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
}
