/// How long the parts of a transfer may take (all on the injected clock).
package struct ObjectTransferDeadlines: Sendable, Hashable {
    /// One attribute read, write or subscription; longer than the 30 s after which ATT gives up.
    package var attribute: Duration = .seconds(35)
    /// From the accepted write to a control point until its indication.
    package var controlPoint: Duration = .seconds(10)
    /// What a server computes of a checksum in one second, at least; added to ``controlPoint``.
    package var checksumBytesPerSecond = 200_000
    /// Opening a data channel.
    package var openChannel: Duration = .seconds(45)
    /// Silence on the data channel.
    package var stall: Duration = .seconds(10)
    /// What a server sends in one second, at least, over a whole window; one that never ends is cut off.
    package var slowestBytesPerSecond = 512
    /// Waits before an action is tried again that found the object locked.
    package var lockedBackoff: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2)]

    /// The usual deadlines.
    package init() {}

    func checksum(of length: UInt32) -> Duration {
        controlPoint + .seconds(Double(length) / Double(max(1, checksumBytesPerSecond)))
    }

    func window(of length: UInt32) -> Duration {
        stall + .seconds(Double(length) / Double(max(1, slowestBytesPerSecond)))
    }
}

/// Runs `operation`; after `limit` cancels it and throws `timedOut`. The operation must end promptly when
/// its task is cancelled, as ``GATTLink`` and ``DataChannel`` promise.
func withDeadline<Value: Sendable>(
    _ limit: Duration, clock: any Clock<Duration>, _ what: String,
    operation: @escaping @Sendable () async throws(ObjectTransferError) -> Value
) async throws(ObjectTransferError) -> Value {
    try await race(operation) {
        do {
            try await clock.sleep(for: limit)
            return ObjectTransferError(.timedOut, "\(what): no answer within \(limit)")
        } catch {
            return nil
        }
    }
}

/// Runs `operation` beside `watchdog`. If the watchdog returns an error first, the operation is cancelled
/// and that error thrown; a watchdog that returns nil was cancelled and decides nothing.
func race<Value: Sendable>(
    _ operation: @escaping @Sendable () async throws(ObjectTransferError) -> Value,
    against watchdog: @escaping @Sendable () async -> ObjectTransferError?
) async throws(ObjectTransferError) -> Value {
    let result = await withTaskGroup(of: Result<Value, ObjectTransferError>?.self) { group in
        group.addTask {
            do throws(ObjectTransferError) {
                return .success(try await operation())
            } catch {
                return .failure(error)
            }
        }
        group.addTask { await watchdog().map { .failure($0) } }
        while let result = await group.next() {
            guard let result else { continue }
            group.cancelAll()
            return result
        }
        return .failure(ObjectTransferError(.cancelled, "cancelled"))
    }
    return try result.get()
}
