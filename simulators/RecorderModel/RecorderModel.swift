package import ObjectTransfer
package import Recorder

/// A Celestia recorder without a radio: its attribute table, object server, capture service and faults
/// (recorder-profile.md). Inputs are what comes over a link; outputs are what is to be sent. A face, which owns it,
/// joins it to a Bluetooth stack, real or not. One link at a time.
package final class RecorderModel {
    package let configuration: RecorderConfiguration
    package private(set) var faults: RecorderFaults
    package private(set) var bonds: [String: LinkSecurity]
    /// The last time that a hub wrote.
    package private(set) var clock: ClockValue?
    package private(set) var batteryLevel: UInt8
    /// Every transfer since the start, in order.
    package var transfers: [TransferRecord] = []
    /// Data bytes that went over the air since the start, lost frames included.
    package var sentBytes: Int64 = 0
    /// How many requests the control points took since the start, answered or not.
    package internal(set) var requestCount: UInt32 = 0

    var store: ObjectStore
    private var folder: CaptureFolder

    // What lasts as long as a link.
    private(set) var isConnected = false
    private(set) var security = LinkSecurity.open
    private var subscriptions: Set<GATTCharacteristicID> = []
    var current: StoredObject?
    var transfer: DataTransfer?
    var isChannelOpen = false
    var checksum: ChecksumJob?
    var lastResponses: [GATTCharacteristicID: [UInt8]] = [:]
    var framesSinceLoss = 0
    var pace = Pace()

    /// A recorder at rest: no link.
    package init(_ configuration: RecorderConfiguration) {
        self.configuration = configuration
        faults = configuration.faults
        folder = configuration.folder
        bonds = configuration.state.bonds
        batteryLevel = configuration.batteryLevel
        store = ObjectStore(
            folder: configuration.folder, serial: configuration.serial, state: configuration.state,
            faults: configuration.faults.content)
    }

    package var serial: String { configuration.serial }

    /// What is to be kept for the next start.
    package var state: RecorderState {
        var state = store.state
        state.bonds = bonds
        return state
    }

    /// The objects that the recorder holds now.
    package var objects: [ObjectMetadata] { store.objects.map(\.metadata) }

    /// The objects that were deleted.
    package var deletedObjects: [ObjectID] { store.state.deleted.sorted().compactMap { ObjectID($0) } }

    // MARK: Links

    /// A hub has connected; with a bond that both sides hold the link is encrypted at once.
    package func connect(security: LinkSecurity) {
        resetLink()
        isConnected = true
        self.security = security
    }

    /// The link's protection rose, after pairing.
    package func secure(_ security: LinkSecurity) {
        self.security = max(self.security, security)
    }

    /// The link has ended, for whatever reason.
    package func disconnect() {
        resetLink()
    }

    private func resetLink() {
        isConnected = false
        security = .open
        subscriptions = []
        current = nil
        transfer = nil
        isChannelOpen = false
        checksum = nil
        lastResponses = [:]
        pace = Pace()
    }

    /// Remembers, or with nil forgets, the bond with the hub whose adapter has this address.
    package func setBond(_ security: LinkSecurity?, with address: String) -> [RecorderOutput] {
        bonds[address] = security
        return [.stateChanged] + statusChanged()
    }

    // MARK: Attributes

    /// The value of a characteristic. Throws the ATT error that the recorder answers with.
    package func read(_ id: GATTCharacteristicID) throws(ATTError) -> [UInt8] {
        let characteristic = try access(id)
        guard characteristic.properties.contains(.read) else { throw .readNotPermitted }
        switch id {
        case RecorderProfile.manufacturerName: return Array(configuration.manufacturer.utf8)
        case RecorderProfile.modelNumber: return Array(configuration.model.utf8)
        case RecorderProfile.serialNumber: return Array(configuration.serial.utf8)
        case RecorderProfile.firmwareRevision: return Array(configuration.firmware.utf8)
        case RecorderProfile.hardwareRevision: return Array(configuration.hardware.utf8)
        case RecorderProfile.batteryLevel: return [batteryLevel]
        case RecorderProfile.captureStatus: return status.wire
        default: return try readObject(id)
        }
    }

    /// A write with response. Throws the ATT error that the recorder answers with.
    package func write(_ bytes: [UInt8], to id: GATTCharacteristicID) throws(ATTError) -> WriteReply {
        let characteristic = try access(id)
        guard characteristic.properties.contains(.write) else { throw .writeNotPermitted }
        switch id {
        case RecorderProfile.clock: return try writeClock(bytes)
        case RecorderProfile.objectDataControl: return try controlData(bytes)
        case ObjectTransferService.actionControlPoint: return try performAction(bytes)
        case ObjectTransferService.listControlPoint: return try performList(bytes)
        default: throw .writeNotPermitted
        }
    }

    /// A write to the characteristic's configuration descriptor. Throws the ATT error that the recorder answers with.
    package func subscribe(_ id: GATTCharacteristicID, _ isOn: Bool) throws(ATTError) {
        let characteristic = try access(id)
        guard !characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw .writeNotPermitted
        }
        if isOn {
            subscriptions.insert(id)
        } else {
            subscriptions.remove(id)
            if id == RecorderProfile.objectData, transfer?.plane == .notifications { transfer = nil }
        }
    }

    package func isSubscribed(_ id: GATTCharacteristicID) -> Bool {
        subscriptions.contains(id)
    }

    private func access(_ id: GATTCharacteristicID) throws(ATTError) -> RecorderCharacteristic {
        guard let characteristic = AttributeTable.characteristic(id) else { throw .attributeNotFound }
        guard characteristic.isProtected else { return characteristic }
        guard security != .open else { throw .insufficientEncryption }
        guard security >= configuration.requiredSecurity else { throw .insufficientAuthentication }
        return characteristic
    }

    private func writeClock(_ bytes: [UInt8]) throws(ATTError) -> WriteReply {
        guard bytes.count == 10, let value = try? ClockValue(wire: bytes) else { throw .invalidLength }
        // Before 2020 no recorder existed, and no zone is further from UTC than 14 hours.
        guard value.unixMilliseconds >= 1_577_836_800_000, abs(Int(value.zoneOffsetMinutes)) <= 14 * 60 else {
            throw .outOfRange
        }
        clock = value
        return WriteReply(late: statusChanged())
    }

    // MARK: Status

    /// The Capture Status as it is now.
    package var status: CaptureStatus {
        var flags: CaptureStatus.Flags = []
        if faults.isRecording { flags.insert(.recording) }
        if !faults.refusesPairing, bonds.isEmpty { flags.insert(.pairingMode) }
        if clock == nil || faults.isClockUnset { flags.insert(.clockNotSet) }
        let usedMiB = UInt32(clamping: (store.usedBytes + (1 << 20) - 1) >> 20)
        let freeMiB = configuration.totalMiB - min(configuration.totalMiB, usedMiB)
        if freeMiB < configuration.totalMiB / 20 { flags.insert(.storageLow) }
        return CaptureStatus(
            flags: flags, totalMiB: configuration.totalMiB, freeMiB: freeMiB,
            storageGeneration: store.generation, sealedCaptures: UInt16(clamping: store.sealedCaptures))
    }

    func statusChanged() -> [RecorderOutput] {
        guard isSubscribed(RecorderProfile.captureStatus) else { return [] }
        return [.notify(RecorderProfile.captureStatus, status.wire)]
    }

    // MARK: What happens to the recorder itself

    /// Changes the faults; see `RecorderFaults.help`. Throws `fault`, and then nothing has changed.
    package func apply(fault text: String) throws(RecorderModelError) -> [RecorderOutput] {
        var faults = faults
        try faults.apply(text)
        return replace(faults)
    }

    /// Takes every fault back.
    package func clearFaults() -> [RecorderOutput] {
        replace(RecorderFaults())
    }

    func replace(_ faults: RecorderFaults) -> [RecorderOutput] {
        let old = self.faults
        self.faults = faults
        if old.content != faults.content { rebuild() }
        return statusChanged() + (transfer == nil ? [] : [.framesReady, .channelBytesReady])
    }

    package func setBattery(_ level: UInt8) -> [RecorderOutput] {
        batteryLevel = min(level, 100)
        guard isSubscribed(RecorderProfile.batteryLevel) else { return [] }
        return [.notify(RecorderProfile.batteryLevel, [batteryLevel])]
    }

    /// Serves what `folder` holds now; known files keep their objects.
    package func rescan(_ folder: CaptureFolder) -> [RecorderOutput] {
        self.folder = folder
        rebuild()
        return [.stateChanged] + statusChanged()
    }

    /// Formats the storage: a new generation, no objects until the next `rescan`, which numbers them afresh.
    package func format() -> [RecorderOutput] {
        var state = state
        state.generation = store.generation == .max ? 1 : store.generation + 1
        state.objects = [:]
        state.deleted = []
        folder = CaptureFolder()
        store = ObjectStore(folder: folder, serial: serial, state: state, faults: faults.content)
        (current, transfer, checksum) = (nil, nil, nil)
        return [.stateChanged] + statusChanged()
    }

    private func rebuild() {
        store = ObjectStore(folder: folder, serial: serial, state: state, faults: faults.content)
        if let id = current?.id { current = find(id) }
    }
}
