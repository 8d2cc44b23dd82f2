/// One argument of a method or signal, for introspection.
package struct ExportedArgument: Sendable, Hashable {
    let name: String
    let type: DBusType

    package init(_ name: String, _ type: DBusType) {
        self.name = name
        self.type = type
    }
}

/// A method that an object answers.
package struct ExportedMethod: Sendable {
    package typealias Handler = @Sendable (IncomingCall) async throws(DBusError) -> [DBusValue]

    let name: String
    let inputs: [ExportedArgument]
    let outputs: [ExportedArgument]
    let handler: Handler

    /// A call reaches `handler` only with arguments of exactly the types of `inputs`; its values must have the types
    /// of `outputs`.
    package init(
        _ name: String, in inputs: [ExportedArgument] = [], out outputs: [ExportedArgument] = [],
        _ handler: @escaping Handler
    ) {
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.handler = handler
    }
}

/// A property of an object, read when it is asked for.
package struct ExportedProperty: Sendable {
    package typealias Setter = @Sendable (DBusValue, IncomingCall) async throws(DBusError) -> Void

    let name: String
    let type: DBusType
    let get: @Sendable () async -> DBusValue?
    let set: Setter?

    /// `get` returns nil while the object does not have the property.
    package init(
        _ name: String, _ type: DBusType, set: Setter? = nil, get: @escaping @Sendable () async -> DBusValue?
    ) {
        self.name = name
        self.type = type
        self.get = get
        self.set = set
    }
}

/// A signal that an object may send, for introspection.
package struct ExportedSignal: Sendable {
    let name: String
    let arguments: [ExportedArgument]

    package init(_ name: String, _ arguments: [ExportedArgument] = []) {
        self.name = name
        self.arguments = arguments
    }
}

/// An interface of an exported object.
package struct ExportedInterface: Sendable {
    package let name: String
    let methods: [ExportedMethod]
    let properties: [ExportedProperty]
    let signals: [ExportedSignal]
    /// The interface's own introspection XML (an `<interface>` element), where it is the source; otherwise it is
    /// generated from the members.
    let xml: String?

    package init(
        _ name: String, methods: [ExportedMethod] = [], properties: [ExportedProperty] = [],
        signals: [ExportedSignal] = [], xml: String? = nil
    ) {
        self.name = name
        self.methods = methods
        self.properties = properties
        self.signals = signals
        self.xml = xml
    }

    /// The properties that the object has now.
    func values() async -> [String: DBusValue] {
        var values: [String: DBusValue] = [:]
        for property in properties { values[property.name] = await property.get() }
        return values
    }

    /// The interface as introspection XML (specification, section "Introspection Data Format").
    package var introspection: String {
        if let xml { return xml }
        var lines = ["<interface name=\"\(name)\">"]
        for method in methods {
            lines.append("<method name=\"\(method.name)\">")
            lines += method.inputs.map { Self.argument($0, " direction=\"in\"") }
            lines += method.outputs.map { Self.argument($0, " direction=\"out\"") }
            lines.append("</method>")
        }
        for property in properties {
            let access = property.set == nil ? "read" : "readwrite"
            lines.append(
                "<property name=\"\(property.name)\" type=\"\(property.type.signature)\" access=\"\(access)\"/>"
            )
        }
        for signal in signals {
            lines.append("<signal name=\"\(signal.name)\">")
            lines += signal.arguments.map { Self.argument($0, "") }
            lines.append("</signal>")
        }
        return (lines + ["</interface>"]).joined(separator: "\n")
    }

    private static func argument(_ argument: ExportedArgument, _ direction: String) -> String {
        "<arg name=\"\(argument.name)\" type=\"\(argument.type.signature)\"\(direction)/>"
    }
}

/// An object to put on the bus.
package struct ExportedObject: Sendable {
    package let path: ObjectPath
    package let interfaces: [ExportedInterface]

    package init(_ path: ObjectPath, _ interfaces: [ExportedInterface]) {
        self.path = path
        self.interfaces = interfaces
    }
}

/// The objects that a connection exports.
struct ExportTable {
    var objects: [ObjectPath: ExportedObject] = [:]
    /// Paths that answer org.freedesktop.DBus.ObjectManager for everything below them.
    var managers: Set<ObjectPath> = []

    func exists(_ path: ObjectPath) -> Bool {
        objects[path] != nil || managers.contains(path) || !children(of: path).isEmpty
    }

    func manager(of path: ObjectPath) -> ObjectPath? {
        managers.filter { path.isBelow($0) }.max()
    }

    /// The names of the nodes right below `path`.
    func children(of path: ObjectPath) -> [String] {
        let depth = path.components.count
        let below = Set(objects.keys).union(managers).filter { $0.isBelow(path) }
        return Set(below.map { String($0.components[depth]) }).sorted()
    }

    /// The object's interface of that name, or, where the caller named none, the first that has the member.
    func method(for call: IncomingCall) throws(DBusError) -> ExportedMethod {
        guard let object = objects[call.path] else {
            throw .remote(DBusErrorName.unknownObject, "there is no object at \(call.path)")
        }
        let named = object.interfaces.filter { call.interface.isEmpty || $0.name == call.interface }
        guard !named.isEmpty else {
            throw .remote(DBusErrorName.unknownInterface, "\(call.path) has no interface \(call.interface)")
        }
        for interface in named {
            if let method = interface.methods.first(where: { $0.name == call.member }) { return method }
        }
        throw .remote(
            DBusErrorName.unknownMethod, "\(call.path) has no method \(call.interface).\(call.member)")
    }
}
