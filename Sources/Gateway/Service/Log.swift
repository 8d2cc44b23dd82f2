import EventLoop
import Glibc

/// How grave a log line is (syslog's levels, those that are used).
package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7

    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package var name: String {
        switch self {
        case .error: "error"
        case .warning: "warning"
        case .notice: "notice"
        case .info: "info"
        case .debug: "debug"
        }
    }

    package static func < (left: LogLevel, right: LogLevel) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// The daemon's one logger: a line an event on standard error, with systemd's `<N>` prefix under the journal. A line
/// that repeats is written once and then counted.
package final class Log: Sendable {
    private struct State {
        var last = ""
        var lastLevel = LogLevel.info
        var repeats = 0
    }

    private let level: LogLevel
    private let sink: @Sendable (LogLevel, String) -> Void
    private let state = Locked(State())

    /// `sink` takes each finished line.
    package init(level: LogLevel, sink: @escaping @Sendable (LogLevel, String) -> Void) {
        self.level = level
        self.sink = sink
    }

    /// Writes to standard error; `underJournal` adds the `<N>` prefix that journald takes the level from.
    package static func standardError(level: LogLevel, underJournal: Bool) -> Log {
        Log(level: level) { level, line in
            let text = (underJournal ? "<\(level.rawValue)>" : "\(level.name): ") + line + "\n"
            text.utf8.withContiguousStorageIfAvailable { bytes in
                _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
            }
        }
    }

    package func error(_ text: @autoclosure () -> String) { log(.error, text) }
    package func warning(_ text: @autoclosure () -> String) { log(.warning, text) }
    package func notice(_ text: @autoclosure () -> String) { log(.notice, text) }
    package func info(_ text: @autoclosure () -> String) { log(.info, text) }
    package func debug(_ text: @autoclosure () -> String) { log(.debug, text) }

    private func log(_ level: LogLevel, _ text: () -> String) {
        guard level <= self.level else { return }
        let line = Terminal.printable(text(), limit: 2000)
        let (isRepeat, summary) = state.withLock { state -> (Bool, (LogLevel, String)?) in
            guard line != state.last else {
                state.repeats += 1
                return (true, nil)
            }
            let summary =
                state.repeats > 0 ? (state.lastLevel, "\(state.last) (repeated \(state.repeats) times)") : nil
            state = State(last: line, lastLevel: level)
            return (false, summary)
        }
        if let (level, line) = summary { sink(level, line) }
        if !isRepeat { sink(level, line) }
    }
}
