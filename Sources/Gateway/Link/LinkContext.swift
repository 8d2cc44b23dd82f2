import BlueZ
import CaptureQueue
import DBus
import FoundationEssentials
import ObjectTransfer
import Recorder

/// What every link needs.
struct LinkContext: Sendable {
    let live: LiveConfiguration
    let bluez: BlueZ
    let planes: DataPlanes
    let queue: CaptureQueue
    let board: Board
    let log: Log
    /// The API's base URL in its one spelling: what new sessions are for.
    let targetHost: String
    let clock: any Clock<Duration>
    let now: @Sendable () -> Date

    var configuration: Configuration { live.current }

    /// The hub's time, for the recorder's clock.
    var clockValue: @Sendable () -> ClockValue {
        let now = now
        return {
            let date = now()
            let offset = TimeZone.current.secondsFromGMT(for: date) / 60
            return ClockValue(
                unixMilliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()),
                zoneOffsetMinutes: Int16(clamping: offset))
        }
    }

    /// What a device must offer before anything is asked of it.
    static let requiredServices: Set<String> = [
        RecorderProfile.captureService.description, ObjectTransferService.uuid.description,
    ]

    /// Whether the configuration allows this adapter.
    func mayUse(_ adapter: Adapter) -> Bool {
        configuration.adapter == nil || adapter.address?.uppercased() == configuration.adapter
    }

    /// Why none of the adapters that may be used is on; nil: one is.
    func adapterTrouble() async -> AdapterTrouble? {
        AdapterTrouble(
            hasBlueZ: await bluez.isReady,
            adapters: await bluez.adapters.filter { mayUse($0) }.map {
                $0.isPowered != false ? .on : $0.powerState == "off-blocked" ? .blocked : .off
            },
            configured: configuration.adapter)
    }

    /// The devices with this address on adapters that may be used and are on, connected ones first.
    func devices(address: String) async -> [Device] {
        let adapters = await bluez.adapters.filter { mayUse($0) && $0.isPowered != false }
        let paths = Set(adapters.map(\.path))
        return await bluez.devices
            .filter { $0.address?.uppercased() == address.uppercased() && paths.contains($0.adapter) }
            .sorted { Self.preference($0) > Self.preference($1) }
    }

    private static func preference(_ device: Device) -> Int {
        (device.isConnected == true ? 4 : 0) + (device.isPaired == true ? 2 : 0)
            + (device.isHeard ? 1 : 0)
    }

    /// Works on a connected recorder: everything, or only until it is known who it is and how it is.
    func session(
        over link: BlueZGATTLink, channel: any DataChannel, store: QueueCaptureStore, ledger: FailureLedger,
        isIntroduction: Bool, onEvent: @escaping @Sendable (RecorderEvent) -> Void
    ) -> RecorderSession {
        var options = RecorderSession.Options(policy: configuration.deletePolicy)
        options.isIntroduction = isIntroduction
        return RecorderSession(
            link: link, channel: channel, store: store, options: options, ledger: ledger, clock: clock,
            time: clockValue, onEvent: onEvent)
    }
}
