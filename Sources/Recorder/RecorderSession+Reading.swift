internal import ObjectTransfer

extension RecorderSession {
    func readIdentity(with client: ObjectTransferClient) async throws(RecorderError) -> RecorderIdentity {
        let serial = try await reaching("reading the serial number") {
            () async throws(ObjectTransferError) in
            try await client.readAttribute(RecorderProfile.serialNumber)
        }
        return RecorderIdentity(
            serial: try RecorderIdentity.serial(from: serial),
            manufacturer: try await label(RecorderProfile.manufacturerName, with: client),
            model: try await label(RecorderProfile.modelNumber, with: client),
            firmware: try await label(RecorderProfile.firmwareRevision, with: client),
            hardware: try await label(RecorderProfile.hardwareRevision, with: client))
    }

    private func label(
        _ characteristic: GATTCharacteristicID, with client: ObjectTransferClient
    ) async throws(RecorderError) -> String? {
        try await optional(characteristic, with: client).flatMap { RecorderIdentity.label(from: $0) }
    }

    func readStatus(with client: ObjectTransferClient) async throws(RecorderError) -> CaptureStatus {
        let value = try await reaching("reading the capture status") {
            () async throws(ObjectTransferError) in
            try await client.readAttribute(RecorderProfile.captureStatus)
        }
        return try CaptureStatus(wire: value)
    }

    /// The charge in percent; nil when the recorder does not say, or says nonsense.
    func readBattery(with client: ObjectTransferClient) async throws(RecorderError) -> UInt8? {
        let value = try await optional(RecorderProfile.batteryLevel, with: client)
        return value?.first.flatMap { $0 <= 100 ? $0 : nil }
    }

    /// A value that nothing depends on: only a lost link is an error.
    private func optional(
        _ characteristic: GATTCharacteristicID, with client: ObjectTransferClient
    ) async throws(RecorderError) -> [UInt8]? {
        do throws(ObjectTransferError) {
            return try await client.readOptional(characteristic)
        } catch {
            guard !error.endsLink else { throw RecorderError(error, doing: "reading \(characteristic)") }
            return nil
        }
    }

    func readManifest(
        _ object: ObjectMetadata, with client: ObjectTransferClient
    ) async throws(RecorderError) -> ManifestReading {
        let size = object.currentSize ?? 0
        guard size <= RecorderProfile.maximumManifestBytes else {
            return .malformed("a manifest of \(size) bytes")
        }
        let bytes: [UInt8]
        if let key = machine.key(of: object.id), let kept = try await store.manifest(key, sizeBytes: size) {
            bytes = kept
        } else {
            let channel = channel
            bytes = try await reaching("reading manifest \(object.id)") {
                () async throws(ObjectTransferError) in
                try await client.readVerified(object, via: channel)
            }
        }
        do throws(RecorderError) {
            return .decoded(try Manifest(json: bytes))
        } catch {
            return .malformed(error.message)
        }
    }
}

extension ObjectTransferClient {
    /// Reads a small object whole and compares it with the server's checksum, twice if need be.
    fileprivate func readVerified(
        _ object: ObjectMetadata, via channel: any DataChannel
    ) async throws(ObjectTransferError) -> [UInt8] {
        let size = object.currentSize ?? 0
        for _ in 0..<2 {
            guard try await metadata(of: object.id).describesSameContent(as: object) else {
                throw ObjectTransferError(.objectChanged, "it changed since it was listed")
            }
            let bytes = try await readAll(size, via: channel)
            guard size > 0, features.actions.contains(.calculateChecksum) else { return bytes }
            if try await checksum(offset: 0, length: size) == CRC32.checksum(bytes) { return bytes }
        }
        throw ObjectTransferError(.protocolViolation, "its bytes differ from the recorder's checksum")
    }
}
