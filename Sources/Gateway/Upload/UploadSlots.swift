import EventLoop

/// The places for files on their way at the same time; whoever waits longest in the queue's order goes first.
final class UploadSlots: Sendable {
    private struct Waiter {
        let id: Int
        let order: Int64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var count: Int
        /// Fewer than none while more are taken than there are places now.
        var free: Int
        var lastID = 0
        var waiters: [Waiter] = []
        var cancelled: Set<Int> = []
    }

    private let state: Locked<State>

    init(_ count: Int) {
        state = Locked(State(count: max(1, count), free: max(1, count)))
    }

    /// Waits for a place and runs `body` in it; nil when the task is cancelled before there is one. Lower `order` is
    /// served first.
    func withSlot<Value>(order: Int64, _ body: () async -> Value) async -> Value? {
        guard await acquire(order) else { return nil }
        defer { release() }
        return await body()
    }

    private func acquire(_ order: Int64) async -> Bool {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        let isOurs = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.cancelled.contains(id) { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiters.append(Waiter(id: id, order: order, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return nil
                }
                return state.waiters.remove(at: index).continuation
            }
            waiter?.resume(returning: false)
        }
        _ = state.withLock { $0.cancelled.remove(id) }
        return isOurs
    }

    /// From now on there are so many places; who is in one stays in it.
    func resize(to count: Int) {
        let count = max(1, count)
        let added = state.withLock { state in
            defer { state.count = count }
            let added = count - state.count
            if added < 0 { state.free += added }
            return added
        }
        for _ in 0..<max(0, added) { release() }
    }

    private func release() {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard state.free >= 0 else {
                state.free += 1
                return nil
            }
            let first = state.waiters.indices.min {
                (state.waiters[$0].order, state.waiters[$0].id)
                    < (state.waiters[$1].order, state.waiters[$1].id)
            }
            guard let first else {
                state.free += 1
                return nil
            }
            return state.waiters.remove(at: first).continuation
        }
        next?.resume(returning: true)
    }
}
