/// A clock for tests that moves only when it is told to: an hour of backoff passes at once.
package final class ManualClock: Clock, Sendable {
    package typealias Instant = ContinuousClock.Instant
    package typealias Duration = Swift.Duration

    private struct Sleeper {
        let id: Int
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Instant
        var lastID = 0
        var sleepers: [Sleeper] = []
        var cancelled: Set<Int> = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Locked<State>

    package init(now: Instant = ContinuousClock.now) {
        state = Locked(State(now: now))
    }

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .nanoseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                add(Sleeper(id: id, deadline: deadline, continuation: continuation))
            }
        } onCancel: {
            cancel(id)
        }
    }

    /// Moves time forward and wakes whoever is due.
    package func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.deadline <= state.now }
            state.sleepers.removeAll { $0.deadline <= state.now }
            return due.sorted { $0.deadline < $1.deadline }.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    /// Returns once at least `count` tasks sleep on this clock.
    package func waitForSleepers(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if ready { continuation.resume() }
        }
    }

    /// When the next sleeper is due, if any sleeps.
    package var nextDeadline: Instant? {
        state.withLock { $0.sleepers.map(\.deadline).min() }
    }

    private func add(_ sleeper: Sleeper) {
        enum Outcome { case sleeps, isDue, wasCancelled }
        let (outcome, waiters) = state.withLock { state in
            if state.cancelled.remove(sleeper.id) != nil {
                return (Outcome.wasCancelled, [CheckedContinuation<Void, Never>]())
            }
            guard sleeper.deadline > state.now else { return (.isDue, []) }
            state.sleepers.append(sleeper)
            let count = state.sleepers.count
            let ready = state.waiters.filter { $0.count <= count }.map(\.continuation)
            state.waiters.removeAll { $0.count <= count }
            return (.sleeps, ready)
        }
        for waiter in waiters { waiter.resume() }
        switch outcome {
        case .sleeps: break
        case .isDue: sleeper.continuation.resume()
        case .wasCancelled: sleeper.continuation.resume(throwing: CancellationError())
        }
    }

    private func cancel(_ id: Int) {
        let sleeper = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.sleepers.remove(at: index).continuation
        }
        sleeper?.resume(throwing: CancellationError())
    }
}
