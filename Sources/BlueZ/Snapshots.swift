package import DBus

/// What BlueZ says of an adapter (org.bluez.Adapter1). Every property may be missing.
package struct Adapter: Sendable, Hashable, Identifiable {
    /// Where BlueZ has it now; changes when the adapter is plugged in again, so it is no identity.
    package let path: ObjectPath
    /// Its identity: "AA:BB:CC:DD:EE:FF".
    package private(set) var address: String?
    /// "public" or "random".
    package private(set) var addressType: String?
    package private(set) var name: String?
    package private(set) var alias: String?
    package private(set) var isPowered: Bool?
    /// "on", "off", "off-blocked" (rfkill) and transitions; BlueZ 5.82.
    package private(set) var powerState: String?
    package private(set) var isDiscovering: Bool?
    package private(set) var isPairable: Bool?

    package var id: String { address ?? path.text }

    init(path: ObjectPath) {
        self.path = path
    }

    mutating func apply(_ reader: PropertyReader) {
        reader.text("Address", &address)
        reader.text("AddressType", &addressType)
        reader.text("Name", &name)
        reader.text("Alias", &alias)
        reader.flag("Powered", &isPowered)
        reader.text("PowerState", &powerState)
        reader.flag("Discovering", &isDiscovering)
        reader.flag("Pairable", &isPairable)
    }
}

/// What BlueZ says of a device (org.bluez.Device1, Battery1). Every property may be missing.
package struct Device: Sendable, Hashable, Identifiable {
    /// Where BlueZ has it. It keeps an address of before the pairing in its name, so it is no identity.
    package let path: ObjectPath
    /// Where its adapter is.
    package private(set) var adapter: ObjectPath
    /// Changes to the identity address when a device with a private address is paired.
    package private(set) var address: String?
    /// "public" or "random".
    package private(set) var addressType: String?
    package private(set) var name: String?
    package private(set) var alias: String?
    package private(set) var isPaired: Bool?
    package private(set) var isBonded: Bool?
    package private(set) var isTrusted: Bool?
    package private(set) var isBlocked: Bool?
    package private(set) var isConnected: Bool?
    package private(set) var areServicesResolved: Bool?
    /// Advertised and, once connected, discovered service UUIDs, lower case, 36 characters.
    package private(set) var uuids: [String]?
    private var reportedRSSI: Int16?
    /// Percent, from Battery1; nil where BlueZ has no such object.
    package private(set) var battery: UInt8?

    package var id: ObjectPath { path }
    /// Whether a discovery hears the device now.
    package var isHeard: Bool { reportedRSSI != nil }
    /// In dBm, while a discovery hears the device. 127 is said by a controller that does not know (Core Specification,
    /// Vol 4, Part E, 7.7.65.2).
    package var rssi: Int16? { reportedRSSI == 127 ? nil : reportedRSSI }

    init(path: ObjectPath) {
        self.path = path
        adapter = path.parent
    }

    mutating func apply(_ reader: PropertyReader) {
        var adapter: ObjectPath? = adapter
        reader.path("Adapter", &adapter)
        // A path that is not above ours would let one device speak for another adapter.
        if let adapter, path.isBelow(adapter) { self.adapter = adapter }
        reader.text("Address", &address)
        reader.text("AddressType", &addressType)
        reader.text("Name", &name)
        reader.text("Alias", &alias)
        reader.flag("Paired", &isPaired)
        reader.flag("Bonded", &isBonded)
        reader.flag("Trusted", &isTrusted)
        reader.flag("Blocked", &isBlocked)
        reader.flag("Connected", &isConnected)
        reader.flag("ServicesResolved", &areServicesResolved)
        reader.uuids("UUIDs", &uuids)
        reader.int16("RSSI", &reportedRSSI)
        noteLink(reader)
    }

    /// BlueZ does not announce Connected when its ATT socket is ready before the kernel has said that the link is there
    /// (src/device.c, device_connect_le), as happens on slow machines. But services are resolved only over a link.
    private mutating func noteLink(_ reader: PropertyReader) {
        var said: (connected: Bool?, resolved: Bool?)
        reader.flag("Connected", &said.connected)
        reader.flag("ServicesResolved", &said.resolved)
        if said.resolved == true, said.connected == nil { isConnected = true }
    }

    mutating func applyBattery(_ reader: PropertyReader) {
        reader.percentage("Percentage", &battery)
    }

    mutating func dropBattery() {
        battery = nil
    }
}

/// What BlueZ says of a GATT service (org.bluez.GattService1).
package struct GATTService: Sendable, Hashable, Identifiable {
    package let path: ObjectPath
    /// Lower case, 36 characters.
    package private(set) var uuid: String?

    package var id: ObjectPath { path }

    init(path: ObjectPath) {
        self.path = path
    }

    mutating func apply(_ reader: PropertyReader) {
        reader.uuid("UUID", &uuid)
    }
}

/// What BlueZ says of a characteristic (org.bluez.GattCharacteristic1).
package struct GATTCharacteristic: Sendable, Hashable, Identifiable {
    package let path: ObjectPath
    /// Lower case, 36 characters.
    package private(set) var uuid: String?
    /// Where its service is.
    package private(set) var service: ObjectPath
    /// "read", "write", "notify", "indicate", …
    package private(set) var flags: [String]?
    package private(set) var isNotifying: Bool?
    private var reportedMTU: UInt16?

    package var id: ObjectPath { path }
    /// The link's MTU: 23, the least there is, where BlueZ does not say.
    package var mtu: UInt16 { max(23, reportedMTU ?? 23) }

    init(path: ObjectPath) {
        self.path = path
        service = path.parent
    }

    mutating func apply(_ reader: PropertyReader) {
        reader.uuid("UUID", &uuid)
        reader.texts("Flags", &flags)
        reader.flag("Notifying", &isNotifying)
        reader.uint16("MTU", &reportedMTU)
    }
}

extension ObjectPath {
    /// The path without its last element.
    var parent: ObjectPath {
        let parts = components.dropLast()
        return ObjectPath("/" + parts.joined(separator: "/")) ?? .root
    }
}
