import Dates

/// The three date forms of RFC 9110 section 5.6.7.
package enum HTTPDate {
    private static let months = [
        "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
    ]

    /// Seconds since 1970, nil when `text` is none of the forms.
    package static func parse(_ text: String) -> Int64? {
        guard text.utf8.count <= 64 else { return nil }
        let words = text.lowercased().split { $0 == " " || $0 == "," || $0 == "-" }
        switch words.count {
        case 6 where words[5] == "gmt" || words[5] == "utc":
            // Sun, 06 Nov 1994 08:49:37 GMT and Sunday, 06-Nov-94 08:49:37 GMT
            return seconds(day: words[1], month: words[2], year: words[3], time: words[4])
        case 5:
            // Sun Nov  6 08:49:37 1994
            return seconds(day: words[2], month: words[1], year: words[4], time: words[3])
        default: return nil
        }
    }

    private static func seconds(
        day: Substring, month: Substring, year: Substring, time: Substring
    ) -> Int64? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let month = months.firstIndex(of: String(month)), let day = number(day),
            var fullYear = number(year), let hour = number(clock[0]), let minute = number(clock[1]),
            let second = number(clock[2])
        else { return nil }
        if year.utf8.count == 2 { fullYear += fullYear < 70 ? 2000 : 1900 }
        return CivilTime.seconds(
            year: fullYear, month: month + 1, day: day, hour: hour, minute: minute, second: second)
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }
}

/// The Retry-After field, RFC 9110 section 10.2.3.
package enum RetryAfter {
    /// More than this is not believed: a wrong date must not park the queue for a year.
    package static let maximum = Duration.seconds(3600)

    /// Seconds or a date, within 0…`maximum`; nil when it is neither. A date counts from the server's own
    /// clock, so that a wrong one here does not matter; without the server's `Date` it is not understood.
    package static func parse(_ text: String, serverNow: Int64?) -> Duration? {
        let text = text.trimmingASCIISpace()
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return min(.seconds(Int64(text) ?? .max), maximum)
        }
        guard let date = HTTPDate.parse(text), let serverNow else { return nil }
        return .seconds(min(max(date - serverNow, 0), maximum.components.seconds))
    }
}
