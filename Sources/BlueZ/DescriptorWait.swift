import EventLoop
import Glibc

/// Waits until a descriptor is ready, one wait at a time. epoll takes a descriptor once: to wait for two things at the
/// same time takes two descriptors of the same file.
actor DescriptorWait {
    enum Wake {
        case ready, expired, cancelled
    }

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let descriptor: Int32
    private let events: FDEvents
    private var waiter: (id: UInt64, continuation: CheckedContinuation<Wake, Never>)?
    private var watch: FDWatch?
    private var timer: LoopTimer?
    private var lastWait: UInt64 = 0

    /// The descriptor stays the caller's and must outlive every wait.
    init(_ descriptor: Int32, for events: FDEvents, on loop: EventLoop) {
        self.descriptor = descriptor
        self.events = events
        self.loop = loop
    }

    /// Suspends until the descriptor is ready or in error, `timeout` has passed (nil: never), `cancel()` is called or
    /// the task is cancelled. Throws EBUSY when somebody else waits.
    func wait(timeout: Duration?) async throws(SystemError) -> Wake {
        guard waiter == nil else { throw SystemError("epoll_ctl", errno: EBUSY) }
        lastWait += 1
        let id = lastWait
        watch = try loop.watch(descriptor, for: events) { [weak self] _ in
            self?.assumeIsolated { $0.wake(.ready) }
        }
        timer = timeout.map { timeout in
            loop.schedule(after: timeout) { [weak self] in self?.assumeIsolated { $0.wake(.expired) } }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { self.setWaiter($0, id: id) }
        } onCancel: {
            loop.submit { [weak self] in
                self?.assumeIsolated { if $0.waiter?.id == id { $0.wake(.cancelled) } }
            }
        }
    }

    /// Ends the wait that is under way.
    func cancel() {
        wake(.cancelled)
    }

    private func setWaiter(_ continuation: CheckedContinuation<Wake, Never>, id: UInt64) {
        waiter = (id, continuation)
        if Task.isCancelled { wake(.cancelled) }
    }

    private func wake(_ wake: Wake) {
        watch?.cancel()
        timer?.cancel()
        (watch, timer) = (nil, nil)
        waiter?.continuation.resume(returning: wake)
        waiter = nil
    }
}
