import Control

/// Transfers as bars, one line each. Pure.
struct ProgressView {
    let layout: Layout
    /// Columns that something else takes at the beginning of the line.
    var indent = 0
    private static let barWidth = 16

    func lines(_ transfers: [TransferDocument]) -> [String] {
        transfers.map { Text.fit(line($0), to: max(20, layout.width - indent)) }
    }

    private func line(_ transfer: TransferDocument) -> String {
        var pieces = [Text.pad(Words.leg(transfer.leg), to: 10)]
        if let total = transfer.totalBytes {
            let percent = Units.percent(transfer.bytes, of: total)
            let filled = percent * Self.barWidth / 100
            pieces.append(
                String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled))
            pieces.append(Text.pad("\(percent) %", to: 5, left: true))
            pieces.append("\(Units.bytes(transfer.bytes)) of \(Units.bytes(total))")
        } else {
            pieces.append(Units.bytes(transfer.bytes))
        }
        if let rate = transfer.bytesPerSecond { pieces.append(Units.rate(rate)) }
        if let eta = transfer.etaSeconds { pieces.append("\(Units.duration(eta)) left") }
        if let name = transfer.name { pieces.append(Text.clean(name)) }
        return pieces.joined(separator: "  ")
    }
}

/// Transfers as lines for a log: one at the start of each file, at each quarter of it, and otherwise at an interval. Pure.
struct ProgressLog {
    private var shown: [String: (quarter: Int, at: Int64)] = [:]
    private let interval: Int64

    /// `interval` in seconds.
    init(interval: Int64 = 30) {
        self.interval = interval
    }

    /// The lines to print now, `seconds` being the time.
    mutating func update(_ transfers: [TransferDocument], seconds: Int64) -> [String] {
        var current: [String: (quarter: Int, at: Int64)] = [:]
        var lines: [String] = []
        for transfer in transfers {
            let key = "\(transfer.leg) \(transfer.asset ?? transfer.name ?? "")"
            let percent = transfer.totalBytes.map { Units.percent(transfer.bytes, of: $0) } ?? 0
            let last = shown[key]
            if let last, last.quarter >= percent / 25, seconds - last.at < interval {
                current[key] = last
            } else {
                current[key] = (percent / 25, seconds)
                lines.append(line(transfer, percent))
            }
        }
        shown = current
        return lines
    }

    private func line(_ transfer: TransferDocument, _ percent: Int) -> String {
        var pieces = [
            "\(Words.leg(transfer.leg)) \(Text.clean(transfer.name ?? transfer.asset ?? "file")): \(percent) %"
        ]
        pieces.append(
            Units.bytes(transfer.bytes) + (transfer.totalBytes.map { " of \(Units.bytes($0))" } ?? ""))
        if let rate = transfer.bytesPerSecond { pieces.append(Units.rate(rate)) }
        if let eta = transfer.etaSeconds { pieces.append("\(Units.duration(eta)) left") }
        return pieces.joined(separator: ", ")
    }
}
