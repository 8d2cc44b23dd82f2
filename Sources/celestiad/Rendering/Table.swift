/// Rows under titles, in columns as wide as they need to be. Pure.
struct Table {
    struct Column {
        let title: String
        var isNumeric = false
        /// Gives up width when the line is too long, down to `minimum`.
        var isFlexible = false
        var minimum = 8
        /// Cut in the middle: what follows tells it from others.
        var keepsEnd = false
        /// Left out when the line is too long all the same, the lowest first; nil: never.
        var dropped: Int?
        /// Left out while no row has anything in it.
        var isOptional = false
    }

    /// What stands in a cell of which nothing is known.
    static let nothing = "–"

    let columns: [Column]
    /// Cells of clean text.
    var rows: [[String]] = []

    private static let gap = 2

    func lines(_ layout: Layout) -> [String] {
        var shown = columns.indices.filter { column in
            !columns[column].isOptional || rows.contains { $0[column] != Self.nothing }
        }
        var widths = widths(of: shown, within: layout.width)
        while Self.total(widths) > layout.width, let next = leastWanted(of: shown) {
            shown.removeAll { $0 == next }
            widths = self.widths(of: shown, within: layout.width)
        }
        let titles = line(columns.map(\.title), shown, widths)
        return [layout.paint(Text.fit(titles, to: layout.width), .bold)]
            + rows.map { Text.fit(line($0, shown, widths), to: layout.width) }
    }

    private func leastWanted(of shown: [Int]) -> Int? {
        shown.filter { columns[$0].dropped != nil }
            .min { columns[$0].dropped ?? .max < columns[$1].dropped ?? .max }
    }

    private static func total(_ widths: [Int]) -> Int { widths.reduce(gap * (widths.count - 1), +) }

    private func widths(of shown: [Int], within width: Int) -> [Int] {
        var widths = shown.map { column in
            ([columns[column].title] + rows.map { $0[column] }).map(Text.width).max() ?? 0
        }
        var excess = Self.total(widths) - width
        for (index, column) in shown.enumerated() where columns[column].isFlexible && excess > 0 {
            let given = min(excess, max(0, widths[index] - columns[column].minimum))
            widths[index] -= given
            excess -= given
        }
        return widths
    }

    private func line(_ cells: [String], _ shown: [Int], _ widths: [Int]) -> String {
        var line = ""
        for (index, column) in shown.enumerated() {
            let cut = columns[column].keepsEnd ? Text.fitEnds : Text.fit
            let cell = cut(cells[column], widths[index])
            if index > 0 { line += String(repeating: " ", count: Self.gap) }
            line += Text.pad(cell, to: widths[index], left: columns[column].isNumeric)
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}
