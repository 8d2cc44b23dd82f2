import EventLoop

/// A bell for one waiter: rung any number of times, it wakes once. Never loses a ring.
final class WakeSignal: Sendable {
    private struct State {
        var isRung = false
        var isCancelled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    func ring() {
        let waiter = state.withLock { state in
            let waiter = state.waiter
            state.waiter = nil
            state.isRung = waiter == nil
            return waiter
        }
        waiter?.resume()
    }

    /// Returns at the next ring, after `timeout`, or when the task is cancelled.
    func wait(
        atMost timeout: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            group.addTask {
                do { try await sleep(timeout) } catch { return }
                self.ring()
            }
            await self.wait()
            group.cancelAll()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDone = state.withLock { state in
                    if state.isRung || state.isCancelled {
                        state.isRung = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.isCancelled = true
                let waiter = state.waiter
                state.waiter = nil
                return waiter
            }
            waiter?.resume()
        }
    }
}
