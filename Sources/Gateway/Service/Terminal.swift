/// Text from outside, made fit to be shown.
package enum Terminal {
    /// `text` without control, format and bidirectional characters, cut at `limit` characters.
    package static func printable(_ text: String, limit: Int = 120) -> String {
        var shown = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
                shown.append("\u{FFFD}")
            default:
                shown.append(scalar)
            }
        }
        let clean = String(shown)
        return clean.count > limit ? clean.prefix(limit - 1) + "…" : clean
    }

    /// A number and what is counted.
    package static func count(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
        "\(number) \(number == 1 ? singular : plural ?? singular + "s")"
    }

    /// A word as it is typed into a shell, whatever is in it: what advice names may have been named by somebody else.
    package static func shellWord(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "/._-+:@".utf8.contains(byte)
            }
        return isPlain ? text : "'\(text.replacing("'", with: "'\\''"))'"
    }
}
