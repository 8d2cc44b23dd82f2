/// The path of an object on the bus (specification, section "Valid Object Paths").
package struct ObjectPath: Sendable, Hashable, Comparable, CustomStringConvertible {
    package let text: String

    /// Nil when `text` is not a valid object path.
    package init?(_ text: String) {
        guard Self.isValid(text) else { return nil }
        self.text = text
    }

    /// A path known to be valid because libdbus delivered it or the program spells it out.
    package init(trusted text: String) {
        assert(Self.isValid(text), "\(text) is not an object path")
        self.text = text
    }

    package static let root = ObjectPath(trusted: "/")

    /// The path's elements; none for the root.
    package var components: [Substring] {
        text.split(separator: "/")
    }

    /// The last element; empty for the root.
    package var name: String {
        components.last.map(String.init) ?? ""
    }

    /// Whether this path lies below `ancestor`: compared by element, so that hci10 is not below hci1.
    package func isBelow(_ ancestor: ObjectPath) -> Bool {
        ancestor == .root ? self != .root : text.hasPrefix(ancestor.text + "/")
    }

    /// The path with one more element, which must be of letters, digits and underscores.
    package func appending(_ element: String) -> ObjectPath {
        ObjectPath(trusted: self == .root ? "/\(element)" : "\(text)/\(element)")
    }

    package var description: String { text }

    package static func < (left: ObjectPath, right: ObjectPath) -> Bool {
        left.text < right.text
    }

    private static func isValid(_ text: String) -> Bool {
        guard text.utf8.first == UInt8(ascii: "/") else { return false }
        guard text != "/" else { return true }
        return text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            .allSatisfy { element in
                !element.isEmpty
                    && element.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }
}
