internal import ObjectTransfer

/// Carries the bytes of one asset from the link to the store, and knows their number and CRC-32.
actor AssetWriter {
    private let key: AssetKey
    private let objectSize: UInt32
    private let store: any CaptureStore
    private var crc: CRC32
    private var checkpointed: UInt32

    private(set) var offset: UInt32
    /// Why the store did not take the bytes.
    private(set) var failure: RecorderError?

    /// Continues after `point`.
    init(_ key: AssetKey, after point: ResumePoint, store: any CaptureStore) {
        (self.key, self.store) = (key, store)
        (offset, checkpointed, objectSize) = (point.offset, point.offset, point.objectSize)
        crc = CRC32(resuming: point.crc32)
    }

    var crc32: UInt32 { crc.value }

    func take(_ bytes: [UInt8]) async throws(ObjectTransferError) {
        guard bytes.count <= objectSize - offset else {
            throw ObjectTransferError(.protocolViolation, "the object is longer than it was listed")
        }
        do throws(RecorderError) {
            try await store.append(bytes, at: offset, to: key)
        } catch {
            failure = error
            throw ObjectTransferError(.sink, error.message, endsLink: error.endsLink)
        }
        offset += UInt32(bytes.count)
        crc.update(bytes)
    }

    /// Makes durable what came since the last time.
    func checkpoint() async throws(RecorderError) {
        guard offset > checkpointed else { return }
        try await store.checkpoint(
            key, at: ResumePoint(offset: offset, crc32: crc.value, objectSize: objectSize))
        checkpointed = offset
    }
}
