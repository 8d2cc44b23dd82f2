internal import ObjectTransfer
internal import Recorder

/// The two data planes. Both are pulled by the face, straight into its own buffer: nothing is allocated for a frame.
extension RecorderModel {
    private static let headerLength = 4
    /// How often an endless recorder sends when nobody asks for anything.
    private static let endlessPause = Duration.milliseconds(1)

    // MARK: Notification plane

    func controlData(_ bytes: [UInt8]) throws(ATTError) -> WriteReply {
        guard let command = try? ObjectDataControl(wire: bytes) else { throw .invalidLength }
        guard isSubscribed(RecorderProfile.objectData) else { throw .subscriptionMissing }
        switch command {
        case .stop:
            if transfer?.plane == .notifications { transfer = nil }
            return WriteReply()
        case .credit(let more):
            guard transfer?.plane == .notifications else { return WriteReply() }
            transfer?.credits += Int(more)
            return WriteReply(early: [.framesReady])
        case .start(let offset, let length, let credits):
            guard let object = current else { throw .objectNotSelected }
            guard transfer?.plane != .channel, checksum == nil else { throw .procedureInProgress }
            guard !faults.refusesReads, !takeLock(object.id),
                Int64(offset) + Int64(length) <= Int64(object.size),
                begin(.notifications, object, offset: offset, length: length, credits: Int(credits))
            else { throw .writeRequestRejected }
            return WriteReply(early: [.framesReady])
        }
    }

    /// Writes the next notification of Object Data into `buffer`, which has room for a whole one (MTU - 3 bytes).
    package func nextFrame(
        into buffer: UnsafeMutableRawBufferPointer, now: ContinuousClock.Instant
    ) -> DataStep {
        guard let transfer, transfer.plane == .notifications, buffer.count > Self.headerLength else {
            return .idle
        }
        let isOver = transfer.isComplete
        if isOver, !faults.isEndless {
            self.transfer = nil
            return .idle
        }
        guard transfer.credits > 0 || isOver else { return .idle }
        if let delay = pace.delay(at: now) { return .wait(delay) }
        let offset = UInt32(truncatingIfNeeded: transfer.position)
        buffer.storeBytes(of: offset.littleEndian, as: UInt32.self)
        let room = UnsafeMutableRawBufferPointer(rebasing: buffer[Self.headerLength...])
        let count = isOver ? room.count : fill(room)
        guard count > 0 else { return takeCut() ? .cut : .fail }
        sent(count, at: now)
        self.transfer?.credits -= 1
        if isOver { pace.sent(1, at: now, bytesPerSecond: 1000) }
        guard !takeLoss() else { return .lost }
        return .send(Self.headerLength + count)
    }

    // MARK: Object Transfer Channel

    /// Whether the recorder accepts the channel, which the hub opens. Only one at a time.
    package func openChannel() -> Bool {
        guard isConnected, security >= configuration.requiredSecurity, !isChannelOpen, !faults.refusesChannel
        else { return false }
        isChannelOpen = true
        return true
    }

    /// The channel was closed, by whichever side; a read over it ends.
    package func closeChannel() {
        isChannelOpen = false
        if transfer?.plane == .channel { transfer = nil }
    }

    /// Writes the next bytes for the channel into `buffer`.
    package func nextChannelBytes(
        into buffer: UnsafeMutableRawBufferPointer, now: ContinuousClock.Instant
    ) -> DataStep {
        guard let transfer, transfer.plane == .channel, buffer.count > 0 else { return .idle }
        let isOver = transfer.isComplete
        if isOver, !faults.isEndless {
            self.transfer = nil
            return .idle
        }
        if let delay = pace.delay(at: now) { return .wait(delay) }
        let count = isOver ? buffer.count : fill(buffer)
        guard count > 0 else { return takeCut() ? .cut : .fail }
        sent(count, at: now)
        if isOver { pace.sent(1, at: now, bytesPerSecond: 1000) }
        return .send(count)
    }

    // MARK: Both

    func begin(
        _ plane: DataTransfer.Plane, _ object: StoredObject, offset: UInt32, length: UInt32, credits: Int
    ) -> Bool {
        guard let reader = ContentReader(object.content) else { return false }
        transfers.append(TransferRecord(object: object.id, offset: offset, length: length))
        transfer = DataTransfer(
            plane: plane, object: object.id, record: transfers.count - 1,
            end: Int64(offset) + Int64(length), position: Int64(offset), credits: credits, reader: reader)
        return true
    }

    /// The next bytes of the object, fewer where the link is to be cut or the read ends.
    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let transfer else { return 0 }
        var wanted = min(Int64(buffer.count), transfer.end - transfer.position)
        if let cut = faults.cutAfter.first { wanted = min(wanted, max(0, cut - sentBytes)) }
        return transfer.reader.read(
            at: transfer.position, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(wanted)]))
    }

    private func sent(_ count: Int, at now: ContinuousClock.Instant) {
        guard let record = transfer?.record else { return }
        transfer?.position += Int64(count)
        transfers[record].sent += Int64(count)
        sentBytes += Int64(count)
        pace.sent(count, at: now, bytesPerSecond: faults.bytesPerSecond)
    }

    private func takeCut() -> Bool {
        guard let cut = faults.cutAfter.first, sentBytes >= cut else { return false }
        var faults = faults
        faults.cutAfter.removeFirst()
        _ = replace(faults)
        return true
    }

    private func takeLoss() -> Bool {
        guard let every = faults.losesEvery else { return false }
        framesSinceLoss += 1
        guard framesSinceLoss >= every else { return false }
        framesSinceLoss = 0
        return true
    }
}
