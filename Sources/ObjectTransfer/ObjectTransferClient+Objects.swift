/// What became of a delete.
package enum ObjectDeletion: Sendable, Hashable {
    /// The server deleted the object.
    case deleted
    /// The server did not have the object any more.
    case alreadyGone
}

extension ObjectTransferClient {
    /// Makes `id` the current object. Throws `list` with the server's result when it cannot.
    package func select(_ id: ObjectID) async throws(ObjectTransferError) {
        let response = try await perform(.goTo(id))
        guard response.result == .success else {
            throw ObjectTransferError(
                .list(response.result), "going to object \(id): the server answered \(response.result)")
        }
    }

    /// Reads the metadata of the current object; what the server does not offer is nil or empty.
    package func readMetadata() async throws(ObjectTransferError) -> ObjectMetadata {
        guard let id = try await readOptional(ObjectTransferService.objectID) else {
            throw ObjectTransferError(.unsupported, "the server does not tell object identifiers")
        }
        let name = try await readOptional(ObjectTransferService.objectName) ?? []
        var object = ObjectMetadata(
            id: try ObjectID(wire: id), name: decodeObjectName(name[...]),
            type: try ObjectType(wire: try await readAttribute(ObjectTransferService.objectType)[...]))
        let size = try ObjectSize(wire: try await readAttribute(ObjectTransferService.objectSize))
        (object.currentSize, object.allocatedSize) = (size.current, size.allocated)
        if let value = try await readOptional(ObjectTransferService.firstCreated) {
            object.created = try ObjectDate(wire: value)
        }
        if let value = try await readOptional(ObjectTransferService.lastModified) {
            object.modified = try ObjectDate(wire: value)
        }
        if let value = try await readOptional(ObjectTransferService.objectProperties) {
            object.properties = try ObjectProperties(wire: value)
        }
        return object
    }

    /// Makes `id` the current object and reads its metadata, freshly: the current object is shared state
    /// of the server. Throws `objectChanged` when another one is current afterwards.
    package func metadata(of id: ObjectID) async throws(ObjectTransferError) -> ObjectMetadata {
        try await select(id)
        let object = try await readMetadata()
        guard object.id == id else {
            throw ObjectTransferError(.objectChanged, "asked for object \(id), \(object.id) is current")
        }
        return object
    }

    /// Asks for the CRC-32 of `length` bytes of the current object from `offset`. Throws `unsupported` for
    /// a server without the feature.
    package func checksum(offset: UInt32, length: UInt32) async throws(ObjectTransferError) -> UInt32 {
        guard features.actions.contains(.calculateChecksum) else {
            throw ObjectTransferError(.unsupported, "the server computes no checksums")
        }
        let response = try await succeed(
            .calculateChecksum(offset: offset, length: length), within: deadlines.checksum(of: length))
        guard let checksum = response.checksum else {
            throw ObjectTransferError(.malformed, "a checksum response without checksum")
        }
        return checksum
    }

    /// Deletes the object `expected`, after a fresh look that it is still that one. Throws `objectChanged`
    /// when it is not, and `action(.objectLocked)` when it is in use now.
    package func delete(_ expected: ObjectMetadata) async throws(ObjectTransferError) -> ObjectDeletion {
        let found: ObjectMetadata
        do throws(ObjectTransferError) {
            found = try await metadata(of: expected.id)
        } catch {
            guard error.code == .list(.objectIDNotFound) else { throw error }
            return .alreadyGone
        }
        guard found.describesSameContent(as: expected) else {
            throw ObjectTransferError(.objectChanged, "object \(expected.id) is not the one that was read")
        }
        let response = try await perform(.delete)
        if response.result == .invalidObject { return .alreadyGone }
        _ = try response.checked()
        return .deleted
    }

    /// Reads any characteristic of the device within the deadline of an attribute.
    package func readAttribute(
        _ characteristic: GATTCharacteristicID
    ) async throws(ObjectTransferError) -> [UInt8] {
        let link = link
        return try await withDeadline(deadlines.attribute, clock: clock, "reading an attribute") {
            () async throws(ObjectTransferError) in
            try await link.read(characteristic)
        }
    }

    /// Writes any characteristic of the device within the deadline of an attribute.
    package func writeAttribute(
        _ value: [UInt8], to characteristic: GATTCharacteristicID
    ) async throws(ObjectTransferError) {
        let link = link
        try await withDeadline(deadlines.attribute, clock: clock, "writing an attribute") {
            () async throws(ObjectTransferError) in
            try await link.write(value, to: characteristic)
        }
    }

    /// Reads a characteristic that the device need not have; nil when it does not.
    package func readOptional(
        _ characteristic: GATTCharacteristicID
    ) async throws(ObjectTransferError) -> [UInt8]? {
        guard await link.offers(characteristic) else { return nil }
        return try await readAttribute(characteristic)
    }
}
