internal import ObjectTransfer

extension RecorderSession {
    /// Tries of one window that bring nothing before the object is left for another link.
    private static let fruitlessTries = 3

    /// Brings one asset whole and verified into the store (recorder-profile.md, Order of work).
    func pull(
        _ asset: RecorderAsset, after resume: ResumePoint?, with client: ObjectTransferClient
    ) async throws(RecorderError) -> LinkWorkMachine.Outcome {
        hasGained = false
        do throws(RecorderError) {
            if let reason = try await reasonToSkip(asset, with: client) {
                emit(.skipped(asset, reason: reason))
                return .skipped
            }
            var point = try await proved(resume, of: asset, with: client)
            for isLastTry in [false, true] {
                let crc = try await transfer(asset, after: point, with: client)
                if let proof = try await prove(asset, crc: crc, with: client) {
                    return try await finish(asset, proof: proof)
                }
                report.ledger.noteMismatch(of: asset.key)
                try await store.restart(asset.key)
                point = ResumePoint(offset: 0, crc32: 0, objectSize: asset.sizeBytes)
                guard !isLastTry else { break }
                emit(.problem("object \(asset.key.objectID): checksum differs, reading it again"))
                if let reason = try await reasonToSkip(asset, with: client) {
                    emit(.skipped(asset, reason: reason))
                    return .skipped
                }
            }
            throw RecorderError(
                .checksumMismatch,
                "object \(asset.key.objectID): its bytes differ from the recorder's checksum again")
        } catch {
            if !hasGained, error.code != .store {
                report.ledger.noteFailure(of: asset.key)
            }
            if !error.endsLink { emit(.skipped(asset, reason: error.message)) }
            throw error
        }
    }

    /// Makes the object current and looks whether it is still the one that was listed. Nil when it is.
    private func reasonToSkip(
        _ asset: RecorderAsset, with client: ObjectTransferClient
    ) async throws(RecorderError) -> String? {
        let found = try await reaching("object \(asset.key.objectID) is listed and cannot be had") {
            () async throws(ObjectTransferError) in
            try await client.metadata(of: asset.key.objectID)
        }
        if let properties = found.properties, !properties.contains(.read) {
            return "the recorder does not let it be read"
        }
        if let size = found.currentSize, size > asset.sizeBytes { return "it is still growing" }
        guard found.describesSameContent(as: asset.object) else {
            throw RecorderError(
                .objectChanged, "object \(asset.key.objectID) changed since it was listed")
        }
        return nil
    }

    /// The point to go on from: the journalled one if the recorder's checksum over it is the same, else the
    /// start.
    private func proved(
        _ resume: ResumePoint?, of asset: RecorderAsset, with client: ObjectTransferClient
    ) async throws(RecorderError) -> ResumePoint {
        let start = ResumePoint(offset: 0, crc32: 0, objectSize: asset.sizeBytes)
        guard let resume else { return start }
        if resume.objectSize == asset.sizeBytes, resume.offset <= asset.sizeBytes,
            client.features.actions.contains(.calculateChecksum)
        {
            if resume.offset == 0 { return start }
            let checksum = try await reaching("checksum of object \(asset.key.objectID)") {
                () async throws(ObjectTransferError) in
                try await client.checksum(offset: 0, length: resume.offset)
            }
            if checksum == resume.crc32 { return resume }
        }
        emit(.problem("object \(asset.key.objectID): what is held of it differs, reading it from the start"))
        try await store.restart(asset.key)
        return start
    }

    /// Reads from `point` to the end, in windows, each durable before the next; returns the CRC-32 of the
    /// whole. What fails without ending the link is tried again from where it stopped.
    private func transfer(
        _ asset: RecorderAsset, after point: ResumePoint, with client: ObjectTransferClient
    ) async throws(RecorderError) -> UInt32 {
        let writer = AssetWriter(asset.key, after: point, store: store)
        let size = asset.sizeBytes
        var offset = point.offset
        var triesLeft = Self.fruitlessTries
        progress(asset, offset)
        while offset < size {
            do throws(ObjectTransferError) {
                try await readWindow(of: asset, at: offset, into: writer, with: client)
            } catch {
                let reached = await writer.offset
                triesLeft = reached > offset ? Self.fruitlessTries : triesLeft - 1
                if reached > offset { noteProgress(of: asset) }
                try? await writer.checkpoint()
                if let failure = await writer.failure { throw failure }
                let failure = RecorderError(error, doing: "object \(asset.key.objectID) at \(reached)")
                guard !error.endsLink, triesLeft > 0 else { throw failure }
                emit(.problem(failure.message))
                guard try await reasonToSkip(asset, with: client) == nil else { throw failure }
                offset = reached
                continue
            }
            try await writer.checkpoint()
            offset = await writer.offset
            triesLeft = Self.fruitlessTries
            noteProgress(of: asset)
        }
        return await writer.crc32
    }

    private func readWindow(
        of asset: RecorderAsset, at offset: UInt32, into writer: AssetWriter,
        with client: ObjectTransferClient
    ) async throws(ObjectTransferError) {
        let length = min(options.window, asset.sizeBytes - offset)
        try await client.read(offset: offset, length: length, via: channel) {
            bytes async throws(ObjectTransferError) in
            try await writer.take(bytes)
            await self.progress(asset, writer.offset)
        }
    }

    private func progress(_ asset: RecorderAsset, _ received: UInt32) {
        emit(.pulling(asset, received: received, total: asset.sizeBytes, via: channel.plane))
    }

    private func noteProgress(of asset: RecorderAsset) {
        hasGained = true
        report.ledger.noteProgress(of: asset.key)
    }

    /// Nil when the recorder's checksum of the whole differs.
    private func prove(
        _ asset: RecorderAsset, crc: UInt32, with client: ObjectTransferClient
    ) async throws(RecorderError) -> AssetProof? {
        guard asset.sizeBytes > 0 else { return .checksum(crc) }
        guard client.features.actions.contains(.calculateChecksum) else { return AssetProof.none(crc) }
        let checksum = try await reaching("checksum of object \(asset.key.objectID)") {
            () async throws(ObjectTransferError) in
            try await client.checksum(offset: 0, length: asset.sizeBytes)
        }
        return checksum == crc ? .checksum(crc) : nil
    }

    private func finish(
        _ asset: RecorderAsset, proof: AssetProof
    ) async throws(RecorderError) -> LinkWorkMachine.Outcome {
        let verdict = try await store.finish(asset, proof: proof)
        report.pulled += 1
        report.ledger.noteSuccess(of: asset.key)
        emit(.pulled(asset))
        if verdict == .digestMismatch {
            emit(
                .problem("object \(asset.key.objectID): its SHA-256 is not that of the manifest; it is kept"))
        }
        if case .checksum = proof { return .pulled(isReleasable: verdict == .durable) }
        emit(.problem("object \(asset.key.objectID): the recorder computes no checksums; it is kept there"))
        return .pulled(isReleasable: false)
    }

    /// Deletes an object on the recorder if the policy allows it for how safe its bytes are now; true when
    /// it is gone.
    func release(
        _ object: ObjectMetadata, _ key: AssetKey, with client: ObjectTransferClient
    ) async throws(RecorderError) -> Bool {
        guard options.policy.allows(try await store.custody(of: key)) else { return false }
        _ = try await reaching("deleting object \(key.objectID)") {
            () async throws(ObjectTransferError) in
            try await client.delete(object)
        }
        report.deleted += 1
        try await store.didDelete(key)
        emit(.deleted(key))
        return true
    }
}
