/// Why the simulated recorder cannot be as it was asked to be.
package struct RecorderModelError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// A captures folder, or a file in it, cannot be used.
        case captures
        /// The state file cannot be read or written.
        case state
        /// A fault is not written as it should be.
        case fault
    }

    package let code: Code
    /// What happened, for a person.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}
