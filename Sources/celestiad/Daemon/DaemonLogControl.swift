import Control
import Gateway

/// The daemon's log as systemd changes it while it runs.
struct DaemonLogControl: LogControl {
    let log: Log

    /// syslog's names of our levels.
    private static let names: [(name: String, level: LogLevel)] = [
        ("err", .error), ("warning", .warning), ("notice", .notice), ("info", .info), ("debug", .debug),
        // Nothing of ours is graver than an error.
        ("emerg", .error), ("alert", .error), ("crit", .error),
    ]

    var level: String { Self.names.first { $0.level == log.level }?.name ?? "info" }
    var target: String { log.target.rawValue }

    func setLevel(_ name: String) throws(ControlError) {
        guard let level = Self.names.first(where: { $0.name == name })?.level else {
            throw ControlError(.invalidArgument, "there is no log level \(Terminal.printable(name))")
        }
        log.level = level
        log.notice("the log's level is \(level.name) now", .levelChanged)
    }

    func setTarget(_ name: String) throws(ControlError) {
        // As systemd's own daemons take them.
        let target: LogTarget? = name == "auto" ? log.standardTarget : LogTarget(rawValue: name)
        guard let target else {
            throw ControlError(
                .invalidArgument, "there is no log target \(Terminal.printable(name))",
                hint: "journal, console or auto")
        }
        log.target = target
    }
}
