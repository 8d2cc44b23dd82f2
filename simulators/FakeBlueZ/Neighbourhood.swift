internal import DBus
internal import EventLoop
internal import ObjectTransfer
internal import RecorderModel

/// A simulated recorder within radio range.
final class Peripheral {
    let configuration: PeripheralConfiguration
    let model: RecorderModel
    var isInRange = true
    /// The device object through which it is connected.
    var link: FakeDevice?
    let user: RecorderUser
    var pumpTimer: LoopTimer?
    var rssi: Int16 = -52

    init(_ configuration: PeripheralConfiguration) {
        self.configuration = configuration
        model = RecorderModel(configuration.recorder)
        user = RecorderUser(configuration.confirmation)
    }

    var serial: String { model.serial }
    var isAdvertising: Bool { isInRange && link == nil }
}

/// What a client asked discovery to report (Adapter1.SetDiscoveryFilter).
struct DiscoveryFilter {
    var uuids: [BluetoothUUID] = []
    var transport = "auto"
    var pattern = ""
    /// As the client gave it, for a merge that only ever widens.
    var isEmpty: Bool { uuids.isEmpty && pattern.isEmpty && transport != "bredr" }

    func matches(_ peripheral: PeripheralConfiguration) -> Bool {
        guard transport != "bredr" else { return false }
        let isNamed =
            pattern.isEmpty || peripheral.name.hasPrefix(pattern) || peripheral.address.hasPrefix(pattern)
        return isNamed && (uuids.isEmpty || uuids.contains(ObjectTransferService.uuid))
    }
}

/// One controller as bluetoothd knows it.
final class FakeAdapter {
    let path: ObjectPath
    let name: String
    let address: String
    var isPowered = true
    /// Whether rfkill forbids to switch it on.
    var isBlocked = false
    /// The senders that discover.
    var sessions: Set<String> = []
    /// By sender; outlives a session.
    var filters: [String: DiscoveryFilter] = [:]

    init(_ configuration: FakeBlueZConfiguration.Adapter) {
        name = configuration.name
        address = configuration.address
        path = BlueZ.root.appending(configuration.name)
    }
}

/// How a wait for something over the air ended.
enum StepOutcome: Sendable {
    case elapsed, canceled, poweredOff, removed
}

/// A wait that other events may end early.
final class PendingStep {
    private var continuation: CheckedContinuation<StepOutcome, Never>?
    private var timer: LoopTimer?

    func begin(_ continuation: CheckedContinuation<StepOutcome, Never>, timer: LoopTimer) {
        self.continuation = continuation
        self.timer = timer
    }

    func finish(_ outcome: StepOutcome) {
        timer?.cancel()
        timer = nil
        continuation?.resume(returning: outcome)
        continuation = nil
    }
}

/// A recorder as one adapter knows it.
final class FakeDevice {
    let path: ObjectPath
    let adapter: FakeAdapter
    let peripheral: Peripheral
    var isTemporary = true
    var removal: LoopTimer?
    var isConnected = false
    var isResolved = false
    /// Counts links, so that what belongs to an earlier one can tell.
    var generation = 0
    /// The hub's half of the bond.
    var bond: LinkSecurity?
    var connecting: PendingStep?
    var pairing: PairingAttempt?
    /// A pairing that no Pair of this bluetoothd began is under way on the link, and fails any that is asked for.
    var hasForeignPairing = false
    var isPublishingServices = false
    var hasServices = false
    /// The senders that called StartNotify.
    var sessions: [GATTCharacteristicID: Set<String>] = [:]
    var acquired: [GATTCharacteristicID: AcquiredNotify] = [:]

    init(adapter: FakeAdapter, peripheral: Peripheral) {
        self.adapter = adapter
        self.peripheral = peripheral
        let digits = peripheral.configuration.address.map { $0 == ":" ? "_" : $0 }
        path = adapter.path.appending("dev_" + String(digits))
    }

    func endSteps(_ outcome: StepOutcome) {
        connecting?.finish(outcome)
        pairing?.finish(.failure(.authenticationCanceled))
    }
}
