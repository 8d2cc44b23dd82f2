internal import Synchronization

/// How far one window has come; written by the transfer, read by its watchdog.
final class TransferProgress: Sendable {
    private let received = Atomic<Int>(0)
    private let isStoring = Atomic<Bool>(false)

    /// Bytes that came so far.
    var bytes: Int { received.load(ordering: .relaxed) }

    /// Hands `bytes` on to `sink`; while the sink works the silence is not the server's fault.
    func pass(_ bytes: [UInt8], to sink: ByteSink) async throws(ObjectTransferError) {
        received.add(bytes.count, ordering: .relaxed)
        isStoring.store(true, ordering: .relaxed)
        defer { isStoring.store(false, ordering: .relaxed) }
        try await sink(bytes)
    }

    /// Returns an error after `stall` without a byte, or when `limit` has passed; nil when cancelled. One
    /// timer that samples costs less than a timer for each chunk, and is late by a quarter at most.
    func watch(
        stall: Duration, limit: Duration, clock: any Clock<Duration>
    ) async -> ObjectTransferError? {
        let samples = 4
        var silent = 0
        var elapsed: Duration = .zero
        var last = bytes
        while true {
            guard (try? await clock.sleep(for: stall / samples)) != nil else { return nil }
            elapsed += stall / samples
            let now = bytes
            silent = now == last && !isStoring.load(ordering: .relaxed) ? silent + 1 : 0
            last = now
            if silent >= samples {
                return ObjectTransferError(.stalled, "no data within \(stall)")
            }
            if elapsed >= limit {
                return ObjectTransferError(.stalled, "the data came too slowly: \(now) bytes in \(elapsed)")
            }
        }
    }
}
