package import Dates

/// A moment as a recorder wrote it. The text is kept, because people are shown it; the instant is for ordering.
package struct WrittenTime: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The text as it was sent.
    package let text: String
    /// What it says.
    package let timestamp: Timestamp

    /// Nil for what is no RFC 3339 time.
    package init?(_ text: String) {
        guard let timestamp = Timestamp(text) else { return nil }
        (self.text, self.timestamp) = (text, timestamp)
    }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool { left.timestamp < right.timestamp }
}
