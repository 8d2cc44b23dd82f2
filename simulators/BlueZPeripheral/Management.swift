internal import BlueZ
internal import CBluetooth
internal import EventLoop
import Glibc

/// The kernel's Bluetooth management interface (BlueZ doc/mgmt-api.txt), for what bluetoothd does not do. It needs
/// CAP_NET_ADMIN.
enum Management {
    private static let disconnectCommand: UInt16 = 0x0014

    /// Ends an adapter's link to a device at once, where Device1.Disconnect takes two seconds. `adapter` is the N of hciN.
    /// Does not wait for the end.
    static func disconnect(
        _ device: DeviceAddress, _ kind: DeviceAddress.Kind, adapter: UInt16
    ) throws(SystemError) {
        let type = UInt8(kind == .public ? BDADDR_LE_PUBLIC : BDADDR_LE_RANDOM)
        try send(disconnectCommand, to: adapter, device.bytes + [type])
    }

    private static func send(
        _ command: UInt16, to adapter: UInt16, _ parameters: [UInt8]
    ) throws(SystemError) {
        let type = SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue
        let fd = socket(AF_BLUETOOTH, Int32(type), BTPROTO_HCI)
        guard fd >= 0 else { throw SystemError("socket(BTPROTO_HCI)") }
        let socket = OwnedFD(fd)
        var address = sockaddr_hci()
        address.hci_family = sa_family_t(AF_BLUETOOTH)
        address.hci_dev = UInt16(HCI_DEV_NONE)
        address.hci_channel = UInt16(HCI_CHANNEL_CONTROL)
        let length = socklen_t(MemoryLayout<sockaddr_hci>.size)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket.rawValue, $0, length) }
        }
        guard status == 0 else { throw SystemError("bind(HCI_CHANNEL_CONTROL)") }
        let header = [command, adapter, UInt16(parameters.count)].flatMap { field in
            [UInt8(truncatingIfNeeded: field), UInt8(truncatingIfNeeded: field >> 8)]
        }
        let packet = header + parameters
        guard write(socket.rawValue, packet, packet.count) == packet.count else {
            throw SystemError("write(HCI_CHANNEL_CONTROL)")
        }
    }
}
