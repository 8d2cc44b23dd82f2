import DBus

/// What an input to the cache changed.
enum CacheEvent: Hashable {
    case adapter(ObjectPath)
    case device(ObjectPath)
    /// The device was heard just now.
    case advertisement(adapter: ObjectPath)
    /// Services or characteristics came or went.
    case attributes
    /// A characteristic has a new value, as a notification brings it.
    case value(ObjectPath, [UInt8])
}

/// The objects of org.bluez as its ObjectManager tells them: a mirror, never wiser than BlueZ. Bounded, because
/// the names and number of devices are up to whoever is near.
struct ObjectCache {
    /// Most devices kept. Where there are more, the oldest that is neither paired nor connected goes.
    static let mostDevices = 512
    /// Most services and characteristics kept, of all devices.
    static let mostAttributes = 4096

    enum Interface {
        static let adapter = "org.bluez.Adapter1"
        static let device = "org.bluez.Device1"
        static let battery = "org.bluez.Battery1"
        static let service = "org.bluez.GattService1"
        static let characteristic = "org.bluez.GattCharacteristic1"
        static let agentManager = "org.bluez.AgentManager1"
    }

    private(set) var adapters: [ObjectPath: Adapter] = [:]
    private(set) var devices: [ObjectPath: Device] = [:]
    private(set) var services: [ObjectPath: GATTService] = [:]
    private(set) var characteristics: [ObjectPath: GATTCharacteristic] = [:]
    /// In order of arrival, for eviction.
    private var arrivals: [ObjectPath] = []

    // MARK: Inputs

    init() {}

    /// Takes a reply of GetManagedObjects as all there is. Throws `malformed` when it is not one.
    init(managed: DBusValue?) throws(BlueZError) {
        _ = try merge(managed)
    }

    /// Takes a reply of GetManagedObjects in addition to what is known.
    mutating func merge(_ managed: DBusValue?) throws(BlueZError) -> [CacheEvent] {
        guard let objects = managed?.asDictionary else {
            throw BlueZError(.malformed, "bluetoothd's reply to GetManagedObjects is not a list of objects")
        }
        var events: [CacheEvent] = []
        for (path, interfaces) in objects {
            guard let path = path.asObjectPath else { continue }
            // A device that is merely known was not heard.
            events += added(path, interfaces).filter { if case .advertisement = $0 { false } else { true } }
        }
        return events
    }

    /// InterfacesAdded: interfaces by name, each with its properties.
    mutating func added(_ path: ObjectPath, _ interfaces: DBusValue) -> [CacheEvent] {
        var events: [CacheEvent] = []
        let entries = (interfaces.asDictionary ?? [:]).compactMap { name, properties in
            name.asString.map { ($0, properties.asProperties ?? [:]) }
        }
        // Battery1 is kept in its device, which must be there first.
        for (name, properties) in entries.sorted(by: { $0.0 > $1.0 }) {
            guard insert(path, name) else { continue }
            events += apply(name, to: path, PropertyReader(properties))
            if name == Interface.device, let device = devices[path] {
                events.append(.advertisement(adapter: device.adapter))
            }
        }
        return events
    }

    /// InterfacesRemoved. With an adapter or a device goes everything below it, whatever order BlueZ tells it in.
    mutating func removed(_ path: ObjectPath, _ interfaces: [String]) -> [CacheEvent] {
        var events: [CacheEvent] = []
        for interface in interfaces.prefix(PropertyReader.longestList) {
            switch interface {
            case Interface.adapter:
                guard adapters.removeValue(forKey: path) != nil else { continue }
                events.append(.adapter(path))
                for device in devices.keys.filter({ $0.isBelow(path) }) { events += remove(device: device) }
            case Interface.device:
                events += remove(device: path)
            case Interface.battery:
                devices[path]?.dropBattery()
                events.append(.device(path))
            case Interface.service:
                services[path] = nil
                events.append(.attributes)
            case Interface.characteristic:
                characteristics[path] = nil
                events.append(.attributes)
            default: break
            }
        }
        return events
    }

