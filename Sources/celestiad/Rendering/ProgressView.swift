import Control

/// Transfers as bars, one line each where there is room. Pure.
struct ProgressView {
    let layout: Layout
    /// Columns that something else takes at the beginning of the line.
    var indent = 0
    /// Bars and sizes of what is told, the most first; share, rate and time left are always told.
    private static let forms = [(16, true), (8, true), (0, true), (8, false), (0, false)]
    private static let nameWidth = 8...16
    private static let gap = "  "
    private var width: Int { max(20, layout.width - indent) }

    /// All lines are of the fullest form in which they fit.
    func lines(_ transfers: [TransferDocument]) -> [String] {
        let form = Self.forms.first { form in
            transfers.allSatisfy {
                Text.width(line($0, form, nameWidth: Self.nameWidth.upperBound)) <= width
            }
        }
        return transfers.flatMap { transfer in
            let pieces = pieces(transfer, form ?? (0, false))
            let room = width - Text.width(pieces.joined(separator: Self.gap)) - Self.gap.count
            let needed = min(Self.nameWidth.lowerBound, Text.width(Text.clean(transfer.name ?? "")))
            return room < needed
                ? Text.flow(pieces, separator: Self.gap, width: width)
                : [line(transfer, form ?? (0, false), nameWidth: room)]
        }
    }

    private func line(_ transfer: TransferDocument, _ form: (Int, Bool), nameWidth: Int) -> String {
        let name = transfer.name.map { [Text.fitEnds(Text.clean($0), to: nameWidth)] } ?? []
        return (pieces(transfer, form) + name).joined(separator: Self.gap)
    }

    private func pieces(_ transfer: TransferDocument, _ form: (bar: Int, hasSizes: Bool)) -> [String] {
        var pieces = [Text.pad(Words.leg(transfer.leg), to: 10)]
        if let total = transfer.totalBytes {
            let percent = Units.percent(transfer.bytes, of: total)
            let filled = percent * form.bar / 100
            if form.bar > 0 {
                pieces.append(
                    String(repeating: "█", count: filled) + String(repeating: "░", count: form.bar - filled))
            }
            pieces.append(Text.pad("\(percent) %", to: 5, left: true))
            if form.hasSizes { pieces.append("\(Units.bytes(transfer.bytes)) of \(Units.bytes(total))") }
        } else {
            pieces.append(Units.bytes(transfer.bytes))
        }
        if let rate = transfer.bytesPerSecond { pieces.append(Units.rate(rate)) }
        if let eta = transfer.etaSeconds { pieces.append("\(Units.duration(eta)) left") }
        return pieces
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
