import EventLoop
import Testing

@testable import celestiad

@Suite struct LiveAreaTests {
    /// A terminal whose size changes, and what is written to it.
    private final class Terminal: Sendable {
        let size: Locked<(columns: Int, rows: Int)>
        private let written = Locked("")

        init(columns: Int, rows: Int) {
            size = Locked((columns, rows))
        }

        func area(hasUnicode: Bool = true) -> LiveArea {
            var console = Console(
                write: { text in self.written.withLock { $0 += text } }, writeError: { _ in },
                input: ScriptedInput([]))
            console.hasUnicode = hasUnicode
            console.width = { self.size.withLock { $0.columns } }
            console.rows = { self.size.withLock { $0.rows } }
            return LiveArea(console, onError: false)
        }

        /// What was written since the last time.
        func take() -> String {
            written.withLock { text in
                defer { text = "" }
                return text
            }
        }
    }

    private static let clear = "\u{1B}[K\n\u{1B}[0J\u{1B}[A"
    private static let lines = ["a", "b", "c", "d", "e", "f"]

    @Test(
        arguments: [
            (7, 2, "a b c d e f"), (6, 2, "a b … 2 more lines e f"), (5, 2, "a … 3 more lines e f"),
            (4, 2, "a … 4 more lines e"), (3, 2, "a … 5 more lines"), (2, 2, "… 6 more lines"),
            (1, 2, "… 6 more lines"), (6, 0, "a b c d … 2 more lines"),
        ])
    func whatHasNoRoomIsLeftOutInTheMiddle(_ rows: Int, _ last: Int, _ shown: String) {
        let terminal = Terminal(columns: 80, rows: rows)
        var area = terminal.area()
        area.draw(Self.lines, last: last)
        #expect(terminal.take().split(separator: "\n").joined(separator: " ") == shown)
    }

    @Test func itGoesBackOverLinesThatTheTerminalHasWrapped() {
        let terminal = Terminal(columns: 12, rows: 24)
        var area = terminal.area()
        area.draw(["\u{1B}[33m0123456789\u{1B}[0m", ""])
        #expect(terminal.take() == "\u{1B}[33m0123456789\u{1B}[0m\n\n")
        terminal.size.withLock { $0.columns = 4 }
        area.draw(["x"])
        #expect(terminal.take() == "\u{1B}[4A\(Self.clear)x\n")
        area.erase()
        #expect(terminal.take() == "\u{1B}[1A\(Self.clear)")
        area.erase()
        #expect(terminal.take() == "")
    }

    @Test func linesThatAreWiderWithoutUnicodeAreCountedSo() {
        let terminal = Terminal(columns: 4, rows: 24)
        var area = terminal.area(hasUnicode: false)
        area.draw(["abc…"])
        area.erase()
        #expect(terminal.take() == "abc...\n\u{1B}[2A\(Self.clear)")
    }
}
