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

    /// What was chosen for a link.
    struct Choice: Sendable {
        let channel: any DataChannel
        /// Why it is not the L2CAP channel.
        let reason: String?
        /// Whether another try on the same link may end otherwise.
        let isWorthAnotherTry: Bool
    }

    let bluez: BlueZ
    let clock: any Clock<Duration>

    /// The channel for a link's transfers, tried out when it is the L2CAP one.
    func choose(for link: BlueZGATTLink) async -> Choice {
        let channel = StreamDataChannel { () async throws(ObjectTransferError) in
            do throws(BlueZError) {
                return L2CAPByteStream(socket: try await connect(link.link))
            } catch {
                throw ObjectTransferError(error)
            }
        }
        do throws(ObjectTransferError) {
            try await channel.prepare()
            return Choice(channel: channel, reason: nil, isWorthAnotherTry: false)
        } catch {
            let notifications = NotificationDataChannel(link: link, clock: clock) {
                () async throws(ObjectTransferError) in try await link.frameSource()
            }
            let mayPass = error.code == .timedOut || error.code == .stalled
            return Choice(channel: notifications, reason: error.message, isWorthAnotherTry: mayPass)
        }
    }

    /// On a link that BlueZ has at this moment only: the kernel would start one of its own.
    private func connect(_ link: Link) async throws(BlueZError) -> L2CAPSocket {
        guard await bluez.link(to: link.device) == link else {
            throw BlueZError(.linkLost, "the link has ended")
        }
        guard let endpoint = await endpoint(of: link) else {
            throw BlueZError(.unsupported, "BlueZ does not tell both addresses of the link")
        }
        return try await L2CAPSocket.connect(
            to: endpoint, timeout: Self.connectDeadline, on: bluez.connection.loop)
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
