internal import CSystemd
package import FoundationEssentials

/// One line of the machine's journal.
package struct JournalLine: Sendable, Hashable {
    package let time: Date
    /// syslog's level, 0 (worst) to 7.
    package let priority: Int
    package let message: String

    package init(time: Date, priority: Int, message: String) {
        self.time = time
        self.priority = priority
        self.message = message
    }
}

/// Reads the journal (sd-journal(3)). Blocks.
package enum Journal {
    /// A line longer than this is cut.
    private static let longestLine = 8192

    /// The last lines that a unit wrote, or that systemd wrote of it, oldest first; none where the user may not read them.
    /// nil: there is no journal.
    package static func lines(of unit: String, last count: Int) -> [JournalLine]? {
        var journal: OpaquePointer?
        guard sd_journal_open(&journal, Int32(SD_JOURNAL_LOCAL_ONLY)) >= 0, let journal else { return nil }
        defer { sd_journal_close(journal) }
        sd_journal_set_data_threshold(journal, longestLine)
        sd_journal_add_match(journal, "_SYSTEMD_UNIT=\(unit)", 0)
        sd_journal_add_disjunction(journal)
        sd_journal_add_match(journal, "UNIT=\(unit)", 0)
        sd_journal_add_match(journal, "_PID=1", 0)
        guard sd_journal_seek_tail(journal) >= 0,
            sd_journal_previous_skip(journal, UInt64(max(0, count))) > 0
        else { return [] }
        var lines: [JournalLine] = []
        repeat {
            var microseconds: UInt64 = 0
            sd_journal_get_realtime_usec(journal, &microseconds)
            lines.append(
                JournalLine(
                    time: Date(timeIntervalSince1970: Double(microseconds) / 1_000_000),
                    priority: field("PRIORITY", of: journal).flatMap { Int($0) } ?? 6,
                    message: field("MESSAGE", of: journal) ?? ""))
        } while lines.count < count && sd_journal_next(journal) > 0
        return lines
    }

    private static func field(_ name: String, of journal: OpaquePointer) -> String? {
        var data: UnsafeRawPointer?
        var length = 0
        guard sd_journal_get_data(journal, name, &data, &length) >= 0, let data else { return nil }
        let bytes = UnsafeRawBufferPointer(start: data, count: min(length, longestLine)).dropFirst(
            name.utf8.count + 1)
        return String(decoding: bytes, as: UTF8.self)
    }
}
