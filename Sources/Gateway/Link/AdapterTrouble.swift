/// Why there is no adapter to work with, in words. Pure.
package enum AdapterTrouble: Sendable, Equatable {
    case bluetoothdAbsent
    /// Of several: the one that is `configured` ([Bluetooth] Adapter), whatever others there are.
    case absent(configured: String?)
    case off, blocked

    /// What is known of an adapter that may be used.
    package enum Power: Sendable {
        case on, off, blocked
    }

    /// nil: one of them is on.
    package init?(hasBlueZ: Bool, adapters: [Power], configured: String?) {
        if !hasBlueZ {
            self = .bluetoothdAbsent
        } else if adapters.isEmpty {
            self = .absent(configured: configured)
        } else if adapters.contains(.on) {
            return nil
        } else {
            self = adapters.contains(.blocked) ? .blocked : .off
        }
    }

    package var text: String {
        switch self {
        case .bluetoothdAbsent: "bluetoothd is not running"
        case .absent(let address?): "the Bluetooth adapter \(address) ([Bluetooth] Adapter) is not there"
        case .absent: "there is no Bluetooth adapter"
        case .off: "the Bluetooth adapter is off"
        case .blocked: "the Bluetooth adapter is blocked by rfkill"
        }
    }

    package var hint: String {
        switch self {
        case .bluetoothdAbsent: "sudo systemctl start bluetooth"
        case .absent(_?): "plug it in again; celestiad doctor says how another is used"
        case .absent: "plug one in; celestiad doctor says why one that is in does not show"
        case .off: "bluetoothctl power on"
        case .blocked: "sudo rfkill unblock bluetooth"
        }
    }
}
