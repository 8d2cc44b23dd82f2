/// Writes a line that repeats once, and then how often it came. Pure.
struct RepeatFilter {
    private struct Line {
        let entry: LogEntry
        var repeats = 0
        /// At how many repeats it is told next.
        var next = 10
        /// How many of them were told.
        var told = 0
    }

    /// The last warnings and errors that are looked for: what fails in turns fails on and on.
    private static let memory = 4

    /// The newest last.
    private var lines: [Line] = []

    /// What is to be written for this line.
    mutating func note(_ entry: LogEntry) -> [LogEntry] {
        let isGrave = entry.level <= .warning
        guard let index = lines.lastIndex(where: { $0.entry == entry }), isGrave || index == lines.count - 1
        else {
            return make(room: isGrave, for: entry) + [entry]
        }
        var line = lines.remove(at: index)
        defer { lines.append(line) }
        line.repeats += 1
        guard line.repeats == line.next else { return [] }
        line.told = line.repeats
        line.next *= 10
        return [Self.summary(line)]
    }

    /// Lets go of what is too old, and of everything after which a plain line means that something else goes on.
    private mutating func make(room isGrave: Bool, for entry: LogEntry) -> [LogEntry] {
        let isAfterPlain = lines.last.map { $0.entry.level > .warning } ?? false
        let keeps = isGrave && !isAfterPlain ? Self.memory - 1 : 0
        let gone = lines.dropLast(keeps)
        lines = lines.suffix(keeps) + [Line(entry: entry)]
        return gone.filter { $0.repeats > $0.told }.map(Self.summary)
    }

    private static func summary(_ line: Line) -> LogEntry {
        var entry = line.entry
        entry.text += " (repeated \(line.repeats) times)"
        return entry
    }
}
