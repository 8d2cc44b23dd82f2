import EventLoop

/// A flag that one task waits for and any other raises; raised once or often, it wakes once.
package final class Wakeup: Sendable {
    private struct State {
        var isRaised = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    package func raise() {
        let waiter = state.withLock { state in
            let waiter = state.waiter
            state.waiter = nil
            state.isRaised = waiter == nil
            return waiter
        }
        waiter?.resume()
    }

    /// Forgets that it was raised.
    package func lower() {
        state.withLock { $0.isRaised = false }
    }

    /// Returns when the flag is raised, and lowers it; also when the task is cancelled. One waiter at a time.
    package func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    // A task that is cancelled does not take what was raised away from the next.
                    if Task.isCancelled { return true }
                    if state.isRaised {
                        state.isRaised = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiter
                state.waiter = nil
                return waiter
            }
            waiter?.resume()
        }
    }
}

/// Runs all of `operations` and returns what the first to end returns; the others are cancelled and waited for.
func firstOf<Value: Sendable>(_ operations: (@Sendable () async -> Value?)...) async -> Value? {
    await withTaskGroup(of: Value?.self) { group in
        for operation in operations { group.addTask { await operation() } }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
    }
}
