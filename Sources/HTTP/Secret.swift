/// A token or password: usable, but never shown by accident.
///
/// Every printed, interpolated, dumped or reflected form is `<redacted>`.
package struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: String

    package init(_ value: String) {
        self.value = value
    }

    /// The text itself, for the wire or the credentials file only.
    package func reveal() -> String { value }

    package var isEmpty: Bool { value.isEmpty }
    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
