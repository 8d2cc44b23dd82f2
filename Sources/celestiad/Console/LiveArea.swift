/// Lines at the end of a terminal that are drawn again and again in the same place.
struct LiveArea {
    private let console: Console
    private let write: @Sendable (String) -> Void
    private var drawn: [String] = []

    /// On standard output, or on standard error beside the data.
    init(_ console: Console, onError: Bool) {
        self.console = console
        write = onError ? console.writeError : console.write
    }

    /// Replaces what was drawn before. Of more lines than the terminal has room for, those in the middle are left out;
    /// of the last `last`, which matter most, as few as can be.
    mutating func draw(_ lines: [String], last: Int = 0) {
        let clear = cleared()
        drawn = fitting(lines, last)
        write(clear + console.encoded(drawn))
    }

    /// Removes what was drawn.
    mutating func erase() {
        guard !drawn.isEmpty else { return }
        write(cleared())
        drawn = []
    }

    /// What goes back to the beginning: terminals wrap anew what is there when their width changes. The first row is
    /// cleared alone, as a screen that is cleared at once is kept by tmux among what has scrolled away.
    private func cleared() -> String {
        drawn.isEmpty ? "" : "\u{1B}[\(height(drawn))A\u{1B}[K\n\u{1B}[0J\u{1B}[A"
    }

    /// What has scrolled away is not drawn over any more; the last row is the cursor's.
    private func fitting(_ lines: [String], _ last: Int) -> [String] {
        guard let rows = console.rows(), height(lines) >= rows else { return lines }
        let end = beginning(lines.suffix(last), height: rows - 3)
        let start = beginning(lines.dropLast(last), height: rows - 2 - height(end))
        let missing = lines.count - start.count - end.count
        return start + ["… \(Units.count(missing, "more line"))"] + end
    }

    private func beginning(_ lines: ArraySlice<String>, height: Int) -> [String] {
        var (beginning, left) = ([String](), height)
        for line in lines {
            left -= self.height([line])
            if left < 0 { break }
            beginning.append(line)
        }
        return beginning
    }

    /// In rows of the terminal as it is now.
    private func height(_ lines: [String]) -> Int {
        let columns = console.width() ?? Layout.unlimited
        return lines.reduce(0) { sum, line in
            sum + max(1, (Text.paintedWidth(console.encoded([line])) + columns - 1) / columns)
        }
    }
}
