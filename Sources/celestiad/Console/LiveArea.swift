/// Lines at the end of a terminal that are drawn again and again in the same place.
struct LiveArea {
    private let write: @Sendable (String) -> Void
    private let encode: ([String]) -> String
    private var height = 0

    /// On standard output, or on standard error beside the data.
    init(_ console: Console, onError: Bool) {
        write = onError ? console.writeError : console.write
        encode = console.encoded
    }

    /// Replaces what was drawn before. Lines must fit the terminal's width.
    mutating func draw(_ lines: [String]) {
        let clear = height > 0 ? "\u{1B}[\(height)A\u{1B}[0J" : ""
        write(clear + encode(lines))
        height = lines.count
    }

    /// Removes what was drawn.
    mutating func erase() {
        guard height > 0 else { return }
        write("\u{1B}[\(height)A\u{1B}[0J")
        height = 0
    }
}
