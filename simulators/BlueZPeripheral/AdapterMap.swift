internal import DBus

/// What bluetoothd knows of one adapter and of the hubs that ever met it.
struct AdapterMap {
    struct Hub: Hashable {
        var address: String
        /// `public` or `random`.
        var addressType = "public"
        var isConnected = false
        var isPaired = false
    }

    /// What to do after a change.
    enum Action: Hashable {
        /// The adapter is there and on: everything is to be registered with it.
        case adapterReady
        /// The adapter is there, but off.
        case adapterOff
        /// The adapter, or bluetoothd, has gone.
        case adapterGone
        case connected(ObjectPath)
        case disconnected(ObjectPath)
        /// A hub has bonded, or its bond has gone.
        case bondChanged(ObjectPath, address: String, isBonded: Bool)
    }

    let path: ObjectPath
    private(set) var address = ""
    /// `public` or `random`.
    private(set) var addressType = "public"
    private(set) var hubs: [ObjectPath: Hub] = [:]

    init(name: String) {
        path = BlueZNames.root.appending(name)
    }

    /// Takes everything that bluetoothd has (GetManagedObjects).
    mutating func replace(with objects: [ObjectPath: [String: [String: DBusValue]]]) -> [Action] {
        var actions = clear()
        for (path, interfaces) in objects.sorted(by: { $0.key < $1.key }) {
            for (interface, values) in interfaces { actions += update(path, interface, values) }
        }
        return actions
    }

    /// Bluetoothd has gone, and everything with it.
    mutating func clear() -> [Action] {
        defer { hubs = [:] }
        return hubs.filter(\.value.isConnected).keys.map { .disconnected($0) } + [.adapterGone]
    }

    mutating func handle(_ signal: Signal) -> [Action] {
        switch (signal.interface, signal.member) {
        case (BlueZNames.objectManager, "InterfacesAdded"):
            guard let path = signal.arguments.first?.asObjectPath,
                let interfaces = signal.arguments.last?.asDictionary
            else { return [] }
            return interfaces.flatMap { name, values in
                update(path, name.asString ?? "", values.asProperties ?? [:])
            }
        case (BlueZNames.objectManager, "InterfacesRemoved"):
            guard let path = signal.arguments.first?.asObjectPath else { return [] }
            return remove(path, signal.arguments.last?.asStrings ?? [])
        case (BlueZNames.properties, "PropertiesChanged"):
            guard signal.arguments.count == 3, let interface = signal.arguments[0].asString else { return [] }
            return update(signal.path, interface, signal.arguments[1].asProperties ?? [:])
        default: return []
        }
    }

    private mutating func update(
        _ path: ObjectPath, _ interface: String, _ values: [String: DBusValue]
    ) -> [Action] {
        if path == self.path, interface == BlueZNames.adapter {
            address = values["Address"]?.asString ?? address
            addressType = values["AddressType"]?.asString ?? addressType
            return values["Powered"]?.asBool.map { [$0 ? .adapterReady : .adapterOff] } ?? []
        }
        guard interface == BlueZNames.device, path.isBelow(self.path) else { return [] }
        var hub = hubs[path] ?? Hub(address: Self.address(of: path))
        let before = hub
        hub.addressType = values["AddressType"]?.asString ?? hub.addressType
        hub.isPaired = values["Paired"]?.asBool ?? hub.isPaired
        hub.isConnected = values["Connected"]?.asBool ?? hub.isConnected
        hubs[path] = hub
        var actions: [Action] = []
        if hub.isPaired != before.isPaired {
            actions.append(.bondChanged(path, address: hub.address, isBonded: hub.isPaired))
        }
        if hub.isConnected != before.isConnected {
            actions.append(hub.isConnected ? .connected(path) : .disconnected(path))
        }
        return actions
    }

    private mutating func remove(_ path: ObjectPath, _ interfaces: [String]) -> [Action] {
        if path == self.path, interfaces.contains(BlueZNames.adapter) { return clear() }
        guard interfaces.contains(BlueZNames.device), let hub = hubs.removeValue(forKey: path) else {
            return []
        }
        return (hub.isConnected ? [.disconnected(path)] : [])
            + (hub.isPaired ? [.bondChanged(path, address: hub.address, isBonded: false)] : [])
    }

    /// dev_AA_BB_CC_DD_EE_FF
    private static func address(of path: ObjectPath) -> String {
        String(path.name.dropFirst(4).map { $0 == "_" ? ":" : $0 })
    }
}
