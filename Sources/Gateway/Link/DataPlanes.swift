import BlueZ
import DBus
import ObjectTransfer
import Recorder

/// Chooses the way in which a recorder's bytes come: the L2CAP channel where it works, else notifications
/// (recorder-profile.md, "Data planes").
struct DataPlanes: Sendable {
    /// The SPSM that the Object Transfer Service has fixed.
    private static let spsm: UInt16 = 0x0025
    private static let connectDeadline = Duration.seconds(10)
    /// SDUs of this size let the recorder fill its packets; the kernel's default is 672.
    private static let receiveMTU: UInt16 = 8192

    let bluez: BlueZ
    let clock: any Clock<Duration>
    /// Whether this process can have Bluetooth sockets at all.
    let hasSockets: Bool

    init(bluez: BlueZ, clock: any Clock<Duration>) {
        self.bluez = bluez
        self.clock = clock
        hasSockets = L2CAPSocket.isSupported
    }

    /// The channel for a link's transfers, tried out when it is the L2CAP one.
    func channel(for link: BlueZGATTLink) async -> any DataChannel {
        if hasSockets, let endpoint = await endpoint(of: link.link) {
            let channel = StreamDataChannel { () async throws(ObjectTransferError) in
                do throws(BlueZError) {
                    let socket = try await L2CAPSocket.connect(
                        to: endpoint, timeout: Self.connectDeadline, on: bluez.connection.loop)
                    return L2CAPByteStream(socket: socket)
                } catch {
                    throw ObjectTransferError(error)
                }
            }
            if (try? await channel.prepare()) != nil { return channel }
        }
        return NotificationDataChannel(link: link, clock: clock) { () async throws(ObjectTransferError) in
            try await link.frameSource()
        }
    }

    /// Both addresses as BlueZ has them at this moment; nil when it does not say.
    private func endpoint(of link: Link) async -> L2CAPSocket.Endpoint? {
        guard let device = await bluez.device(link.device),
            let adapter = await bluez.adapters.first(where: { $0.path == device.adapter }),
            let local = adapter.address.flatMap({ DeviceAddress($0) }),
            let localKind = adapter.addressType.flatMap({ DeviceAddress.Kind(rawValue: $0) }),
            let remote = device.address.flatMap({ DeviceAddress($0) }),
            let remoteKind = device.addressType.flatMap({ DeviceAddress.Kind(rawValue: $0) })
        else { return nil }
        return L2CAPSocket.Endpoint(
            local: local, localKind, remote: remote, remoteKind, psm: Self.spsm,
            receiveMTU: Self.receiveMTU)
    }
}
