private enum Standard {
    static let introspectable = "org.freedesktop.DBus.Introspectable"
    static let properties = "org.freedesktop.DBus.Properties"
    static let objectManager = "org.freedesktop.DBus.ObjectManager"
}

extension Connection {
    // MARK: Putting objects on the bus

    /// Makes `path` answer org.freedesktop.DBus.ObjectManager for the objects below it.
    package func exportObjectManager(at path: ObjectPath) {
        exports.managers.insert(path)
    }

    /// Puts an object on the bus, in place of any at the same path. Where an object manager is above it, the
    /// interfaces that it lost are announced with InterfacesRemoved and those that are new with InterfacesAdded.
    package func export(_ object: ExportedObject) async throws(DBusError) {
        let before = Set(exports.objects[object.path]?.interfaces.map(\.name) ?? [])
        exports.objects[object.path] = object
        guard let manager = exports.manager(of: object.path) else { return }
        let removed = before.subtracting(object.interfaces.map(\.name))
        if !removed.isEmpty {
            try emit(
                manager, Standard.objectManager, "InterfacesRemoved",
                [.objectPath(object.path), .strings(removed.sorted())])
        }
        let added = object.interfaces.filter { !before.contains($0.name) }
        guard !added.isEmpty else { return }
        let interfaces = await Self.interfaces(of: ExportedObject(object.path, added))
        try emit(manager, Standard.objectManager, "InterfacesAdded", [.objectPath(object.path), interfaces])
    }

    /// Takes an object off the bus and announces it with InterfacesRemoved.
    package func unexport(_ path: ObjectPath) throws(DBusError) {
        guard let object = exports.objects.removeValue(forKey: path) else { return }
        guard let manager = exports.manager(of: path) else { return }
        let names = DBusValue.strings(object.interfaces.map(\.name))
        try emit(manager, Standard.objectManager, "InterfacesRemoved", [.objectPath(path), names])
    }

    /// Announces new values of an exported object's properties; `invalidated` are those that it no longer has.
    package func emitPropertiesChanged(
        _ path: ObjectPath, _ interface: String, _ changed: [String: DBusValue], invalidated: [String] = []
    ) throws(DBusError) {
        try emit(
            path, Standard.properties, "PropertiesChanged",
            [.string(interface), .properties(changed), .strings(invalidated)])
    }

    // MARK: Answering

    func answer(
        _ call: IncomingCall, authorize: @Sendable (IncomingCall) async throws(DBusError) -> Void
    ) async -> Result<[DBusValue], DBusError> {
        do throws(DBusError) {
            if let refusal = call.refusal { throw .remote(DBusErrorName.invalidArgs, refusal) }
            // Before anything is said: the names of objects tell something, too.
            try await authorize(call)
            if let xml = introspection(call) { return .success([.string(xml)]) }
            switch call.interface {
            case Standard.properties: return .success(try await answerProperties(call))
            case Standard.objectManager where exports.managers.contains(call.path):
                return .success([await managedObjects(below: call.path)])
            default: return .success(try await invoke(call))
            }
        } catch {
            return .failure(error)
        }
    }

    private func invoke(_ call: IncomingCall) async throws(DBusError) -> [DBusValue] {
        let method = try exports.method(for: call)
        guard call.arguments.map(\.type) == method.inputs.map({ Optional($0.type) }) else {
            let wanted = method.inputs.map(\.type.signature).joined()
            throw .remote(DBusErrorName.invalidArgs, "\(call.member) takes arguments of type \"\(wanted)\"")
        }
        return try await method.handler(call)
    }

    private func answerProperties(_ call: IncomingCall) async throws(DBusError) -> [DBusValue] {
        guard let object = exports.objects[call.path] else {
            throw .remote(DBusErrorName.unknownObject, "there is no object at \(call.path)")
        }
        guard let name = call.arguments.first?.asString,
            let interface = object.interfaces.first(where: { $0.name == name })
        else { throw .remote(DBusErrorName.unknownInterface, "\(call.path) has no such interface") }
        switch (call.member, call.arguments.count) {
        case ("GetAll", 1):
            return [.properties(await interface.values())]
        case ("Get", 2):
            let property = try property(of: interface, in: call)
            guard let value = await property.get() else { throw unknownProperty(property.name, interface) }
            return [.variant(value)]
        case ("Set", 3):
            let property = try property(of: interface, in: call)
            guard let set = property.set else {
                throw .remote(DBusErrorName.propertyReadOnly, "\(property.name) is read-only")
            }
            guard case .variant(let value) = call.arguments[2], value.type == property.type else {
                throw .remote(
                    DBusErrorName.invalidArgs, "\(property.name) is of type \(property.type.signature)")
            }
            try await set(value, call)
            return []
        default:
            throw .remote(DBusErrorName.unknownMethod, "\(Standard.properties) has no such method")
        }
    }

