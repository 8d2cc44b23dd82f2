internal import DBus
internal import EventLoop
internal import Glibc
internal import ObjectTransfer
internal import Recorder
internal import RecorderModel

/// Our end of a socket pair of AcquireNotify.
final class AcquiredNotify {
    private let fd: Int32
    private var watch: FDWatch?
    private var isOpen = true

    init(fd: Int32) {
        self.fd = fd
    }

    deinit {
        close()
    }

    /// Calls `onHangup` when the client has closed its end.
    func watchHangup(on loop: EventLoop, _ onHangup: @escaping () -> Void) {
        watch = try? loop.watch(fd, for: []) { events in
            if events.contains(.hangup) || events.contains(.error) { onHangup() }
        }
    }

    /// One packet, never waiting: false when the client's queue is full.
    func send(_ packet: UnsafeRawBufferPointer) -> Bool {
        isOpen && Glibc.send(fd, packet.baseAddress, packet.count, Int32(MSG_NOSIGNAL)) >= 0
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        watch?.cancel()
        Glibc.close(fd)
    }
}

/// Room for one notification, used again and again.
final class FrameBuffer {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 517, alignment: 16)

    deinit {
        bytes.deallocate()
    }
}

/// StartNotify, AcquireNotify and the notification data plane.
extension FakeBlueZ {
    /// Frames sent in one turn of the loop, so that an endless recorder does not starve it.
    private static let framesPerTurn = 1024

    private func notifiable(
        _ id: GATTCharacteristicID
    ) throws(DBusError) -> AttributeHandles.Characteristic {
        guard let characteristic = AttributeHandles.characteristics[id], characteristic.descriptor != nil
        else { throw .notSupported }
        return characteristic
    }

    private func subscribe(_ device: FakeDevice, _ id: GATTCharacteristicID) throws(DBusError) {
        do throws(ATTError) {
            try device.peripheral.model.subscribe(id, true)
        } catch {
            throw DBusError(error)
        }
    }

    /// Bluetoothd itself listens to the battery level.
    private func unsubscribe(_ device: FakeDevice, _ id: GATTCharacteristicID) {
        guard device.isConnected, id != RecorderProfile.batteryLevel else { return }
        try? device.peripheral.model.subscribe(id, false)
    }

    // MARK: StartNotify

    /// Succeeds without a link, too, and is then done when the link comes, as bluetoothd has it.
    func startNotify(
        _ path: ObjectPath, _ id: GATTCharacteristicID, _ sender: String
    ) throws(DBusError) {
        let device = try device(path)
        let characteristic = try notifiable(id)
        guard device.acquired[id] == nil else { throw .notPermitted("Notify acquired") }
        if device.isConnected, device.sessions[id, default: []].isEmpty { try subscribe(device, id) }
        device.sessions[id, default: []].insert(sender)
        change(characteristic.path(path), BlueZ.characteristic, ["Notifying": .boolean(true)])
    }

    func stopNotify(
        _ path: ObjectPath, _ id: GATTCharacteristicID, _ sender: String
    ) throws(DBusError) {
        let device = try device(path)
        if device.acquired[id] != nil { return release(device, id) }
        guard device.sessions[id]?.contains(sender) == true else {
            throw .failed("No notify session started")
        }
        endSession(device, id, sender)
    }

    func endSession(_ device: FakeDevice, _ id: GATTCharacteristicID, _ sender: String) {
        device.sessions[id]?.remove(sender)
        guard device.sessions[id]?.isEmpty == true else { return }
        device.sessions[id] = nil
        unsubscribe(device, id)
        guard let characteristic = AttributeHandles.characteristics[id] else { return }
        change(characteristic.path(device.path), BlueZ.characteristic, ["Notifying": .boolean(false)])
    }

    /// Sessions of an earlier link go on, on this one.
    func resumeSessions(_ device: FakeDevice) {
        for id in device.sessions.keys { try? subscribe(device, id) }
    }

    // MARK: AcquireNotify

    func acquireNotify(
        _ path: ObjectPath, _ id: GATTCharacteristicID
    ) throws(DBusError) -> (SharedFD, UInt16) {
        let device = try device(path)
        guard device.isConnected else { throw .failed("Not connected") }
        let characteristic = try notifiable(id)
        guard device.acquired[id] == nil else { throw .notPermitted("Notify acquired") }
        guard device.sessions[id, default: []].isEmpty else { throw .inProgress }
        guard canAcquire(characteristic) else { throw .notSupported }
        try subscribe(device, id)
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_LOCAL, type, 0, &ends) == 0 else { throw .failed("Operation failed") }
        let acquired = AcquiredNotify(fd: ends[0])
        acquired.watchHangup(on: loop) { self.release(device, id) }
        device.acquired[id] = acquired
        change(
            characteristic.path(path), BlueZ.characteristic,
            ["NotifyAcquired": .boolean(true), "Notifying": .boolean(true)])
        return (SharedFD(ends[1]), device.peripheral.configuration.mtu)
    }

    private func release(_ device: FakeDevice, _ id: GATTCharacteristicID) {
        guard let acquired = device.acquired.removeValue(forKey: id) else { return }
        acquired.close()
        unsubscribe(device, id)
        notifyReleased(device, id)
    }

    func notifyReleased(_ device: FakeDevice, _ id: GATTCharacteristicID) {
        guard let characteristic = AttributeHandles.characteristics[id] else { return }
        change(
            characteristic.path(device.path), BlueZ.characteristic,
            ["NotifyAcquired": .boolean(false), "Notifying": .boolean(false)])
    }

    // MARK: Sending

    /// One notification or indication to whoever listens.
    func notify(_ id: GATTCharacteristicID, _ value: [UInt8], _ peripheral: Peripheral) {
        guard let device = peripheral.link else { return }
        if id == RecorderProfile.batteryLevel, let level = value.first {
            change(device.path, BlueZ.battery, ["Percentage": .byte(level)])
        }
        value.withUnsafeBytes { send($0, id, device) }
    }

    private func send(_ packet: UnsafeRawBufferPointer, _ id: GATTCharacteristicID, _ device: FakeDevice) {
        if let acquired = device.acquired[id] {
            if !acquired.send(packet) { droppedNotifications += 1 }
        } else if device.sessions[id]?.isEmpty == false,
            let characteristic = AttributeHandles.characteristics[id]
        {
            let path = characteristic.path(device.path)
            let value = DBusValue.bytes(Array(packet))
            _ = properties.change(path, BlueZ.characteristic, ["Value": value])
            announce(path, BlueZ.characteristic, ["Value": value])
        }
    }

    /// Sends the frames that the recorder may send now.
    func pump(_ peripheral: Peripheral) {
        peripheral.pumpTimer?.cancel()
        guard let device = peripheral.link else { return }
        let id = RecorderProfile.objectData
        let room = min(frame.bytes.count, Int(peripheral.configuration.mtu) - 3)
        let buffer = UnsafeMutableRawBufferPointer(rebasing: frame.bytes[..<room])
        for _ in 0..<Self.framesPerTurn {
            switch peripheral.model.nextFrame(into: buffer, now: ContinuousClock.now) {
            case .send(let count): send(UnsafeRawBufferPointer(rebasing: buffer[..<count]), id, device)
            case .lost: break
            case .idle: return
            case .cut, .fail: return dropLink(device)
            case .wait(let delay): return schedulePump(peripheral, after: delay)
            }
        }
        schedulePump(peripheral, after: .zero)
    }

    private func schedulePump(_ peripheral: Peripheral, after delay: Duration) {
        peripheral.pumpTimer = loop.schedule(after: delay) { self.pump(peripheral) }
    }
}
