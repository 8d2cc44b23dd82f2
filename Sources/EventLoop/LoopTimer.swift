/// One pending call of `EventLoop.schedule`. Used on the loop's thread only.
package final class LoopTimer {
    let due: ContinuousClock.Instant
    private var body: (() -> Void)?

    init(due: ContinuousClock.Instant, body: @escaping () -> Void) {
        self.due = due
        self.body = body
    }

    /// The call will not happen; harmless when it already has.
    package func cancel() {
        body = nil
    }

    var isCancelled: Bool { body == nil }

    func fire() {
        let body = body
        self.body = nil
        body?()
    }
}

/// The pending timers, soonest first: a binary heap in which cancelled timers stay until they reach the top.
final class TimerHeap {
    private var heap: [LoopTimer] = []

    func insert(_ timer: LoopTimer) {
        heap.append(timer)
        var child = heap.count - 1
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
    }

    private func dropCancelled() {
        while heap.first?.isCancelled == true { _ = removeFirst() }
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