    private func property(
        of interface: ExportedInterface, in call: IncomingCall
    ) throws(DBusError) -> ExportedProperty {
        let name = call.arguments[1].asString ?? ""
        guard let property = interface.properties.first(where: { $0.name == name }) else {
            throw unknownProperty(name, interface)
        }
        return property
    }

    private func unknownProperty(_ name: String, _ interface: ExportedInterface) -> DBusError {
        .remote(DBusErrorName.unknownProperty, "\(interface.name) has no property \(name)")
    }

    // MARK: ObjectManager

    private func managedObjects(below manager: ObjectPath) async -> DBusValue {
        var objects: [DBusValue: DBusValue] = [:]
        for object in exports.objects.values where object.path.isBelow(manager) {
            objects[.objectPath(object.path)] = await Self.interfaces(of: object)
        }
        return .dictionary(key: .objectPath, value: Self.interfacesType, objects)
    }

    private static let interfacesType = DBusType.dictionary(
        key: .string, value: .dictionary(key: .string, value: .variant))

    private static func interfaces(of object: ExportedObject) async -> DBusValue {
        var interfaces: [DBusValue: DBusValue] = [:]
        for interface in object.interfaces {
            interfaces[.string(interface.name)] = .properties(await interface.values())
        }
        return .dictionary(key: .string, value: .dictionary(key: .string, value: .variant), interfaces)
    }

    // MARK: Introspection

    /// The reply to Introspect, or nil when the call is another.
    private func introspection(_ call: IncomingCall) -> String? {
        guard call.member == "Introspect",
            call.interface.isEmpty || call.interface == Standard.introspectable,
            exports.exists(call.path)
        else { return nil }
        var parts = [
            """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>
            """
        ]
        parts += (exports.objects[call.path]?.interfaces ?? []).map(\.introspection)
        parts.append(Self.standardInterfaces(hasManager: exports.managers.contains(call.path)))
        parts += exports.children(of: call.path).map { "<node name=\"\($0)\"/>" }
        return (parts + ["</node>"]).joined(separator: "\n") + "\n"
    }

    private static func standardInterfaces(hasManager: Bool) -> String {
        var interfaces = [
            ExportedInterface(
                Standard.introspectable,
                methods: [ExportedMethod("Introspect", out: [ExportedArgument("xml", .string)], unreachable)]),
            ExportedInterface(
                Standard.properties,
                methods: [
                    ExportedMethod(
                        "Get",
                        in: [ExportedArgument("interface", .string), ExportedArgument("name", .string)],
                        out: [ExportedArgument("value", .variant)], unreachable),
                    ExportedMethod(
                        "GetAll", in: [ExportedArgument("interface", .string)],
                        out: [ExportedArgument("values", .dictionary(key: .string, value: .variant))],
                        unreachable),
                    ExportedMethod(
                        "Set",
                        in: [
                            ExportedArgument("interface", .string), ExportedArgument("name", .string),
                            ExportedArgument("value", .variant),
                        ], unreachable),
                ],
                signals: [
                    ExportedSignal(
                        "PropertiesChanged",
                        [
                            ExportedArgument("interface", .string),
                            ExportedArgument("changed", .dictionary(key: .string, value: .variant)),
                            ExportedArgument("invalidated", .array(.string)),
                        ])
                ]),
        ]
        if hasManager {
            let objects = DBusType.dictionary(key: .objectPath, value: interfacesType)
            interfaces.append(
                ExportedInterface(
                    Standard.objectManager,
                    methods: [
                        ExportedMethod(
                            "GetManagedObjects", out: [ExportedArgument("objects", objects)], unreachable)
                    ],
                    signals: [
                        ExportedSignal(
                            "InterfacesAdded",
                            [
                                ExportedArgument("object", .objectPath),
                                ExportedArgument("interfaces", interfacesType),
                            ]),
                        ExportedSignal(
                            "InterfacesRemoved",
                            [
                                ExportedArgument("object", .objectPath),
                                ExportedArgument("interfaces", .array(.string)),
                            ]),
                    ]))
        }
        return interfaces.map(\.introspection).joined(separator: "\n")
    }

    /// The standard interfaces are answered above; these declarations are for introspection alone.
    private static let unreachable: ExportedMethod.Handler = { _ throws(DBusError) in
        throw .remote(DBusErrorName.unknownMethod, "not callable")
    }
}
