internal import ObjectTransfer
internal import Recorder

/// The Object Transfer Service: the current object and the two control points.
extension RecorderModel {
    /// The object of that identifier; the directory is made when it is selected, so that its size holds.
    func find(_ id: ObjectID) -> StoredObject? {
        guard id == .directory else { return store.object(id) }
        let listing = store.listing
        return StoredObject(
            metadata: ObjectMetadata(
                id: .directory, name: "Directory", type: .directoryListing,
                currentSize: UInt32(listing.count), allocatedSize: UInt32(listing.count), properties: .read),
            content: .bytes(listing))
    }

    func readObject(_ id: GATTCharacteristicID) throws(ATTError) -> [UInt8] {
        if id == ObjectTransferService.feature {
            return ObjectTransferFeatures(
                actions: [.delete, .calculateChecksum, .read, .abort], lists: .goTo
            ).wire
        }
        guard let metadata = current?.metadata else { throw .objectNotSelected }
        let unknown = ObjectDate(year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0)
        let size = metadata.currentSize ?? 0
        switch id {
        case ObjectTransferService.objectName: return Array(metadata.name.utf8)
        case ObjectTransferService.objectType: return metadata.type.wire
        case ObjectTransferService.objectSize:
            return ObjectSize(current: size, allocated: metadata.allocatedSize ?? size).wire
        case ObjectTransferService.firstCreated, ObjectTransferService.lastModified:
            return (metadata.created ?? unknown).wire
        case ObjectTransferService.objectID: return metadata.id.wire
        case ObjectTransferService.objectProperties: return (metadata.properties ?? []).wire
        default: throw .attributeNotFound
        }
    }

    // MARK: Object List Control Point

    func performList(_ bytes: [UInt8]) throws(ATTError) -> WriteReply {
        let point = ObjectTransferService.listControlPoint
        try checkControlPoint(point)
        do throws(ObjectTransferError) {
            let request = try ObjectListRequest(wire: bytes)
            return answer(point, ObjectListResponse(to: request.opcode, select(request)).wire)
        } catch {
            guard case .list(let result) = error.code else { throw .invalidLength }
            return answer(point, [ObjectListResponse.opcode, bytes[0], result.rawValue])
        }
    }

    private func select(_ request: ObjectListRequest) -> ObjectListResult {
        if transfer?.plane == .channel { return .operationFailed }
        let ids = [ObjectID.directory] + store.objects.map(\.id)
        let position = current.flatMap { object in ids.firstIndex(of: object.id) }
        switch request {
        case .first: return select(ids.first)
        case .last: return select(ids.last)
        case .next:
            guard let position else { return .operationFailed }
            return position + 1 < ids.count ? select(ids[position + 1]) : .outOfBounds
        case .previous:
            guard let position else { return .operationFailed }
            return position > 0 ? select(ids[position - 1]) : .outOfBounds
        case .goTo(let id): return ids.contains(id) ? select(id) : .objectIDNotFound
        case .order, .requestNumberOfObjects, .clearMarking: return .opcodeNotSupported
        }
    }

    private func select(_ id: ObjectID?) -> ObjectListResult {
        guard let id, let object = find(id) else { return .noObject }
        // The notification plane acts on the current object, so its transfer ends with it.
        transfer = nil
        current = object
        return .success
    }

    // MARK: Object Action Control Point

    func performAction(_ bytes: [UInt8]) throws(ATTError) -> WriteReply {
        let point = ObjectTransferService.actionControlPoint
        try checkControlPoint(point)
        do throws(ObjectTransferError) {
            let request = try ObjectActionRequest(wire: bytes)
            if case .calculateChecksum(let offset, let length) = request {
                return startChecksum(offset: offset, length: length)
            }
            let (result, outputs) = perform(request)
            var reply = answer(point, ObjectActionResponse(to: request.opcode, result).wire)
            reply.late += outputs
            return reply
        } catch {
            guard case .action(let result) = error.code else { throw .invalidLength }
            return answer(point, [ObjectActionResponse.opcode, bytes[0], result.rawValue])
        }
    }

    private func perform(_ request: ObjectActionRequest) -> (ObjectActionResult, [RecorderOutput]) {
        switch request {
        case .create, .execute, .write: return (.opcodeNotSupported, [])
        case .abort:
            guard transfer != nil else { return (.operationFailed, []) }
            transfer = nil
            return (.success, [])
        case .delete: return delete()
        case .read(let offset, let length): return startRead(offset: offset, length: length)
        case .calculateChecksum: return (.operationFailed, [])
        }
    }

