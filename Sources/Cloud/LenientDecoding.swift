extension KeyedDecodingContainer {
    /// The value, or nil when it is absent, null or of another shape (C-13).
    func lenient<Value: Decodable>(_ type: Value.Type, _ key: Key) -> Value? {
        (try? decodeIfPresent(type, forKey: key)) ?? nil
    }
}

/// An array of which one unreadable element does not cost the others (C-8).
struct LenientArray<Element: Decodable>: Decodable {
    let elements: [Element]
    let unreadableCount: Int

    /// Decodes anything at all, to step over it.
    private struct Skipped: Decodable {
        init(from decoder: any Decoder) throws {}
    }

    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        var elements: [Element] = []
        var unreadable = 0
        while !container.isAtEnd {
            if let element = try? container.decode(Element.self) {
                elements.append(element)
            } else {
                _ = try container.decode(Skipped.self)
                unreadable += 1
            }
        }
        self.elements = elements
        unreadableCount = unreadable
    }
}

extension LenientArray: Sendable where Element: Sendable {}
