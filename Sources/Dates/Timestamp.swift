/// An instant as RFC 3339 writes it, to the nanosecond. Equality and order are the instant's, whatever text it
/// came as.
package struct Timestamp: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
    package let secondsSince1970: Int64
    /// 0…999 999 999.
    package let nanoseconds: Int32

    /// Whatever is outside 0…999 999 999 ns is clamped.
    package init(secondsSince1970: Int64, nanoseconds: Int32 = 0) {
        self.secondsSince1970 = secondsSince1970
        self.nanoseconds = min(max(nanoseconds, 0), 999_999_999)
    }

    package init(millisecondsSince1970 milliseconds: Int64) {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        let borrow: Int64 = remainder < 0 ? 1 : 0
        self.init(
            secondsSince1970: quotient - borrow, nanoseconds: Int32(remainder + borrow * 1000) * 1_000_000)
    }

    /// Rounded down.
    package var millisecondsSince1970: Int64 {
        let (value, overflow) = secondsSince1970.multipliedReportingOverflow(by: 1000)
        return overflow ? (secondsSince1970 < 0 ? .min : .max) : value &+ Int64(nanoseconds / 1_000_000)
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.secondsSince1970, left.nanoseconds) < (right.secondsSince1970, right.nanoseconds)
    }

    /// Whether both mean the same instant to a server that may round to whole seconds.
    package func isClose(to other: Timestamp) -> Bool {
        let (difference, overflow) = secondsSince1970.subtractingReportingOverflow(other.secondsSince1970)
        guard !overflow, abs(difference) <= 1 else { return false }
        return abs(difference * 1_000_000_000 + Int64(nanoseconds - other.nanoseconds)) < 1_000_000_000
    }

    // MARK: Text

    /// The one form that we emit: UTC, milliseconds, `Z`.
    package var description: String {
        let time = CivilTime.fields(at: secondsSince1970)
        let date = "\(Self.pad(time.year, 4))-\(Self.pad(time.month, 2))-\(Self.pad(time.day, 2))"
        let clock = "\(Self.pad(time.hour, 2)):\(Self.pad(time.minute, 2)):\(Self.pad(time.second, 2))"
        return "\(date)T\(clock).\(Self.pad(Int(nanoseconds / 1_000_000), 3))Z"
    }

    private static func pad(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    /// Any RFC 3339 form: with or without a fraction of any length, `Z`, `z` or an offset, `T`, `t` or a
    /// space; second 60 counts as 59.999. nil when it is none.
    package init?(_ text: String) {
        guard text.utf8.count <= 64 else { return nil }
        var scanner = Scanner(bytes: Array(text.utf8))
        guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2),
            scanner.skip("-"),
            let day = scanner.number(2), scanner.skip("Tt "), let hour = scanner.number(2), scanner.skip(":"),
            let minute = scanner.number(2), scanner.skip(":"), let second = scanner.number(2)
        else { return nil }
        var nanoseconds: Int32 = 0
        if scanner.skip(".,") {
            guard let fraction = scanner.fraction() else { return nil }
            nanoseconds = fraction
        }
        guard let offset = scanner.offset(), scanner.isAtEnd else { return nil }
        if second == 60 { nanoseconds = 999_000_000 }
        guard
            let local = CivilTime.seconds(
                year: year, month: month, day: day, hour: hour, minute: minute, second: min(second, 59)),
            second <= 60
        else { return nil }
        self.init(secondsSince1970: local - Int64(offset) * 60, nanoseconds: nanoseconds)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let value = Timestamp(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an RFC 3339 time")
        }
        self = value
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

private struct Scanner {
    let bytes: [UInt8]
    var position = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position == bytes.count }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func digit() -> Int? {
        guard let byte = next, (0x30...0x39).contains(byte) else { return nil }
        position += 1
        return Int(byte - 0x30)
    }

    mutating func number(_ width: Int) -> Int? {
        var value = 0
        for _ in 0..<width {
            guard let digit = digit() else { return nil }
            value = value * 10 + digit
        }
        return value
    }

    mutating func skip(_ choices: String) -> Bool {
        guard let byte = next, choices.utf8.contains(byte) else { return false }
        position += 1
        return true
    }

    /// One or more digits, of which the first nine count.
    mutating func fraction() -> Int32? {
        var value: Int32 = 0
        var count = 0
        while let digit = digit() {
            if count < 9 { value = value * 10 + Int32(digit) }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in min(count, 9)..<9 { value *= 10 }
        return value
    }

    /// Minutes east of UTC.
    mutating func offset() -> Int? {
        if skip("Zz") { return 0 }
        let isWest = next == UInt8(ascii: "-")
        guard skip("+-"), let hours = number(2), skip(":"), let minutes = number(2), hours <= 23,
            minutes <= 59
        else { return nil }
        return (isWest ? -1 : 1) * (hours * 60 + minutes)
    }
}
