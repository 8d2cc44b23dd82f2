internal import DBus

/// The properties of every object on the bus, by object, interface and name.
struct PropertyTable {
    private var values: [ObjectPath: [String: [String: DBusValue]]] = [:]

    func value(_ path: ObjectPath, _ interface: String, _ name: String) -> DBusValue? {
        values[path]?[interface]?[name]
    }

    mutating func define(_ path: ObjectPath, _ interface: String, _ properties: [String: DBusValue]) {
        values[path, default: [:]][interface] = properties
    }

    mutating func remove(_ path: ObjectPath) {
        values[path] = nil
    }

    mutating func remove(_ path: ObjectPath, _ interface: String) {
        values[path]?[interface] = nil
    }

    mutating func removeAll() {
        values = [:]
    }

    /// Takes new values, nil for a property that the object no longer has. Returns those that differ from before.
    mutating func change(
        _ path: ObjectPath, _ interface: String, _ changes: [String: DBusValue?]
    ) -> (changed: [String: DBusValue], invalidated: [String]) {
        guard var properties = values[path]?[interface] else { return ([:], []) }
        var changed: [String: DBusValue] = [:]
        var invalidated: [String] = []
        for (name, value) in changes where properties[name] != value {
            properties[name] = value
            if let value { changed[name] = value } else { invalidated.append(name) }
        }
        values[path]?[interface] = properties
        return (changed, invalidated.sorted())
    }
}

/// One interface of an object to publish.
struct PublishedInterface {
    let name: String
    let types: KeyValuePairs<String, DBusType>
    var setters: [String: ExportedProperty.Setter] = [:]
    var methods: [ExportedMethod] = []
    let values: [String: DBusValue]
}
