package import ObjectTransfer
package import Recorder

/// A small object server in memory, seen through ``GATTLink``: for tests of the client. It does what the
/// specification says, and on command what it should not.
package actor ObjectServerDouble: GATTLink {
    /// What the server does wrong.
    package struct Faults: Sendable {
        /// Cut the link when so many more bytes of objects were sent.
        package var cutAfterBytes: Int?
        /// Answer so many actions with Object Locked.
        package var lockedAnswers = 0
        /// Answer so many checksums wrongly.
        package var wrongChecksums = 0
        /// Send these frames (counted from 0) nowhere.
        package var lostFrames: Set<Int> = []
        /// Lose every n-th frame.
        package var losesEvery: Int?
        /// Send so many bytes more than asked for.
        package var excessBytes = 0
        /// Send so many bytes less than asked for, and then nothing.
        package var shortBytes = 0
        /// Do not answer these op codes of the action control point.
        package var silentActions: Set<UInt8> = []
        /// Send these indications before the answer.
        package var straysBeforeAnswer: [[UInt8]] = []
        /// Add these bytes to each answer.
        package var padding: [UInt8] = []
        /// Acknowledge a write only after its indication was sent and taken.
        package var answersLate = false
        /// Flip a bit of each object byte at this offset, once.
        package var corruptsOnceAt: UInt32?
        /// Never say Out Of Bounds.
        package var listsForever = false

        package init() {}
    }

    package struct Object: Sendable {
        package var metadata: ObjectMetadata
        package var bytes: [UInt8]
    }

    package var faults = Faults()
    package var features = ObjectTransferFeatures(
        actions: [.read, .delete, .calculateChecksum, .abort], lists: [.goTo])
    package var hasDirectory = true
    /// Characteristics that the device does not have.
    package var missing: Set<GATTCharacteristicID> = [ObjectTransferService.lastModified]
    /// An object that has these bytes from the moment when it is selected.
    package var growsWhenSelected: (ObjectID, [UInt8])?
    package var values: [GATTCharacteristicID: [UInt8]] = [:]
    package private(set) var objects: [Object] = []
    /// Every request to a control point, and every read of a characteristic, in order.
    package private(set) var log: [String] = []
    package private(set) var writes: [GATTCharacteristicID: [[UInt8]]] = [:]
    /// Object bytes sent on either plane.
    package private(set) var bytesSent = 0

    private var current: ObjectID?
    private var isConnected = true
    private var listeners: [GATTCharacteristicID: AsyncStream<[UInt8]>.Continuation] = [:]
    private var stream = Conduit<UInt8>()
    private var frames = Conduit<[UInt8]>()
    private var sending: (next: Int, end: Int, credits: Int)?
    private var framesSent = 0
    private let framePayload = 100

    package init() {}

    package func configure(_ change: @Sendable (isolated ObjectServerDouble) -> Void) {
        change(self)
    }

    package func add(
        _ id: UInt64, _ bytes: [UInt8], type: ObjectType = .unspecified, name: String = "object",
        properties: ObjectProperties = [.read, .delete]
    ) {
        let size = UInt32(bytes.count)
        guard let id = ObjectID(id) else { return }
        objects.append(
            Object(
                metadata: ObjectMetadata(
                    id: id, name: name, type: type, currentSize: size, allocatedSize: size,
                    created: ObjectDate(year: 2026, month: 11, day: 30, hour: 4, minute: 59, second: 0),
                    properties: properties),
                bytes: bytes))
    }

    /// Changes the bytes of an object; its size follows.
    package func replace(_ id: UInt64, _ bytes: [UInt8]) {
        guard let index = objects.firstIndex(where: { $0.metadata.id.value == id }) else { return }
        objects[index].bytes = bytes
        objects[index].metadata.currentSize = UInt32(bytes.count)
    }

    /// A new link after the last one was cut; the current object is forgotten, as servers do.
    package func reconnect() {
        isConnected = true
        current = nil
        listeners = [:]
        stream = Conduit()
        frames = Conduit()
        sending = nil
    }

    /// Ends the link: everything that waits fails.
    package func cut() {
        isConnected = false
        for listener in listeners.values { listener.finish() }
        let error = ObjectTransferError(.linkLost, "link lost")
        stream.finish(error)
        frames.finish(error)
        sending = nil
    }

    /// What an L2CAP socket to the server would be.
    package func openStream() throws(ObjectTransferError) -> any ByteStream {
        guard isConnected else { throw ObjectTransferError(.linkLost, "link lost") }
        stream = Conduit()
        return stream
    }

    /// What the descriptor of AcquireNotify would be.
    package func openFrames() throws(ObjectTransferError) -> any FrameSource {
        guard isConnected else { throw ObjectTransferError(.linkLost, "link lost") }
        frames = Conduit()
        return PipedFrames(pipe: frames)
    }

    // MARK: GATTLink

    package func offers(_ characteristic: GATTCharacteristicID) -> Bool {
        !missing.contains(characteristic)
            && (characteristic.service == ObjectTransferService.uuid || values[characteristic] != nil
                || characteristic.service == RecorderProfile.captureService)
    }

    package func read(_ characteristic: GATTCharacteristicID) throws(ObjectTransferError) -> [UInt8] {
        try connected()
        if let value = values[characteristic] { return value }
        if characteristic == ObjectTransferService.feature { return features.wire }
        guard let object = currentObject else {
            throw ObjectTransferError(.attribute(0x81), "object not selected")
        }
        switch characteristic {
        case ObjectTransferService.objectID: return object.metadata.id.wire
        case ObjectTransferService.objectName: return Array(object.metadata.name.utf8) + [0]
        case ObjectTransferService.objectType: return object.metadata.type.wire
        case ObjectTransferService.objectSize:
            let size = UInt32(object.bytes.count)
            return ObjectSize(current: size, allocated: size).wire
        case ObjectTransferService.firstCreated:
            return object.metadata.created?.wire ?? [UInt8](repeating: 0, count: 7)
        case ObjectTransferService.objectProperties: return (object.metadata.properties ?? []).wire
        default: throw ObjectTransferError(.characteristicMissing, "no \(characteristic)")
        }
    }

    package func write(
        _ value: [UInt8], to characteristic: GATTCharacteristicID
    ) async throws(ObjectTransferError) {
        try connected()
        writes[characteristic, default: []].append(value)
        switch characteristic {
        case ObjectTransferService.listControlPoint:
            let request = try ObjectListRequest(wire: value)
            log.append("\(request)")
            indicate(answer(request).wire, from: characteristic)
        case ObjectTransferService.actionControlPoint:
            let request = try ObjectActionRequest(wire: value)
            log.append("\(request)")
            if faults.silentActions.contains(request.opcode.rawValue) { return }
            indicate(answer(request).wire, from: characteristic)
        case RecorderProfile.objectDataControl:
            control(try ObjectDataControl(wire: value))
        default: break
        }
        if faults.answersLate {
            for _ in 0..<20 { await Task.yield() }
        }
    }

    package func subscribe(
        _ characteristic: GATTCharacteristicID
    ) throws(ObjectTransferError) -> AsyncStream<[UInt8]> {
        try connected()
        let (stream, continuation) = AsyncStream<[UInt8]>.makeStream()
        listeners[characteristic] = continuation
        return stream
    }

    private func connected() throws(ObjectTransferError) {
        guard isConnected else { throw ObjectTransferError(.linkLost, "link lost") }
    }

    private func indicate(_ value: [UInt8], from point: GATTCharacteristicID) {
        for stray in faults.straysBeforeAnswer { listeners[point]?.yield(stray) }
        listeners[point]?.yield(value + faults.padding)
    }
}

