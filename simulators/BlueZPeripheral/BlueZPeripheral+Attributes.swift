internal import DBus
internal import EventLoop
internal import Glibc
internal import ObjectTransfer
internal import Recorder
internal import RecorderModel

/// What hubs do with the attributes, and what the recorder sends of its own accord.
extension BlueZPeripheral {
    // MARK: Values

    func read(
        _ id: GATTCharacteristicID, _ options: [String: DBusValue]
    ) throws(DBusError) -> [UInt8] {
        _ = try link(of: options, for: id)
        let value: [UInt8]
        do throws(ATTError) {
            value = try model.read(id)
        } catch {
            throw DBusError(error)
        }
        let offset = Int(options["offset"]?.asUInt16 ?? 0)
        guard offset <= value.count else { throw .blueZ("InvalidOffset", "the value is shorter") }
        return Array(value[offset...])
    }

    func write(
        _ id: GATTCharacteristicID, _ value: [UInt8], _ options: [String: DBusValue]
    ) throws(DBusError) {
        let link = try link(of: options, for: id)
        guard options["offset"]?.asUInt16 ?? 0 == 0 else {
            throw .blueZ("InvalidOffset", "no value is written in parts")
        }
        let reply: WriteReply
        do throws(ATTError) {
            reply = try model.write(value, to: id)
        } catch {
            throw DBusError(error)
        }
        deliver(reply.early)
        guard !reply.late.isEmpty else { return }
        // After this turn of the loop, in which the call is answered.
        _ = loop.schedule(after: .zero) {
            if self.link === link { self.deliver(reply.late) }
        }
    }

    // MARK: Subscriptions

    /// bluetoothd has answered the hub already: nothing can be refused.
    func subscribe(_ id: GATTCharacteristicID) {
        subscriptions.insert(id)
        guard let link else { return }
        if AttributeTable.characteristic(id)?.isProtected == true { protect(link) }
        try? model.subscribe(id, true)
    }

    func unsubscribe(_ id: GATTCharacteristicID) {
        subscriptions.remove(id)
        try? model.subscribe(id, false)
    }

    func acquireNotify(
        _ id: GATTCharacteristicID, _ options: [String: DBusValue]
    ) throws(DBusError) -> (SharedFD, UInt16) {
        guard id == RecorderProfile.objectData else {
            throw .blueZ("NotSupported", "only the data have a socket")
        }
        let link = try link(of: options, for: id)
        subscribe(id)
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_LOCAL, type, 0, &ends) == 0 else {
            throw .blueZ("Failed", "no descriptor is left")
        }
        frames?.close()
        let socket = FrameSocket(fd: ends[0], loop: loop) { self.framesReleased() }
        frames = socket
        return (SharedFD(ends[1]), UInt16(clamping: link.mtu))
    }

    /// bluetoothd closed its end: the hub has ended its subscription.
    private func framesReleased() {
        frames?.close()
        frames = nil
        pendingFrame = 0
        unsubscribe(RecorderProfile.objectData)
    }

    /// Whether bluetoothd has the other end of a socket for Object Data.
    var hasFrameSocket: Bool { frames != nil }

    // MARK: Sending

    func deliver(_ outputs: [RecorderOutput]) {
        for output in outputs {
            switch output {
            case .notify(let id, let value), .indicate(let id, let value): announce(value, of: id)
            case .framesReady: pump()
            case .channelBytesReady: channel?.resume()
            case .closeChannel: channel?.close()
            case .workPending:
                _ = loop.schedule(after: .zero) { self.deliver(self.model.work()) }
            case .stateChanged: onEvent(.stateChanged(serial: model.serial, model.state))
            }
        }
    }

    /// bluetoothd makes a notification or an indication of it, as the hub subscribed.
    private func announce(_ value: [UInt8], of id: GATTCharacteristicID) {
        guard link != nil, let path = Self.path(of: id) else { return }
        // The connection lives on the same loop; when it is gone there is nobody to tell.
        connection?.assumeIsolated {
            try? $0.emitPropertiesChanged(path, BlueZNames.gattCharacteristic, ["Value": .bytes(value)])
        }
    }

    /// Frames sent in one turn of the loop, so that an endless recorder does not starve it.
    private static let framesPerTurn = 256
    /// bluetoothd packs notifications for a hub that takes several at once, with two bytes of length for each, and cuts
    /// off what then exceeds the MTU: opcode, handle and length.
    private static let frameOverhead = 5

    /// Sends the frames that the recorder may send now.
    private func pump() {
        pumpTimer?.cancel()
        guard let link, !link.isEnding else { return }
        let room = min(FrameBuffer.longest, max(link.mtu, 23) - Self.frameOverhead)
        let buffer = UnsafeMutableRawBufferPointer(rebasing: frame.bytes[..<room])
        for _ in 0..<Self.framesPerTurn {
            guard sendPendingFrame() else { return }
            switch model.nextFrame(into: buffer, now: ContinuousClock.now) {
            case .send(let count): pendingFrame = count
            case .lost: continue
            case .idle: return
            case .cut, .fail: return cutLink("")
            case .wait(let delay): return schedulePump(after: delay)
            }
        }
        schedulePump(after: .zero)
    }

    private func schedulePump(after delay: Duration) {
        pumpTimer = loop.schedule(after: delay) { self.pump() }
    }

    /// False when the socket has no room: the pump then goes on when there is.
    private func sendPendingFrame() -> Bool {
        guard pendingFrame > 0 else { return true }
        let packet = UnsafeRawBufferPointer(rebasing: frame.bytes[..<pendingFrame])
        if let frames {
            guard frames.send(packet, onRoom: { self.pump() }) else { return false }
        } else {
            announce(Array(packet), of: RecorderProfile.objectData)
        }
        pendingFrame = 0
        return true
    }
}
