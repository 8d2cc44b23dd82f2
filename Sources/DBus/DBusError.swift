/// Why something on the bus did not work.
package struct DBusError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// There is no bus at the address, or it refused us.
        case cannotConnect
        /// The connection to the bus is gone; nothing on it will work again.
        case disconnected
        /// No reply came before the deadline, or the callee left without one.
        case noReply
        /// The callee answered with an error; `name` says which.
        case remote
        /// A value of ours does not fit the wire (path, name, signature, depth).
        case invalidArgument
        /// A message that came is not as its interface says.
        case malformed
        /// The calling task was cancelled.
        case cancelled
        /// The bus name belongs to somebody else.
        case nameTaken
    }

    package let code: Code
    /// The D-Bus error name, where the callee or the bus gave one.
    package let name: String
    /// What happened, for a person.
    package let message: String

    package init(_ code: Code, name: String = "", _ message: String) {
        self.code = code
        self.name = name
        self.message = message
    }

    /// An error to answer a method call with. `name` is a D-Bus error name.
    package static func remote(_ name: String, _ message: String) -> DBusError {
        DBusError(.remote, name: name, message)
    }

    package var description: String {
        name.isEmpty ? message : "\(message) (\(name))"
    }

    static let closed = DBusError(.disconnected, "the connection to the message bus is closed")
}

/// Error names of the D-Bus specification and libdbus that callers compare with.
package enum DBusErrorName {
    package static let failed = "org.freedesktop.DBus.Error.Failed"
    package static let noReply = "org.freedesktop.DBus.Error.NoReply"
    package static let disconnected = "org.freedesktop.DBus.Error.Disconnected"
    package static let unknownMethod = "org.freedesktop.DBus.Error.UnknownMethod"
    package static let unknownObject = "org.freedesktop.DBus.Error.UnknownObject"
    package static let unknownInterface = "org.freedesktop.DBus.Error.UnknownInterface"
    package static let unknownProperty = "org.freedesktop.DBus.Error.UnknownProperty"
    package static let propertyReadOnly = "org.freedesktop.DBus.Error.PropertyReadOnly"
    package static let invalidArgs = "org.freedesktop.DBus.Error.InvalidArgs"
    package static let accessDenied = "org.freedesktop.DBus.Error.AccessDenied"
    package static let limitsExceeded = "org.freedesktop.DBus.Error.LimitsExceeded"
    package static let serviceUnknown = "org.freedesktop.DBus.Error.ServiceUnknown"
    package static let nameHasNoOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"
}
