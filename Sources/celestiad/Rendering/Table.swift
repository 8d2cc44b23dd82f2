/// Rows under titles, in columns as wide as they need to be. Pure.
struct Table {
    struct Column {
        let title: String
        var isNumeric = false
        /// Gives up width when the line is too long.
        var isFlexible = false
    }

    let columns: [Column]
    /// Cells of clean text.
    var rows: [[String]] = []

    private static let gap = 2
    private static let minimumFlexible = 8

    func lines(_ layout: Layout) -> [String] {
        let widths = widths(within: layout.width)
        let titles = line(columns.map(\.title), widths)
        return [layout.paint(Text.fit(titles, to: layout.width), .bold)]
            + rows.map { Text.fit(line($0, widths), to: layout.width) }
    }

    private func widths(within width: Int) -> [Int] {
        var widths = columns.indices.map { column in
            ([columns[column].title] + rows.map { $0[column] }).map(Text.width).max() ?? 0
        }
        var excess = widths.reduce(Self.gap * (columns.count - 1), +) - width
        for column in columns.indices where columns[column].isFlexible && excess > 0 {
            let given = min(excess, max(0, widths[column] - Self.minimumFlexible))
            widths[column] -= given
            excess -= given
        }
        return widths
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (column, cell) in cells.enumerated() {
            let cell = Text.fit(cell, to: widths[column])
            if column > 0 { line += String(repeating: " ", count: Self.gap) }
            line += Text.pad(cell, to: widths[column], left: columns[column].isNumeric)
        }
        while line.last == " " { line.removeLast() }
        return line
    }
}
