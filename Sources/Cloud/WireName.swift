/// File names as they may travel in a multipart header (C-50). The original stays with the queue; the name
/// that the server returns is never compared.
package enum WireName {
    private static let maximumBytes = 200

    /// No quotes, slashes, backslashes or control characters, at most 200 bytes cut between scalars with the
    /// extension kept, never empty, never `.` or `..`, never hidden.
    package static func sanitize(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\", "/", "\u{7F}", "\u{2028}", "\u{2029}": scalars.append("_")
            case _ where scalar.value < 0x20 || (0x80...0x9F).contains(scalar.value): scalars.append("_")
            // Text direction marks could make a name read as another.
            case _ where scalar.properties.generalCategory == .format: continue
            default: scalars.append(scalar)
            }
        }
        let clean = String(scalars).drop { $0 == "." || $0 == " " }
        let stem = String(clean).isEmpty ? "file" : String(clean)
        return shortened(stem, to: maximumBytes)
    }

    /// The name cut between scalars to at most `limit` UTF-8 bytes, with an extension of up to 16 bytes kept.
    package static func shortened(_ name: String, to limit: Int) -> String {
        guard name.utf8.count > limit else { return name }
        var suffix = ""
        if let dot = name.lastIndex(of: "."), name[dot...].utf8.count <= 16 { suffix = String(name[dot...]) }
        var result = String.UnicodeScalarView()
        var room = limit - suffix.utf8.count
        for scalar in name.unicodeScalars {
            let size = String(scalar).utf8.count
            guard size <= room else { break }
            result.append(scalar)
            room -= size
        }
        return String(result) + suffix
    }
}
