import CaptureQueue
import Control
import FoundationEssentials
import Gateway

/// What sessions wait for, told once for everyone who shows it. Pure.
extension WaitDocument {
    init(_ tally: WaitTally, host: String) {
        let count = Units.count(tally.sessions, "session")
        let waits = "\(count) \(tally.sessions == 1 ? "waits" : "wait")"
        let detail = tally.detail.map { Terminal.printable($0) }
        let id = String(tally.first.text.prefix(8))
        let list = tally.sessions == 1 ? "" : "; celestiad sessions --attention lists all of them"
        switch tally.cause {
        case .hold(let reason):
            self.init(
                cause: reason.rawValue, sessions: tally.sessions,
                text: "\(waits) (\(Words.plain(reason.rawValue)))" + (detail.map { ": \($0)" } ?? ""),
                hint: reason.clearedBy(session: id) + list, needsUser: reason.needsUser, until: tally.until)
        case .retry:
            self.init(
                cause: "retry", sessions: tally.sessions,
                text: "\(waits) for another attempt" + (detail.map { ": \($0)" } ?? ""),
                hint: "it is made by itself; celestiad sync makes it now", until: tally.until)
        case .otherHost:
            self.init(
                cause: "other_host", sessions: tally.sessions,
                text: "\(count) \(tally.sessions == 1 ? "is" : "are") for \(detail ?? "another host"), "
                    + "but this hub is set up for \(host)",
                hint:
                    "set [Cloud] URL to that address again, and they are sent there; or celestiad session migrate \(id)"
                    + (tally.sessions == 1 ? "" : "; celestiad sessions lists them"),
                needsUser: true)
        }
    }
}

extension HealthItem {
    /// An attempt that is made soon is no reason to look after anything.
    private static let patience: TimeInterval = 10 * 60

    init(_ wait: WaitDocument, now: Date) {
        let isSoon = wait.until.map { $0.timeIntervalSince(now) <= Self.patience } ?? false
        let isWanted = wait.cause == HoldReason.paused.rawValue
        self.init(
            code: "sessions_wait_\(wait.cause)", severity: isSoon || isWanted ? "info" : "warning",
            text: wait.text, hint: wait.hint)
    }
}
