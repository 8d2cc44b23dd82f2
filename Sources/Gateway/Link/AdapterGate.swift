/// Lets one connection or pairing at a time through on each adapter: controllers fail when they connect while they
/// connect (ble.md 6.7).
package actor AdapterGate {
    private struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private var busy: Set<String> = []
    private var waiters: [String: [Waiter]] = [:]
    private var lastID = 0

    package init() {}

    /// Runs `body` while nobody else is inside for `adapter`. Throws `CancellationError` when the task is cancelled
    /// while it waits.
    package func pass<Value: Sendable>(
        _ adapter: String, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await enter(adapter)
        defer { leave(adapter) }
        return try await body()
    }

    private func enter(_ adapter: String) async throws {
        try Task.checkCancellation()
        guard !busy.insert(adapter).inserted else { return }
        lastID += 1
        let id = lastID
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                self.wait(Waiter(id: id, continuation: continuation), for: adapter)
            }
        } onCancel: {
            // Only hands the message over; `giveUp` finds the waiter or nothing.
            Task { await self.giveUp(id, adapter) }
        }
    }

    private func wait(_ waiter: Waiter, for adapter: String) {
        guard !Task.isCancelled else {
            waiter.continuation.resume(throwing: CancellationError())
            return
        }
        waiters[adapter, default: []].append(waiter)
    }

    private func giveUp(_ id: Int, _ adapter: String) {
        guard let index = waiters[adapter]?.firstIndex(where: { $0.id == id }),
            let waiter = waiters[adapter]?.remove(at: index)
        else { return }
        waiter.continuation.resume(throwing: CancellationError())
    }

    private func leave(_ adapter: String) {
        if let next = waiters[adapter]?.first {
            waiters[adapter]?.removeFirst()
            next.continuation.resume()
        } else {
            busy.remove(adapter)
        }
    }
}