// MARK: The object server

extension ObjectServerDouble {
    private var currentObject: Object? {
        if current == .directory { return directory }
        return objects.first { $0.metadata.id == current }
    }

    private var directory: Object {
        let own = ObjectMetadata(
            id: .directory, name: "Directory", type: .directoryListing, currentSize: 0, properties: .read)
        let bytes = ([own] + objects.map(\.metadata)).flatMap(\.directoryRecord)
        return Object(metadata: own, bytes: bytes)
    }

    private func answer(_ request: ObjectListRequest) -> ObjectListResponse {
        func go(to id: ObjectID?, _ otherwise: ObjectListResult) -> ObjectListResponse {
            guard let id else { return ObjectListResponse(to: request.opcode, otherwise) }
            current = id
            if let (grown, bytes) = growsWhenSelected, grown == id { replace(id.value, bytes) }
            return ObjectListResponse(to: request.opcode, .success)
        }
        switch request {
        case .goTo(.directory) where hasDirectory: return go(to: .directory, .success)
        case .goTo(let id):
            return go(to: objects.first { $0.metadata.id == id }?.metadata.id, .objectIDNotFound)
        case .first: return go(to: objects.first?.metadata.id, .noObject)
        case .next where faults.listsForever:
            guard let last = current, let id = ObjectID(last.value + 1) else {
                return go(to: nil, .outOfBounds)
            }
            objects = [Object(metadata: ObjectMetadata(id: id, name: "more", type: .unspecified), bytes: [])]
            return go(to: id, .success)
        case .next:
            let index = objects.firstIndex { $0.metadata.id == current } ?? objects.count
            return go(to: objects.dropFirst(index + 1).first?.metadata.id, .outOfBounds)
        case .last, .previous, .order, .requestNumberOfObjects, .clearMarking:
            return ObjectListResponse(to: request.opcode, .opcodeNotSupported)
        }
    }

