internal import DBus
internal import RecorderModel

/// The interfaces of org.bluez that are served.
enum BlueZ {
    static let name = "org.bluez"
    static let root = ObjectPath(trusted: "/org/bluez")
    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let battery = "org.bluez.Battery1"
    static let service = "org.bluez.GattService1"
    static let characteristic = "org.bluez.GattCharacteristic1"
    static let descriptor = "org.bluez.GattDescriptor1"
    static let agentManager = "org.bluez.AgentManager1"
    static let agent = "org.bluez.Agent1"
}

/// The errors of bluetoothd, with its names and texts (BlueZ src/error.c, src/gatt-client.c).
extension DBusError {
    static func blueZ(_ name: String, _ text: String) -> DBusError {
        .remote("org.bluez.Error.\(name)", text)
    }

    static let notReady = blueZ("NotReady", "Resource Not Ready")
    static let adapterOff = blueZ("NotReady", "br-connection-adapter-not-powered")
    static let inProgress = blueZ("InProgress", "In Progress")
    static let invalidArguments = blueZ("InvalidArguments", "Invalid arguments in method call")
    static let alreadyExists = blueZ("AlreadyExists", "Already Exists")
    static let doesNotExist = blueZ("DoesNotExist", "Does Not Exist")
    static let notConnected = blueZ("NotConnected", "Not Connected")
    static let notSupported = blueZ("NotSupported", "Operation is not supported")
    static let notAuthorized = blueZ("NotAuthorized", "Operation Not Authorized")
    static let authenticationFailed = blueZ("AuthenticationFailed", "Authentication Failed")
    static let authenticationCanceled = blueZ("AuthenticationCanceled", "Authentication Canceled")
    static let pageTimeout = blueZ("ConnectionAttemptFailed", "Page Timeout")

    static func failed(_ text: String) -> DBusError { blueZ("Failed", text) }
    static func notPermitted(_ text: String) -> DBusError { blueZ("NotPermitted", text) }

    /// As create_gatt_dbus_error of bluetoothd maps it.
    init(_ error: ATTError) {
        switch error.code {
        case 0x02: self = .notPermitted("Read not permitted")
        case 0x03: self = .notPermitted("Write not permitted")
        case 0x05, 0x0C, 0x0F: self = .notPermitted("Not paired")
        case 0x06: self = .notSupported
        case 0x07: self = .blueZ("InvalidArguments", "Invalid offset")
        case 0x08: self = .notAuthorized
        case 0x0D: self = .blueZ("InvalidArguments", "Invalid Length")
        case 0x00: self = .failed("Operation failed")
        default:
            let digits = String(error.code, radix: 16)
            let padded = digits.utf8.count < 2 ? "0" + digits : digits
            self = .failed("Operation failed with ATT error: 0x\(padded)")
        }
    }
}