    private func delete() -> (ObjectActionResult, [RecorderOutput]) {
        guard let object = current else { return (.invalidObject, []) }
        guard object.metadata.properties?.contains(.delete) == true else {
            return (.procedureNotPermitted, [])
        }
        guard transfer == nil, !takeLock(object.id) else { return (.objectLocked, []) }
        store.delete(object.id)
        current = nil
        return (.success, [.stateChanged] + statusChanged())
    }

    private func startRead(offset: UInt32, length: UInt32) -> (ObjectActionResult, [RecorderOutput]) {
        guard let object = current else { return (.invalidObject, []) }
        guard !faults.refusesReads else { return (.procedureNotPermitted, []) }
        guard isChannelOpen else { return (.channelUnavailable, []) }
        guard transfer == nil, !takeLock(object.id) else { return (.objectLocked, []) }
        guard Int64(offset) + Int64(length) <= Int64(object.size) else { return (.invalidParameter, []) }
        guard begin(.channel, object, offset: offset, length: length, credits: 0) else {
            return (.operationFailed, [])
        }
        return (.success, [.channelBytesReady])
    }

    private func startChecksum(offset: UInt32, length: UInt32) -> WriteReply {
        let point = ObjectTransferService.actionControlPoint
        func refuse(_ result: ObjectActionResult) -> WriteReply {
            answer(point, ObjectActionResponse(to: .calculateChecksum, result).wire)
        }
        guard let object = current else { return refuse(.invalidObject) }
        guard transfer == nil, !takeLock(object.id) else { return refuse(.objectLocked) }
        guard Int64(offset) + Int64(length) <= Int64(object.size) else { return refuse(.invalidParameter) }
        guard let reader = ContentReader(object.content) else { return refuse(.operationFailed) }
        checksum = ChecksumJob(object: object.id, reader: reader, offset: offset, length: length)
        return WriteReply(late: [.workPending])
    }

    /// Goes on with what takes long. Returns `workPending` while there is more to do.
    package func work() -> [RecorderOutput] {
        guard var job = checksum else { return [] }
        let point = ObjectTransferService.actionControlPoint
        switch job.step() {
        case .more:
            checksum = job
            return [.workPending]
        case .failed:
            checksum = nil
            return answer(point, ObjectActionResponse(to: .calculateChecksum, .operationFailed).wire).outputs
        case .done(let crc):
            checksum = nil
            let value = takeWrongChecksum(job.object) ? ~crc : crc
            let response = ObjectActionResponse(to: .calculateChecksum, .success, checksum: value)
            return answer(point, response.wire).outputs
        }
    }

    // MARK: Faults

    func takeLock(_ id: ObjectID) -> Bool {
        guard let target = faults.locked, target.includes(id) else { return false }
        if target == .once { clear(\.locked) }
        return true
    }

    private func takeWrongChecksum(_ id: ObjectID) -> Bool {
        guard let target = faults.wrongChecksum, target.includes(id) else { return false }
        if target == .once { clear(\.wrongChecksum) }
        return true
    }

    private func clear(_ fault: WritableKeyPath<RecorderFaults, RecorderFaults.Target?>) {
        var faults = faults
        faults[keyPath: fault] = nil
        _ = replace(faults)
    }

    /// Control points answer only whoever listens, and one request at a time.
    private func checkControlPoint(_ point: GATTCharacteristicID) throws(ATTError) {
        guard isSubscribed(point) else { throw .subscriptionMissing }
        guard checksum == nil else { throw .procedureInProgress }
        requestCount &+= 1
    }

    private func answer(_ point: GATTCharacteristicID, _ response: [UInt8]) -> WriteReply {
        let previous = lastResponses.updateValue(response, forKey: point)
        let indication = RecorderOutput.indicate(point, response)
        switch faults.indications {
        case nil: return WriteReply(late: [indication])
        case .early: return WriteReply(early: [indication])
        case .never: return WriteReply()
        case .stale: return WriteReply(late: (previous.map { [.indicate(point, $0)] } ?? []) + [indication])
        }
    }
}

extension WriteReply {
    /// All outputs, for an answer that no write waits for.
    fileprivate var outputs: [RecorderOutput] { early + late }
}
