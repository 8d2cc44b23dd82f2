/// Why the daemon as a whole cannot do what it should.
package struct GatewayError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable, Hashable {
        /// A configuration value is not usable.
        case configuration
        /// What was asked for cannot be done as it was asked for.
        case invalidArgument
        /// There is no message bus.
        case noBus
        /// Another process has the daemon's name or its state directory.
        case alreadyRunning
        /// A file cannot be read or written.
        case storage
        /// There is no space left for it.
        case diskLow
        /// No such recorder, session or job.
        case notFound
        /// The adapter, the recorder or the account is not in a state for it.
        case notReady
        /// Something else has to end first.
        case busy
        /// The recorder or the cloud did not answer in time.
        case timeout
        /// The operation was given up by whoever asked for it.
        case cancelled
        /// The recorder refused, or the pairing failed.
        case refused
        /// Not logged in, or the login is not valid any more.
        case notLoggedIn
        /// The cloud cannot be reached or answers nonsense.
        case cloud
        /// A fault of the system below (descriptors, threads).
        case system
    }

    package let code: Code
    /// What happened and why, for a person.
    package let message: String
    /// What to do next.
    package let hint: String?

    package init(_ code: Code, _ message: String, hint: String? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
    }

    package var description: String {
        hint.map { "\(message). \($0)" } ?? message
    }
}
