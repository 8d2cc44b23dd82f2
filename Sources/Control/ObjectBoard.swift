import DBus

/// Recorders and sessions as objects on the bus, with properties that tell of their changes.
actor ObjectBoard {
    private struct Object {
        let kind: ControlObject
        var values: [String: DBusValue]
    }

    /// What a call of an object's method leads to.
    typealias Answer =
        @Sendable (ControlObject, String, IncomingCall) async throws(ControlError) -> [DBusValue]

    private let connection: Connection
    private let answer: Answer
    private var objects: [ObjectPath: Object] = [:]

    init(connection: Connection, answer: @escaping Answer) {
        self.connection = connection
        self.answer = answer
    }

    /// Makes the bus show these, and nothing else: what is new is added, what is gone removed, what is different told.
    func show(_ documents: ControlObjects) async {
        var wanted: [ObjectPath: (id: String, object: Object)] = [:]
        for recorder in documents.recorders {
            wanted[ControlObject.recorder.path(of: recorder.id)] = (
                recorder.id, Object(kind: .recorder, values: Self.values(recorder, .recorder))
            )
        }
        for session in documents.sessions {
            wanted[ControlObject.session.path(of: session.id)] = (
                session.id, Object(kind: .session, values: Self.values(session, .session))
            )
        }
        for path in objects.keys where wanted[path] == nil {
            objects[path] = nil
            try? await connection.unexport(path)
        }
        for (path, (id, object)) in wanted {
            guard let before = objects.updateValue(object, forKey: path) else {
                try? await connection.export(exported(path, object.kind, id))
                continue
            }
            let changed = object.values.filter { before.values[$0.key] != $0.value }
            let gone = before.values.keys.filter { object.values[$0] == nil }.sorted()
            guard !changed.isEmpty || !gone.isEmpty else { continue }
            try? await connection.emitPropertiesChanged(
                path, object.kind.interface, changed, invalidated: gone)
        }
    }

    /// Takes all of them off the bus.
    func clear() async {
        for path in objects.keys { try? await connection.unexport(path) }
        objects = [:]
    }

    private func value(_ path: ObjectPath, _ property: String) -> DBusValue? {
        objects[path]?.values[property]
    }

    private func exported(_ path: ObjectPath, _ kind: ControlObject, _ id: String) -> ExportedObject {
        let properties = kind.properties.map { property in
            ExportedProperty(property.name, property.type) { [weak self] in
                await self?.value(path, property.name)
            }
        }
        let methods = kind.methods.map { method in
            ExportedMethod(method.name, in: method.inputs, out: method.outputs) {
                [answer] call throws(DBusError) in
                do throws(ControlError) {
                    return try await answer(kind, id, call)
                } catch {
                    throw error.dbus
                }
            }
        }
        return ExportedObject(
            path,
            [ExportedInterface(kind.interface, methods: methods, properties: properties, xml: kind.xml)])
    }

    /// The fields of a document by the names of the properties.
    static func values(_ document: some Encodable, _ kind: ControlObject) -> [String: DBusValue] {
        guard let fields = try? DocumentCoding.value(document).asProperties else { return [:] }
        let named = Dictionary(uniqueKeysWithValues: fields.map { (propertyName($0.key), $0.value) })
        let known = Set(kind.properties.map(\.name))
        return named.filter { known.contains($0.key) }
    }

    /// `last_seen` is LastSeen.
    private static func propertyName(_ key: String) -> String {
        key.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

extension ControlObject {
    var methods: [(name: String, inputs: [ExportedArgument], outputs: [ExportedArgument])] {
        switch self {
        case .recorder: RecorderMethod.allCases.map { ($0.rawValue, $0.inputs, $0.outputs) }
        case .session: SessionMethod.allCases.map { ($0.rawValue, $0.inputs, $0.outputs) }
        }
    }
}
