/// The file name under which an asset is shown to the cloud (upload.md C-50).
enum WireName {
    private static let longest = 200

    /// A name without path separators, quotes and control characters, at most 200 UTF-8 bytes, cut between
    /// scalars and before the extension. Falls back to the asset's id where nothing is left.
    static func from(_ original: String, asset: AssetID) -> String {
        let safe = String(String.UnicodeScalarView(original.unicodeScalars.filter(isSafe)))
        let name = trimmed(safe)
        guard !name.isEmpty else { return asset.text }
        guard name.utf8.count > longest else { return name }
        let suffix = fileExtension(of: name)
        return cut(name, to: longest - suffix.utf8.count) + suffix
    }

    private static func isSafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse:
            false
        default: !"\"'\\/:*?<>|%;".unicodeScalars.contains(scalar)
        }
    }

    private static func trimmed(_ name: String) -> String {
        let isEdge: (Character) -> Bool = { $0 == "." || $0.isWhitespace }
        let head = name.drop(while: isEdge)
        guard let last = head.lastIndex(where: { !isEdge($0) }) else { return "" }
        return String(head[...last])
    }

    private static func fileExtension(of name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "" }
        let suffix = name[dot...]
        return suffix.utf8.count <= 16 ? String(suffix) : ""
    }

    private static func cut(_ name: String, to bytes: Int) -> String {
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in name.unicodeScalars {
            count += UTF8.width(scalar)
            if count > bytes { break }
            result.append(scalar)
        }
        return trimmed(String(result))
    }
}
