package import CaptureQueue
package import Cloud

/// What the account is told of one recorder, and when: bound once, then changes only, the latest of them, not more
/// often than once per `spacing` (upload.md C-26…C-30). What fails is dropped; the next time tells what holds then.
package struct DeviceSyncMachine: Sendable, Equatable {
    /// A recorder as the account shows it.
    package struct Facts: Sendable, Equatable {
        package var name: String
        package var hardwareMAC: String?
        package var firmware: String?
        package var batteryPercent: Int?
        /// In MiB, as recorders count; the contract's "MB".
        package var freeStorageMiB: Int?
        package var totalStorageMiB: Int?
        /// nil: never told.
        package var isConnected: Bool?
    }

    package enum Step: Sendable, Equatable {
        /// Nothing to tell; not before then, where there is something.
        case rest(until: ContinuousClock.Instant?)
        case bind
        /// Tell these changes.
        case update(id: String, DeviceUpdate)
        /// The user does not want it in the account.
        case unbind(id: String)
    }

    package enum Input: Sendable, Equatable {
        case bound(Facts)
        case updated(Facts)
        /// Unbound elsewhere, or another account is logged in: to be bound again.
        case gone
        case unbound
        case failed(backoff: Duration)
    }

    private let spacing: Duration
    private var told: Facts?
    private var notBefore: ContinuousClock.Instant?
    /// Attempts in a row that failed.
    package private(set) var failures = 0

    package init(spacing: Duration = .seconds(60)) {
        self.spacing = spacing
    }

    /// What to do; `id` is the device's id in the account, once it is bound, `isWanted` whether it is to be there.
    package func next(
        _ facts: Facts, id: String?, isWanted: Bool = true, at now: ContinuousClock.Instant
    ) -> Step {
        guard isWanted ? id == nil || told != facts : id != nil else { return .rest(until: nil) }
        if let notBefore, now < notBefore { return .rest(until: notBefore) }
        guard let id else { return .bind }
        guard isWanted else { return .unbind(id: id) }
        return .update(id: id, facts.changes(since: told))
    }

    package mutating func handle(_ input: Input, at now: ContinuousClock.Instant) {
        switch input {
        case .bound(let facts):
            told = facts
            // Binding has no word for it.
            told?.isConnected = nil
            settle(now)
        case .updated(let facts):
            told = facts
            settle(now)
        case .gone, .unbound:
            told = nil
            notBefore = nil
            failures = 0
        case .failed(let backoff):
            failures = min(failures + 1, 1_000_000)
            notBefore = now.advanced(by: max(spacing, backoff))
        }
    }

    /// There is a reason to try at once: a login, or what the user said.
    package mutating func hurry() {
        notBefore = nil
    }

    private mutating func settle(_ now: ContinuousClock.Instant) {
        failures = 0
        notBefore = now.advanced(by: spacing)
    }
}

extension DeviceSyncMachine.Facts {
    package init(_ recorder: RecorderRecord, isConnected: Bool) {
        let name = [recorder.label, recorder.name, recorder.model].compactMap { $0 }.first { !$0.isEmpty }
        self.init(
            name: name ?? recorder.serial, hardwareMAC: recorder.bluetoothIdentity,
            firmware: recorder.firmware, batteryPercent: recorder.batteryPercent,
            freeStorageMiB: recorder.storageFreeBytes.map { Int(clamping: $0 >> 20) },
            totalStorageMiB: recorder.storageTotalBytes.map { Int(clamping: $0 >> 20) },
            isConnected: isConnected)
    }

    package func binding(serial: String) -> DeviceBinding {
        DeviceBinding(
            name: name, peripheralUUID: Identity.peripheral(serial: serial), hardwareMAC: hardwareMAC,
            firmwareVersion: firmware, batteryLevel: batteryPercent, freeStorageMB: freeStorageMiB,
            totalStorageMB: totalStorageMiB)
    }

    /// nil fields are left alone by the server (C-13): what is not known any more is not told.
    func changes(since told: Self?) -> DeviceUpdate {
        func changed<Value: Equatable>(_ path: KeyPath<Self, Value?>) -> Value? {
            self[keyPath: path] == told?[keyPath: path] ? nil : self[keyPath: path]
        }
        return DeviceUpdate(
            name: name == told?.name ? nil : name, batteryLevel: changed(\.batteryPercent),
            isConnected: changed(\.isConnected), firmwareVersion: changed(\.firmware),
            freeStorageMB: changed(\.freeStorageMiB), totalStorageMB: changed(\.totalStorageMiB))
    }
}
