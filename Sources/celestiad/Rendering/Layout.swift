import FoundationEssentials

/// What rendering depends on besides the document.
struct Layout: Sendable {
    /// Columns that there are; very many where the output is no terminal.
    var width = Layout.unlimited
    var hasColor = false
    var now: Date
    /// Seconds east of UTC at a time in seconds since 1970.
    var offset: @Sendable (Int64) -> Int = { _ in 0 }

    static let unlimited = 100_000

    enum Color: String {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
    }

    func paint(_ text: String, _ color: Color) -> String {
        hasColor && !text.isEmpty ? "\u{1B}[\(color.rawValue)m\(text)\u{1B}[0m" : text
    }

    /// How long ago, as people say it.
    func ago(_ date: Date) -> String {
        let seconds = Int64(now.timeIntervalSince(date).rounded())
        return seconds < 1 ? "now" : "\(Units.duration(seconds)) ago"
    }

    /// How long until then.
    func until(_ date: Date) -> String {
        let seconds = Int64(date.timeIntervalSince(now).rounded())
        return seconds < 1 ? "now" : "in \(Units.duration(seconds))"
    }

    /// Date and time of day where the user is.
    func moment(_ date: Date) -> String {
        let seconds = Int64(date.timeIntervalSince1970.rounded(.down))
        let local = date.addingTimeInterval(Double(offset(seconds)))
        return String(local.formatted(.iso8601).prefix(16)).replacing("T", with: " ")
    }
}

/// Numbers as people read them.
enum Units {
    /// Bytes with a binary prefix and at most one decimal.
    static func bytes(_ count: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        var unit = 0
        var scale: Int64 = 1
        while unit < units.count - 1, count >= scale * 1024 {
            scale *= 1024
            unit += 1
        }
        guard unit > 0 else { return "\(count) B" }
        let whole = count / scale
        let tenth = (count % scale) * 10 / scale
        return whole >= 100 ? "\(whole) \(units[unit])" : "\(whole).\(tenth) \(units[unit])"
    }

    static func rate(_ bytesPerSecond: Int64) -> String { bytes(bytesPerSecond) + "/s" }

    /// A span of time in its one or two largest units.
    static func duration(_ seconds: Int64) -> String {
        switch seconds {
        case ..<60: "\(max(0, seconds)) s"
        case ..<600 where seconds % 60 != 0: "\(seconds / 60) min \(seconds % 60) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400:
            seconds / 60 % 60 == 0 ? "\(seconds / 3600) h" : "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: "\(seconds / 86_400) d"
        }
    }

    /// Hours, minutes and seconds of something that plays.
    static func playingTime(milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds) / 1000
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60)
        return hours > 0
            ? "\(hours):\(two(minutes)):\(two(seconds % 60))" : "\(minutes):\(two(seconds % 60))"
    }

    static func percent(_ part: Int64, of whole: Int64) -> Int {
        guard whole > 0 else { return 0 }
        let (product, overflow) = max(0, part).multipliedReportingOverflow(by: 100)
        return Int(min(100, overflow ? max(0, part) / max(1, whole / 100) : product / whole))
    }

    static func count(_ count: Int, _ singular: String, _ plural: String? = nil) -> String {
        "\(count) \(count == 1 ? singular : plural ?? singular + "s")"
    }

    private static func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
