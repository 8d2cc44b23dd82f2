internal import DBus
internal import RecorderModel

/// What of org.bluez is used, and where our own objects are.
enum BlueZNames {
    static let service = "org.bluez"
    static let root = ObjectPath(trusted: "/org/bluez")
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let agentManager = "org.bluez.AgentManager1"
    static let agent = "org.bluez.Agent1"
    static let gattManager = "org.bluez.GattManager1"
    static let gattService = "org.bluez.GattService1"
    static let gattCharacteristic = "org.bluez.GattCharacteristic1"
    static let advertisingManager = "org.bluez.LEAdvertisingManager1"
    static let advertisement = "org.bluez.LEAdvertisement1"
    static let objectManager = "org.freedesktop.DBus.ObjectManager"
    static let properties = "org.freedesktop.DBus.Properties"

    static let agentPath = ObjectPath(trusted: "/life/ccdw/celestia/recorder/agent")
    static let advertisementPath = ObjectPath(trusted: "/life/ccdw/celestia/recorder/advertisement")
    static let applicationPath = ObjectPath(trusted: "/life/ccdw/celestia/recorder/application")

    /// An `a{sv}` without entries.
    static let noOptions = DBusValue.properties([:])
}

extension DBusError {
    static let rejected = blueZ("Rejected", "rejected by the recorder's user")

    static func blueZ(_ name: String, _ text: String) -> DBusError {
        .remote("org.bluez.Error.\(name)", text)
    }

    /// The error from which bluetoothd makes this ATT error (BlueZ src/gatt-database.c, dbus_error_to_att_ecode).
    /// Only 0x80 to 0x9F can be said as they are; what has no name there goes over the air as 0x0E, Unlikely Error.
    init(_ error: ATTError) {
        switch error.code {
        case 0x02, 0x03: self = .blueZ("NotPermitted", "not permitted")
        case 0x05, 0x08, 0x0F: self = .blueZ("NotAuthorized", "not authorized")
        case 0x06: self = .blueZ("NotSupported", "not supported")
        case 0x07: self = .blueZ("InvalidOffset", "invalid offset")
        case 0x0D: self = .blueZ("InvalidValueLength", "invalid length")
        case 0xFE: self = .blueZ("InProgress", "in progress")
        case 0x80...0x9F: self = .blueZ("Failed", "0x" + String(error.code, radix: 16))
        default: self = .blueZ("Unlikely", "ATT error 0x" + String(error.code, radix: 16))
        }
    }
}
