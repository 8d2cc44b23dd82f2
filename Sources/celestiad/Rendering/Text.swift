/// Text for a terminal: what it may contain, how wide it is. Pure.
enum Text {
    /// Text from outside without what could command a terminal or disguise itself: control characters, bidirectional
    /// overrides, line separators, and what Unicode calls a format character, save the joiner inside emoji.
    static func clean(_ text: String, limit: Int = 200) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars.prefix(limit) {
            scalars.append(isSafe(scalar) ? scalar : "\u{FFFD}")
        }
        return String(scalars) + (text.unicodeScalars.count > limit ? "…" : "")
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        case .format: scalar == "\u{200D}"
        default: true
        }
    }

    /// How many columns a terminal takes for it.
    static func width(_ text: String) -> Int {
        text.reduce(0) { $0 + width($1) }
    }

    /// The same of a line with colours in it.
    static func paintedWidth(_ line: String) -> Int {
        var isColor = false
        return line.reduce(0) { sum, character in
            if character == "\u{1B}" { isColor = true }
            defer { if character == "m" { isColor = false } }
            return isColor ? sum : sum + width(character)
        }
    }

    private static func width(_ character: Character) -> Int {
        guard let first = character.unicodeScalars.first else { return 0 }
        if first.isASCII { return first.value < 0x20 || first.value == 0x7F ? 0 : 1 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        let isEmoji =
            first.properties.isEmojiPresentation
            || character.unicodeScalars.contains { $0 == "\u{FE0F}" } && first.properties.isEmoji
        return isEmoji || wide.contains { $0.contains(first.value) } ? 2 : 1
    }

    /// East Asian Wide and Fullwidth (UAX #11), in blocks.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE4F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x20000...0x3FFFD,
    ]

    /// The beginning that fits, with a sign that something is missing.
    static func fit(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        guard columns > 0 else { return "" }
        var fitted = ""
        var used = 0
        for character in text {
            let needed = width(character)
            guard used + needed <= columns - 1 else { break }
            fitted.append(character)
            used += needed
        }
        return fitted + "…"
    }

    /// The beginning and the end that fit: names often differ only in their end.
    static func fitEnds(_ text: String, to columns: Int) -> String {
        guard width(text) > columns else { return text }
        var end = text.endIndex
        var used = 0
        while end > text.startIndex {
            let before = text.index(before: end)
            let needed = width(text[before])
            guard used + needed <= columns / 2 else { break }
            used += needed
            end = before
        }
        return fit(text, to: columns - used) + text[end...]
    }

    static func pad(_ text: String, to columns: Int, left: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, columns - width(text)))
        return left ? space + text : text + space
    }

    /// Lines of at most `width` columns, broken between words where there are any.
    static func wrap(_ text: String, width: Int) -> [String] {
        self.width(text) <= width
            ? [text] : flow(text.split(separator: " ").map(String.init), separator: " ", width: width)
    }

    /// Pieces on as few lines as they fit on; a piece that is wider than a line is broken between its words, a word
    /// that is wider within.
    static func flow(_ pieces: [String], separator: String, width columns: Int) -> [String] {
        var lines: [String] = []
        for piece in pieces {
            if width(piece) > columns {
                lines += piece.contains(" ") ? wrap(piece, width: columns) : broken(piece, columns)
            } else if let last = lines.last, width(last) + width(separator) + width(piece) <= columns {
                lines[lines.count - 1] = last + separator + piece
            } else {
                lines.append(piece)
            }
        }
        return lines.isEmpty ? [""] : lines
    }

    private static func broken(_ word: String, _ columns: Int) -> [String] {
        var lines = [""]
        var used = 0
        for character in word {
            let needed = width(character)
            if used > 0, used + needed > columns {
                lines.append("")
                used = 0
            }
            lines[lines.count - 1].append(character)
            used += needed
        }
        return lines
    }

    /// The same text for a terminal that knows no Unicode.
    static func ascii(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case _ where character.isASCII: result.append(character)
            case "·": result += "-"
            case "→": result += "->"
            case "…": result += "..."
            case "█": result += "#"
            case "░": result += "."
            case "–": result += "-"
            case "“", "”": result += "\""
            default: result += "?"
            }
        }
        return result
    }
}
