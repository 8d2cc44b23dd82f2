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
}
