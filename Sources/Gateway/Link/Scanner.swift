import BlueZ
import CaptureQueue
import FoundationEssentials
import ObjectTransfer
import Recorder

/// A recorder in the air.
package struct SeenRecorder: Sendable, Hashable {
    package let address: String
    /// The name that it advertises; fit to be shown, no identity.
    package let name: String?
    /// In dBm.
    package let rssi: Int?
    package let isPaired: Bool
    /// The serial number, where it is one of ours.
    package let serial: String?
}

/// Looks for recorders and tells of each one found and of each change.
struct Scanner: Sendable {
    let context: LinkContext

    func scan(
        for duration: Duration, report: @escaping @Sendable (SeenRecorder) async -> Void
    ) async throws(GatewayError) {
        let known = await knownSerials()
        let discovery = await context.bluez.discover(on: context.configuration.adapter)
        defer { discovery.end() }
        let (context, clock) = (context, context.clock)
        let isBusGone = await firstOf(
            {
                var told: [String: SeenRecorder] = [:]
                for await _ in await context.bluez.changes() {
                    for seen in await Self.inReach(context, known) where told[seen.address] != seen {
                        told[seen.address] = seen
                        await report(seen)
                    }
                }
                return Task.isCancelled ? nil : true
            },
            { (try? await clock.sleep(for: duration)) == nil ? nil : false }
        )
        if isBusGone == true { throw GatewayError(.noBus, "the message bus went away") }
    }

    private static func inReach(_ context: LinkContext, _ known: [String: String]) async -> [SeenRecorder] {
        let adapters = Set(await context.bluez.adapters.filter { context.mayUse($0) }.map(\.path))
        return await context.bluez.devices.compactMap { device in
            guard adapters.contains(device.adapter), let address = device.address,
                device.isHeard || device.isConnected == true,
                RecorderProfile.isOffered(by: device.uuids ?? [])
            else { return nil }
            return SeenRecorder(
                address: address, name: device.name.map { Terminal.printable($0, limit: 40) },
                rssi: device.rssi.map(Int.init), isPaired: device.isPaired == true, serial: known[address])
        }
    }

    private func knownSerials() async -> [String: String] {
        let recorders = (try? await context.queue.recorders()) ?? []
        let pairs = recorders.compactMap { recorder in
            recorder.pairedAt == nil ? nil : recorder.bluetoothIdentity.map { ($0, recorder.serial) }
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }
}
