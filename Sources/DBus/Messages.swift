/// A method call to make.
package struct MethodCall: Sendable, Hashable {
    package var destination: String
    package var path: ObjectPath
    package var interface: String
    package var member: String
    package var arguments: [DBusValue]
    /// Whether the bus may start the service to answer the call.
    package var mayStartService: Bool

    package init(
        _ destination: String, _ path: ObjectPath, _ interface: String, _ member: String,
        _ arguments: [DBusValue] = [], mayStartService: Bool = false
    ) {
        self.destination = destination
        self.path = path
        self.interface = interface
        self.member = member
        self.arguments = arguments
        self.mayStartService = mayStartService
    }
}

/// A signal that came.
package struct Signal: Sendable, Hashable {
    /// The sender's unique name.
    package let sender: String
    package let path: ObjectPath
    package let interface: String
    package let member: String
    package let arguments: [DBusValue]
}

/// A method call that came for an exported object.
package struct IncomingCall: Sendable, Hashable {
    /// The caller's unique name.
    package let sender: String
    package let path: ObjectPath
    /// Empty when the caller named none.
    package let interface: String
    package let member: String
    package let arguments: [DBusValue]
    let serial: UInt32
    let expectsReply: Bool
    /// Why its arguments could not be taken.
    var refusal: String?
}

/// What happens to one name on the bus, in order.
package enum NameEvent: Sendable, Hashable {
    /// The name has this owner now (nil: none). Comes first, on every change, and again when signals were lost
    /// because they came faster than they were read: whatever was known of the name's objects is void.
    case owner(String?)
    /// The owner sent a signal.
    case signal(Signal)
}
