import CaptureQueue
import Gateway

/// Tells the service manager that the daemon works, after every part of it has answered, and how it stands.
struct Watchdog: Sendable {
    let service: ServiceManager
    let log: Log
    let rollCall: RollCall
    /// One line on how things stand.
    let status: @Sendable () async -> String

    /// How often the line is renewed where nobody watches.
    private static let idleInterval = Duration.seconds(30)

    /// Runs until the task is cancelled. A part that does not answer is named in the log, and nothing is fed until it does:
    /// the service manager then ends the daemon, and starts it anew.
    func run() async {
        let interval = service.watchdogInterval ?? Self.idleInterval
        repeat {
            let silent = await rollCall.take(patience: interval)
            guard !Task.isCancelled else { return }
            guard silent.isEmpty else {
                log.error(
                    "no sign of life from: \(silent.joined(separator: ", ")); the watchdog is not fed",
                    .daemonSilent)
                continue
            }
            service.watchdog()
            service.status(await status())
            try? await Task.sleep(for: interval)
        } while !Task.isCancelled
    }
}

extension Gateway {
    /// The line of `systemctl status`.
    nonisolated func statusLine() async -> String {
        let links = board.links.values
        let recorders = links.count == 1 ? "1 recorder" : "\(links.count) recorders"
        let connected = links.count { [.syncing, .idle].contains($0.state) }
        let unsent = (try? await queue.counts().unsentFiles) ?? 0
        return "\(recorders), \(connected) connected; \(unsent == 1 ? "1 file" : "\(unsent) files") to upload"
    }
}
