/// A name that people give to things, and that they and others are shown.
package enum DisplayName {
    /// What is wrong with it, in words that come after it; nil: nothing.
    package static func problem(with name: String) -> String? {
        guard (1...64).contains(name.count), name.utf8.count <= 256 else {
            return "has 1 to 64 characters, in at most 256 bytes"
        }
        guard name.unicodeScalars.contains(where: isSeen) else { return "needs a character that can be seen" }
        guard name.first?.isWhitespace == false, name.last?.isWhitespace == false else {
            return "does not begin or end with a space"
        }
        guard !name.unicodeScalars.contains(where: isDeceiving) else {
            return "has no control characters, and none that turn or hide what stands beside them"
        }
        return nil
    }

    private static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        let properties = scalar.properties
        return !properties.isWhitespace && !properties.isDefaultIgnorableCodePoint
            && ![.control, .format, .unassigned, .surrogate, .privateUse].contains(properties.generalCategory)
    }

    /// Emoji are joined by U+200D and shaped by U+FE0F, which are let through.
    private static func isDeceiving(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .surrogate: true
        case .format: scalar.value != 0x200D
        default: false
        }
    }
}
