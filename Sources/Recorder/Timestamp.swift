/// A moment in RFC 3339 form. The text is kept as it was sent, because the cloud gets it verbatim; the
/// seconds are for ordering.
package struct Timestamp: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The text as it was sent.
    package let text: String
    /// Whole seconds since 1970-01-01 00:00 UTC.
    package let unixSeconds: Int64
    /// The fraction of a second.
    package let nanoseconds: Int32

    /// Parses `YYYY-MM-DDThh:mm:ss[.1…9 digits](Z|±hh:mm)`; nil for anything else, also for days that no
    /// calendar has. A leap second (`:60`) counts as the second after.
    package init?(_ text: String) {
        guard text.utf8.count <= 35 else { return nil }
        var scanner = TimestampScanner(text)
        guard let date = scanner.date(), let time = scanner.time(), let fraction = scanner.fraction(),
            let offset = scanner.offset(), scanner.isAtEnd
        else { return nil }
        self.text = text
        unixSeconds = date * 86_400 + time - offset
        nanoseconds = fraction
    }

    /// Milliseconds since 1970-01-01 00:00 UTC, rounded down.
    package var unixMilliseconds: Int64 { unixSeconds * 1000 + Int64(nanoseconds / 1_000_000) }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool {
        (left.unixSeconds, left.nanoseconds) < (right.unixSeconds, right.nanoseconds)
    }
}

private struct TimestampScanner {
    private var bytes: ArraySlice<UInt8>

    init(_ text: String) {
        bytes = Array(text.utf8)[...]
    }

    var isAtEnd: Bool { bytes.isEmpty }

    /// Days since 1970-01-01.
    mutating func date() -> Int64? {
        guard let year = number(4), skip("-"), let month = number(2), skip("-"), let day = number(2),
            (1...12).contains(month), day >= 1
        else { return nil }
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day <= lengths[month - 1] else { return nil }
        let before = Int64(year) - 1
        let days = year == 0 ? -366 : before * 365 + before / 4 - before / 100 + before / 400
        return days + Int64(lengths[..<(month - 1)].reduce(0, +)) + Int64(day) - 1 - 719_162
    }

    /// Seconds since midnight.
    mutating func time() -> Int64? {
        guard skip("T") || skip("t") || skip(" "), let hour = number(2), skip(":"), let minute = number(2),
            skip(":"), let second = number(2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return Int64(hour * 3600 + minute * 60 + second)
    }

    /// Nanoseconds; 0 without a fraction.
    mutating func fraction() -> Int32? {
        guard skip(".") else { return 0 }
        let digits = bytes.prefix { (0x30...0x39).contains($0) }
        guard (1...9).contains(digits.count) else { return nil }
        bytes = bytes.dropFirst(digits.count)
        var value: Int32 = 0
        for position in 0..<9 {
            let digit = position < digits.count ? digits[digits.startIndex + position] - 0x30 : 0
            value = value * 10 + Int32(digit)
        }
        return value
    }

    /// Seconds east of UTC.
    mutating func offset() -> Int64? {
        if skip("Z") || skip("z") { return 0 }
        let isWest = bytes.first == UInt8(ascii: "-")
        guard skip("+") || skip("-"), let hour = number(2), skip(":"), let minute = number(2), hour < 24,
            minute < 60
        else { return nil }
        let seconds = Int64(hour * 3600 + minute * 60)
        return isWest ? -seconds : seconds
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard bytes.first == UInt8(ascii: character) else { return false }
        bytes.removeFirst()
        return true
    }

    private mutating func number(_ count: Int) -> Int? {
        let digits = bytes.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        bytes = bytes.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
