/// One watched descriptor. Used on the loop's thread only; lives until `cancel()`.
package final class FDWatch {
    let id: UInt
    /// The watched descriptor; it stays its owner's.
    package let fd: Int32
    private let loop: EventLoop
    private var isCancelled = false

    init(loop: EventLoop, id: UInt, fd: Int32) {
        self.loop = loop
        self.id = id
        self.fd = fd
    }

    /// Waits for other events from now on; an empty set pauses the watch (errors are still reported).
    package func update(_ events: FDEvents) throws(SystemError) {
        guard !isCancelled else { return }
        try loop.update(self, events: events)
    }

    /// No handler call comes after this. To be called before the descriptor is closed.
    package func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        loop.cancel(self)
    }
}
