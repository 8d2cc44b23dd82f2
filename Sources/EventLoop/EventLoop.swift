internal import CLinux
import Glibc

/// One thread around epoll that runs descriptor watches, timers and the jobs of every actor pinned to it.
///
/// A C library lives on the loop through an actor whose executor this is: its callbacks arrive on the loop's
/// thread and enter the actor by `assumeIsolated`. Nothing that runs here may block.
package final class EventLoop: SerialExecutor, Sendable {
    /// What other threads may touch.
    private struct Shared {
        var jobs: [UnownedJob] = []
        var closures: [@Sendable () -> Void] = []
        var isWakePending = false
        var isStopped = false
        var thread: pthread_t?

        /// Whether the loop must be woken: it was not already.
        private mutating func needsWake() -> Bool {
            defer { isWakePending = true }
            return !isWakePending
        }

        mutating func append(job: UnownedJob) -> Bool {
            jobs.append(job)
            return needsWake()
        }

        mutating func append(closure: @escaping @Sendable () -> Void) -> Bool {
            closures.append(closure)
            return needsWake()
        }
    }

    private let shared = Locked(Shared())
    private let confined: LoopConfined<LoopState>
    private let wakeFD: Int32
    private let time: @Sendable () -> ContinuousClock.Instant

    /// Starts the loop's thread. Throws `SystemError` when the process has no descriptors or threads left.
    package static func start(name: String = "loop") throws(SystemError) -> EventLoop {
        let loop = try EventLoop(time: { ContinuousClock.now })
        try loop.startThread(name: name)
        return loop
    }

    /// A loop without a thread, for tests: it runs on the caller's thread, only in `turn()`, and its time is
    /// whatever `time` says.
    package static func manual(
        time: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(SystemError) -> EventLoop {
        let loop = try EventLoop(time: time)
        loop.shared.withLock { $0.thread = pthread_self() }
        return loop
    }

    private init(time: @escaping @Sendable () -> ContinuousClock.Instant) throws(SystemError) {
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else { throw SystemError("epoll_create1") }
        let wake = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        guard wake >= 0 else { throw SystemError("eventfd") }
        self.time = time
        wakeFD = wake
        confined = LoopConfined(LoopState(epoll: OwnedFD(epoll), wake: OwnedFD(wake)))
        guard celestiad_epoll_ctl(epoll, EPOLL_CTL_ADD, wake, EPOLLIN.rawValue, 0) == 0 else {
            throw SystemError("epoll_ctl")
        }
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let mustWake = shared.withLock { $0.append(job: job) }
        if mustWake { wake() }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() {
        precondition(isOnLoop, "called off the event loop's thread")
    }

    package func isIsolatingCurrentContext() -> Bool? {
        isOnLoop
    }

    /// Whether the caller runs on the loop's thread.
    package var isOnLoop: Bool {
        shared.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    // MARK: Descriptors and timers (on the loop only)

    /// Calls `handler` whenever `fd` is ready (level-triggered) until the watch is cancelled. The descriptor
    /// stays the caller's and must outlive the watch. On the loop's thread only.
    package func watch(
        _ fd: Int32, for events: FDEvents, _ handler: @escaping (FDEvents) -> Void
    ) throws(SystemError) -> FDWatch {
        checkIsolated()
        let id = try confined.value.add(fd: fd, events: events, handler: handler)
        return FDWatch(loop: self, id: id, fd: fd)
    }

    func update(_ watch: FDWatch, events: FDEvents) throws(SystemError) {
        checkIsolated()
        try confined.value.modify(id: watch.id, events: events)
    }

    func cancel(_ watch: FDWatch) {
        checkIsolated()
        confined.value.remove(id: watch.id)
    }

    /// Calls `body` once, `delay` from now, unless the timer is cancelled. On the loop's thread only.
    package func schedule(after delay: Duration, _ body: @escaping () -> Void) -> LoopTimer {
        checkIsolated()
        let timer = LoopTimer(due: time().advanced(by: delay), body: body)
        confined.value.timers.insert(timer)
        return timer
    }

    /// How many timers are kept, cancelled ones included. On the loop's thread only.
    package var pendingTimers: Int {
        checkIsolated()
        return confined.value.timers.count
    }

    /// Runs `body` on the loop's thread, soon.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        let mustWake = shared.withLock { $0.append(closure: body) }
        if mustWake { wake() }
    }

    /// Ends the loop's thread after the turn that is under way. Jobs that come later never run.
    package func stop() {
        shared.withLock { $0.isStopped = true }
        wake()
    }

    // MARK: Turning

    /// Runs what is due without waiting: jobs, ready descriptors, timers. For a manual loop; returns whether
    /// anything ran.
    @discardableResult
    package func turn() -> Bool {
        checkIsolated()
        return turn(waiting: false)
    }

    private func startThread(name: String) throws(SystemError) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)  // released by the thread when the loop ends
        let status = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let loop = Unmanaged<EventLoop>.fromOpaque(context).takeRetainedValue()
                loop.run()
                return nil
            }, context.toOpaque())
        guard status == 0 else {
            context.release()
            throw SystemError("pthread_create", errno: status)
        }
        celestiad_set_thread_name(thread, String(name.prefix(15)))
        pthread_detach(thread)
    }

    private func run() {
        shared.withLock { $0.thread = pthread_self() }
        while !shared.withLock({ $0.isStopped }) {
            turn(waiting: true)
        }
        confined.value.removeAll()
        shared.withLock { $0.thread = nil }
    }

    @discardableResult
    private func turn(waiting: Bool) -> Bool {
        let state = confined.value
        let hasJobs = shared.withLock { $0.isWakePending }
        let timeout = waiting && !hasJobs ? state.timers.millisecondsToNext(from: time()) : 0
        var ran = false
        for event in state.poll(timeout: timeout) {
            guard event.id != 0 else {
                drainWake()
                continue
            }
            // Looked up anew for each event: an earlier handler of this turn may have cancelled the watch.
            guard let handler = state.handler(id: event.id) else { continue }
            handler(event.events)
            ran = true
        }
        while let timer = state.timers.popDue(at: time()) {
            timer.fire()
            ran = true
        }
        return runJobs() || ran
    }

    private func runJobs() -> Bool {
        let (jobs, closures) = shared.withLock { shared in
            let taken = (shared.jobs, shared.closures)
            shared.jobs = []
            shared.closures = []
            shared.isWakePending = false
            return taken
        }
        for closure in closures { closure() }
        for job in jobs { job.runSynchronously(on: asUnownedSerialExecutor()) }
        return !jobs.isEmpty || !closures.isEmpty
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeFD, &one, 8)
    }

    private func drainWake() {
        var count: UInt64 = 0
        _ = read(wakeFD, &count, 8)
    }
}