    private func answer(_ request: ObjectActionRequest) -> ObjectActionResponse {
        func respond(_ result: ObjectActionResult, _ checksum: UInt32? = nil) -> ObjectActionResponse {
            ObjectActionResponse(to: request.opcode, result, checksum: checksum)
        }
        guard let object = currentObject else { return respond(.invalidObject) }
        if faults.lockedAnswers > 0 {
            faults.lockedAnswers -= 1
            return respond(.objectLocked)
        }
        switch request {
        case .delete:
            objects.removeAll { $0.metadata.id == current }
            current = nil
            return respond(.success)
        case .calculateChecksum(let offset, let length):
            guard let range = range(offset, length, in: object) else { return respond(.invalidParameter, 7) }
            var checksum = CRC32.checksum(Array(object.bytes[range]))
            if faults.wrongChecksums > 0 {
                faults.wrongChecksums -= 1
                checksum ^= 1
            }
            return respond(.success, checksum)
        case .read(let offset, let length):
            guard let range = range(offset, length, in: object) else { return respond(.invalidParameter) }
            send(object, range)
            return respond(.success)
        case .abort: return respond(.success)
        case .create, .execute, .write: return respond(.opcodeNotSupported)
        }
    }

    private func range(_ offset: UInt32, _ length: UInt32, in object: Object) -> Range<Int>? {
        let end = Int(offset) + Int(length)
        return end <= object.bytes.count ? Int(offset)..<end : nil
    }

    private func send(_ object: Object, _ range: Range<Int>) {
        let bytes = Array(object.bytes[range].dropLast(faults.shortBytes))
        let excess = [UInt8](repeating: 0xEE, count: faults.excessBytes)
        if let limit = faults.cutAfterBytes, bytes.count >= limit {
            bytesSent += limit
            stream.push(corrupted(Array(bytes.prefix(limit)), at: range.lowerBound))
            faults.cutAfterBytes = nil
            cut()
            return
        }
        if let limit = faults.cutAfterBytes { faults.cutAfterBytes = limit - bytes.count }
        bytesSent += bytes.count
        stream.push(corrupted(bytes, at: range.lowerBound) + excess)
    }

    private func corrupted(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        guard let position = faults.corruptsOnceAt.map({ Int($0) - offset }), bytes.indices.contains(position)
        else { return bytes }
        faults.corruptsOnceAt = nil
        var bytes = bytes
        bytes[position] ^= 1
        return bytes
    }

    private func control(_ command: ObjectDataControl) {
        switch command {
        case .start(let offset, let length, let credits):
            sending = (Int(offset), Int(offset) + Int(length), Int(credits))
        case .credit(let more): sending?.credits += Int(more)
        case .stop: sending = nil
        }
        while let window = sending, window.credits > 0, window.next < window.end {
            guard let object = currentObject, object.bytes.count >= window.end else { return }
            let end = min(window.next + framePayload, window.end)
            sendFrame(object.bytes[window.next..<end], at: window.next)
            sending?.next = end
            sending?.credits -= 1
        }
    }

    private func sendFrame(_ payload: ArraySlice<UInt8>, at offset: Int) {
        defer { framesSent += 1 }
        if let limit = faults.cutAfterBytes {
            guard limit > payload.count else {
                faults.cutAfterBytes = nil
                return cut()
            }
            faults.cutAfterBytes = limit - payload.count
        }
        if faults.lostFrames.contains(framesSent) { return }
        if let every = faults.losesEvery, framesSent % every == every - 1 { return }
        bytesSent += payload.count
        let bytes = corrupted(Array(payload), at: offset)
        frames.push([ObjectDataFrame(offset: UInt32(offset), payload: bytes[...]).wire])
    }
}

/// Frames out of a pipe.
private struct PipedFrames: FrameSource {
    let pipe: Conduit<[UInt8]>

    func frames() async throws(ObjectTransferError) -> [[UInt8]] {
        try await pipe.take(upTo: 256)
    }

    func discardPending() async {
        pipe.discard()
    }

    func close() async {
        pipe.finish(ObjectTransferError(.channel, "closed"))
    }
}
