/// One pending call of `EventLoop.schedule`. Used on the loop's thread only.
package final class LoopTimer {
    let due: ContinuousClock.Instant
    private var body: (() -> Void)?
    private weak var heap: TimerHeap?

    init(due: ContinuousClock.Instant, body: @escaping () -> Void) {
        self.due = due
        self.body = body
    }

    /// The call will not happen; harmless when it already has.
    package func cancel() {
        guard body != nil else { return }
        body = nil
        heap?.noteCancellation()
    }

    func join(_ heap: TimerHeap) {
        self.heap = heap
    }

    var isCancelled: Bool { body == nil }

    func fire() {
        let body = body
        self.body = nil
        body?()
    }
}

/// The pending timers, soonest first: a binary heap in which cancelled timers stay until they reach the top or are the
/// greater part.
final class TimerHeap {
    private var heap: [LoopTimer] = []
    private var cancelled = 0

    func insert(_ timer: LoopTimer) {
        timer.join(self)
        heap.append(timer)
        siftUp(heap.count - 1)
    }

    /// Deadlines are cancelled far more often than they come: without this they would pile up until their time.
    func noteCancellation() {
        cancelled += 1
        guard cancelled > 64, cancelled > heap.count / 2 else { return }
        heap.removeAll { $0.isCancelled }
        cancelled = 0
        for child in heap.indices { siftUp(child) }
    }

    var count: Int { heap.count }

    private func siftUp(_ index: Int) {
        var child = index
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].due < heap[parent].due else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    func popDue(at now: ContinuousClock.Instant) -> LoopTimer? {
        dropCancelled()
        guard let first = heap.first, first.due <= now else { return nil }
        return removeFirst()
    }

    /// How long epoll may wait, rounded up so that it does not wake just before the timer; -1 for ever.
    func millisecondsToNext(from now: ContinuousClock.Instant) -> Int32 {
        dropCancelled()
        guard let first = heap.first else { return -1 }
        guard first.due > now else { return 0 }
        let (seconds, attoseconds) = (first.due - now).components
        guard seconds < 86_400 else { return 86_400_000 }
        return Int32(seconds) * 1000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    func removeAll() {
        heap.removeAll()
        cancelled = 0
    }

    private func dropCancelled() {
        while heap.first?.isCancelled == true {
            _ = removeFirst()
            cancelled = max(0, cancelled - 1)
        }
    }

    private func removeFirst() -> LoopTimer {
        heap.swapAt(0, heap.count - 1)
        let first = heap.removeLast()
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { break }
            let right = left + 1
            let child = right < heap.count && heap[right].due < heap[left].due ? right : left
            guard heap[child].due < heap[parent].due else { break }
            heap.swapAt(child, parent)
            parent = child
        }
        return first
    }
}