    /// PropertiesChanged.
    mutating func changed(
        _ path: ObjectPath, _ interface: String, _ properties: [String: DBusValue], invalidated: [String]
    ) -> [CacheEvent] {
        var events = apply(interface, to: path, PropertyReader(properties, invalidated: invalidated))
        if interface == Interface.device, let device = devices[path],
            properties.keys.contains(where: Self.advertised.contains)
        {
            events.append(.advertisement(adapter: device.adapter))
        }
        if interface == Interface.characteristic, characteristics[path] != nil,
            let value = properties["Value"]?.asBytes, value.count <= PropertyReader.longestValue
        {
            events.append(.value(path, value))
        }
        return events
    }

    /// Properties that change because an advertisement was heard.
    private static let advertised: Set<String> = [
        "RSSI", "TxPower", "ManufacturerData", "ServiceData", "AdvertisingFlags", "AdvertisingData",
    ]

    // MARK: Storage

    /// Makes room for an interface that is new; false when it is none of ours or there is no room.
    private mutating func insert(_ path: ObjectPath, _ interface: String) -> Bool {
        switch interface {
        case Interface.adapter:
            if adapters[path] == nil { adapters[path] = Adapter(path: path) }
        case Interface.device:
            guard devices[path] == nil else { return true }
            if devices.count >= Self.mostDevices, !evict() { return false }
            devices[path] = Device(path: path)
            arrivals.append(path)
        case Interface.service, Interface.characteristic:
            guard services[path] == nil, characteristics[path] == nil else { return true }
            guard services.count + characteristics.count < Self.mostAttributes else { return false }
            if interface == Interface.service {
                services[path] = GATTService(path: path)
            } else {
                characteristics[path] = GATTCharacteristic(path: path)
            }
        case Interface.battery: return devices[path] != nil
        default: return false
        }
        return true
    }

    private mutating func apply(
        _ interface: String, to path: ObjectPath, _ reader: PropertyReader
    ) -> [CacheEvent] {
        switch interface {
        case Interface.adapter where adapters[path] != nil:
            adapters[path]?.apply(reader)
            return [.adapter(path)]
        case Interface.device where devices[path] != nil:
            devices[path]?.apply(reader)
            return [.device(path)]
        case Interface.battery where devices[path] != nil:
            devices[path]?.applyBattery(reader)
            return [.device(path)]
        case Interface.service where services[path] != nil:
            services[path]?.apply(reader)
            return [.attributes]
        case Interface.characteristic where characteristics[path] != nil:
            let before = characteristics[path]
            characteristics[path]?.apply(reader)
            // A mere new value is no news to anyone but its subscribers.
            return before == characteristics[path] ? [] : [.attributes]
        default:
            return []
        }
    }

    private mutating func evict() -> Bool {
        let victim = arrivals.first { path in
            guard let device = devices[path] else { return false }
            return device.isPaired != true && device.isConnected != true
        }
        guard let victim else { return false }
        _ = remove(device: victim)
        return true
    }

    private mutating func remove(device path: ObjectPath) -> [CacheEvent] {
        guard devices.removeValue(forKey: path) != nil else { return [] }
        arrivals.removeAll { $0 == path }
        services = services.filter { !$0.key.isBelow(path) }
        characteristics = characteristics.filter { !$0.key.isBelow(path) }
        return [.device(path), .attributes]
    }

    // MARK: Questions

    func adapter(address: String) -> Adapter? {
        adapters.values.first { $0.address == address }
    }

    /// The characteristic with these UUIDs on a device now; the first in BlueZ's order where there are several.
    func characteristic(_ address: CharacteristicAddress, of device: ObjectPath) -> GATTCharacteristic? {
        characteristics.values
            .filter { characteristic in
                characteristic.uuid == address.characteristic && characteristic.path.isBelow(device)
                    && services[characteristic.service]?.uuid == address.service
            }
            .min { $0.path < $1.path }
    }

    /// Which of `uuids` no service or characteristic of the device has.
    func missing(_ uuids: Set<String>, of device: ObjectPath) -> Set<String> {
        let offered =
            services.values.filter { $0.path.isBelow(device) }.map(\.uuid)
            + characteristics.values.filter { $0.path.isBelow(device) }.map(\.uuid)
        return uuids.subtracting(offered.compactMap(\.self))
    }
}
