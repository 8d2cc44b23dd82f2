/// A name from outside made harmless: one line of text that is no path, cannot redirect a terminal and
/// has at most 120 bytes. For people and for the cloud; files are never named by it.
package struct SafeName: Sendable, Hashable, CustomStringConvertible {
    /// The most bytes of UTF-8 that a name keeps, as OTS allows them.
    package static let maximumBytes = 120

    /// The harmless text; never empty.
    package let text: String

    /// Makes `raw` harmless: controls, format and bidirectional characters go, `/`, `\` and line breaks
    /// become `_`, runs of spaces one, leading dots go. What is then empty becomes `fallback`.
    package init(_ raw: String, fallback: String, maximumBytes: Int = SafeName.maximumBytes) {
        // A hostile name cannot make this loop long: four bytes of input per byte kept are enough.
        let scalars = raw.unicodeScalars.prefix(maximumBytes * 4)
        var kept = ""
        var bytes = 0
        for scalar in scalars {
            guard let scalar = Self.harmless(scalar) else { continue }
            if scalar == " ", kept.isEmpty || kept.unicodeScalars.last == " " { continue }
            if scalar == ".", kept.isEmpty { continue }
            let length = UTF8.width(scalar)
            guard bytes + length <= maximumBytes else { break }
            kept.unicodeScalars.append(scalar)
            bytes += length
        }
        while kept.unicodeScalars.last == " " { kept.unicodeScalars.removeLast() }
        text = kept.isEmpty ? fallback : kept
    }

    package var description: String { text }

    private static func harmless(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar.properties.generalCategory {
        case .control where scalar == "\n" || scalar == "\r" || scalar == "\t": return " "
        case .control, .surrogate, .unassigned, .privateUse: return nil
        // A joiner belongs to emoji and to several scripts; all else of the category is invisible or bidi.
        case .format: return scalar == "\u{200D}" || scalar == "\u{200C}" ? scalar : nil
        case .lineSeparator, .paragraphSeparator, .spaceSeparator: return " "
        default: return scalar == "/" || scalar == "\\" ? "_" : scalar
        }
    }
}
