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

/// Where lines go (org.freedesktop.LogControl1, LogTarget).
package enum LogTarget: String, Sendable, CaseIterable {
    case journal, console
}

/// One line of the log with what it is about.
package struct LogEntry: Sendable, Hashable {
    package var level: LogLevel
    package var text: String
    package var kind: EventKind?
    /// The recorder's serial number.
    package var recorder: String?
    /// The session's id.
    package var session: String?
}

/// How much was to be told, whatever the level.
package struct LogTally: Sendable, Hashable {
    package var levels: [LogLevel: Int] = [:]
    package var kinds: [EventKind: Int] = [:]

    package init() {}
}

/// The daemon's one logger: a line an event. A line that repeats is written once and then counted.
package final class Log: Sendable {
    package typealias Sink = @Sendable (LogEntry) -> Void

    private struct State {
        var level: LogLevel
        var target: LogTarget
        var filter = RepeatFilter()
        var tally = LogTally()
    }

    private let sinks: [LogTarget: Sink]
    private let state: Locked<State>
    /// Where it went at first.
    package let standardTarget: LogTarget

    package init(level: LogLevel, target: LogTarget, sinks: [LogTarget: Sink]) {
        self.sinks = sinks
        standardTarget = target
        state = Locked(State(level: level, target: target))
    }

    /// `sink` takes each finished line.
    package convenience init(level: LogLevel, sink: @escaping @Sendable (LogLevel, String) -> Void) {
        self.init(level: level, target: .console, sinks: [.console: { sink($0.level, $0.text) }])
    }

    /// The log of a process: the journal where standard error is one (`journalStream` is JOURNAL_STREAM of systemd.exec(5)),
    /// otherwise lines on standard error.
    package static func ofProcess(level: LogLevel, journalStream: String?) -> Log {
        let isJournal = isStandardError(journalStream)
        let console: Sink = { entry in
            // journald takes the level of a plain line from its prefix.
            let prefix = isJournal ? "<\(entry.level.rawValue)>" : "\(entry.level.name): "
            let text = prefix + entry.text + "\n"
            text.utf8.withContiguousStorageIfAvailable { bytes in
                _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
            }
        }
        let socket = JournalSocket()
        return Log(
            level: level, target: isJournal ? .journal : .console,
            sinks: [.console: console, .journal: { if !socket.send($0) { console($0) } }])
    }

    /// Whether standard error is the journal: the `DEVICE:INODE` of JOURNAL_STREAM, where there is one.
    package static func isStandardError(_ stream: String?) -> Bool {
        var info = stat()
        return fstat(STDERR_FILENO, &info) == 0 && stream == "\(info.st_dev):\(info.st_ino)"
    }

    /// The gravest that is left out begins above this.
    package var level: LogLevel {
        get { state.withLock { $0.level } }
        set { state.withLock { $0.level = newValue } }
    }

    package var target: LogTarget {
        get { state.withLock { $0.target } }
        set { state.withLock { $0.target = newValue } }
    }

    /// What was to be told until now.
    package var tally: LogTally { state.withLock { $0.tally } }

    package func error(
        _ text: @autoclosure () -> String, _ kind: EventKind? = nil, recorder: String? = nil,
        session: String? = nil
    ) { log(.error, text, kind, recorder, session) }

    package func warning(
        _ text: @autoclosure () -> String, _ kind: EventKind? = nil, recorder: String? = nil,
        session: String? = nil
    ) { log(.warning, text, kind, recorder, session) }

    package func notice(
        _ text: @autoclosure () -> String, _ kind: EventKind? = nil, recorder: String? = nil,
        session: String? = nil
    ) { log(.notice, text, kind, recorder, session) }

    package func info(
        _ text: @autoclosure () -> String, _ kind: EventKind? = nil, recorder: String? = nil,
        session: String? = nil
    ) { log(.info, text, kind, recorder, session) }

    package func debug(
        _ text: @autoclosure () -> String, _ kind: EventKind? = nil, recorder: String? = nil,
        session: String? = nil
    ) { log(.debug, text, kind, recorder, session) }

    private func log(
        _ level: LogLevel, _ text: () -> String, _ kind: EventKind?, _ recorder: String?, _ session: String?
    ) {
        let isWritten = state.withLock { state in
            state.tally.levels[level, default: 0] += 1
            if let kind { state.tally.kinds[kind, default: 0] += 1 }
            return level <= state.level
        }
        guard isWritten else { return }
        let entry = LogEntry(
            level: level, text: Terminal.printable(text(), limit: 2000), kind: kind, recorder: recorder,
            session: session)
        let (entries, target) = state.withLock { ($0.filter.note(entry), $0.target) }
        guard let sink = sinks[target] ?? sinks.values.first else { return }
        for entry in entries { sink(entry) }
    }
}
