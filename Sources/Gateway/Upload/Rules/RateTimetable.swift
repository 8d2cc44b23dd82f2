package import FoundationEssentials
import Glibc

/// How fast uploads may be over the week, in the grammar of rclone's `--bwlimit`: one rate, or `[DAY-]HH:MM,RATE` entries,
/// each of which holds until the next. Pure; minutes are counted from Monday 00:00, local time.
package struct RateTimetable: Sendable, Equatable {
    private struct Entry: Sendable, Equatable {
        let minute: Int
        /// Bytes per second; nil is unlimited.
        let rate: Int64?
    }

    /// A slower one would make every request run into its deadline.
    package static let slowestRate: Int64 = 16 << 10
    private static let fastestRate: Int64 = 1 << 40
    private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let dayLength = 24 * 60
    private static let maximumEntries = 64

    /// In the order of their minutes, at least one.
    private let entries: [Entry]

    package static let unlimited = RateTimetable(entries: [Entry(minute: 0, rate: nil)])

    private init(entries: [Entry]) {
        self.entries = entries
    }

    /// nil when it is not of the grammar, when two entries begin at the same minute, or when a rate is below
    /// `slowestRate`.
    package init?(_ text: String) {
        guard case .success(let table) = Self.parse(text) else { return nil }
        self = table
    }

    /// What is wrong with it, in words that come after it; nil: nothing.
    package static func problem(with text: String) -> String? {
        guard case .failure(let problem) = parse(text) else { return nil }
        return problem.words
    }

    private struct Problem: Error {
        let words: String
    }

    private static func parse(_ text: String) -> Result<Self, Problem> {
        let words = text.split { $0 == " " || $0 == "\t" }
        func failure(_ words: String) -> Result<Self, Problem> { .failure(Problem(words: words)) }
        if words.count == 1, !text.contains(",") {
            guard let rate = rate(words[0]) else { return failure("it is no rate") }
            return .success(Self(entries: [Entry(minute: 0, rate: rate)]))
        }
        guard (1...maximumEntries).contains(words.count) else {
            return failure(words.isEmpty ? "it is empty" : "it has more than \(maximumEntries) entries")
        }
        var rates: [Int: Int64?] = [:]
        for word in words {
            let name = "its entry \(Terminal.printable(String(word.prefix(40))))"
            let parts = word.split(separator: ",", omittingEmptySubsequences: false)
            guard parts.count == 2 else { return failure("\(name) is not TIME,RATE") }
            guard let rate = rate(parts[1]) else { return failure("\(name) has no rate that can be") }
            guard let minutes = minutes(parts[0]) else { return failure("\(name) has no time of a day") }
            for minute in minutes where rates.updateValue(rate, forKey: minute) != nil {
                return failure("\(name) begins when another does")
            }
        }
        return .success(
            Self(entries: rates.map { Entry(minute: $0, rate: $1) }.sorted { $0.minute < $1.minute }))
    }

    /// The rate that holds at a minute of the week; nil is unlimited.
    package func rate(at minute: Int) -> Int64? {
        // Before the week's first entry the last one of the week before holds.
        (entries.last { $0.minute <= minute } ?? entries[entries.count - 1]).rate
    }

    /// Whether it is the same all week.
    package var isConstant: Bool { entries.allSatisfy { $0.rate == entries[0].rate } }

    /// The slowest rate of all; nil when there is no limit.
    package var slowest: Int64? { entries.compactMap(\.rate).min() }

    /// The minute of the week by the clock on the wall, in this machine's time zone.
    package static func minute(of date: Date) -> Int {
        // Sees a zone that was changed meanwhile.
        tzset()
        var time = time_t(date.timeIntervalSince1970)
        var parts = tm()
        guard localtime_r(&time, &parts) != nil else { return 0 }
        return minute(weekday: Int(parts.tm_wday), hour: Int(parts.tm_hour), minute: Int(parts.tm_min))
    }

    /// `weekday` as in C: 0 is Sunday.
    package static func minute(weekday: Int, hour: Int, minute: Int) -> Int {
        (weekday + 6) % 7 * dayLength + hour * 60 + minute
    }

    // MARK: The grammar

    /// The outer nil: no rate. K, M and G are powers of 1024, and KiB is what a bare number means.
    private static func rate(_ text: Substring) -> Int64?? {
        if text.lowercased() == "off" { return .some(nil) }
        let units: [Character: Int64] = ["B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
        let last = text.last.flatMap { $0.uppercased().first } ?? " "
        let digits = units[last] == nil ? text : text.dropLast()
        guard (1...12).contains(digits.count), digits.allSatisfy({ $0.isASCII && $0.isNumber }),
            let number = Int64(digits)
        else { return nil }
        let (rate, overflow) = number.multipliedReportingOverflow(by: units[last] ?? 1 << 10)
        guard !overflow, (slowestRate...fastestRate).contains(rate) else { return nil }
        return .some(rate)
    }

    /// `HH:MM` on every day, or `DAY-HH:MM`.
    private static func minutes(_ text: Substring) -> [Int]? {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard let time = parts.last, parts.count <= 2 else { return nil }
        let numbers = time.split(separator: ":", omittingEmptySubsequences: false)
        guard numbers.count == 2,
            numbers.allSatisfy({ $0.count == 2 && $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            let hour = Int(numbers[0]), let minute = Int(numbers[1]), hour < 24, minute < 60
        else { return nil }
        guard parts.count == 2 else { return (0..<7).map { $0 * dayLength + hour * 60 + minute } }
        guard let day = days.firstIndex(of: parts[0].lowercased()) else { return nil }
        return [day * dayLength + hour * 60 + minute]
    }
}
