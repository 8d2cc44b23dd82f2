/// Continuous time that sleeps on an event loop's timers.
///
/// `Task.sleep` keeps a cancelled sleeper in memory until its time has come; a deadline around every short operation
/// would add up. Here a cancelled sleep is gone at once.
package struct LoopClock: Clock, Sendable {
    package typealias Instant = ContinuousClock.Instant
    package typealias Duration = Swift.Duration

    private let loop: EventLoop

    package init(loop: EventLoop) {
        self.loop = loop
    }

    package var now: Instant { .now }
    package var minimumResolution: Duration { .milliseconds(1) }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                loop.submit { [loop] in
                    sleeper.begin(continuation, on: loop, until: deadline)
                }
            }
        } onCancel: {
            loop.submit { sleeper.cancel() }
        }
    }
}

/// One sleep; touched on the loop's thread only.
private final class Sleeper: @unchecked Sendable {
    // Proof for @unchecked: created by the sleeping task, which touches nothing in it; everything else happens in
    // closures that the loop runs.
    private var continuation: CheckedContinuation<Void, any Error>?
    private var timer: LoopTimer?
    private var isCancelled = false

    func begin(
        _ continuation: CheckedContinuation<Void, any Error>, on loop: EventLoop,
        until deadline: LoopClock.Instant
    ) {
        guard !isCancelled else { return continuation.resume(throwing: CancellationError()) }
        self.continuation = continuation
        timer = loop.schedule(after: max(.zero, ContinuousClock.now.duration(to: deadline))) {
            self.end(.success(()))
        }
    }

    func cancel() {
        isCancelled = true
        timer?.cancel()
        end(.failure(CancellationError()))
    }

    private func end(_ result: Result<Void, any Error>) {
        continuation?.resume(with: result)
        continuation = nil
        timer = nil
    }
}
