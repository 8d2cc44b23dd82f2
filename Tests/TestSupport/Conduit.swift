import EventLoop
package import ObjectTransfer

/// Elements on their way from a simulated device to whoever reads them.
package final class Conduit<Element: Sendable>: Sendable {
    private struct State {
        var items: [Element] = []
        var end: ObjectTransferError?
        var waiter: CheckedContinuation<Void, Never>?

        mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Locked(State())

    package init() {}

    package var isEmpty: Bool { state.withLock { $0.items.isEmpty } }

    /// Adds elements; readers take them in order.
    package func push(_ items: some Sequence<Element>) {
        let waiter = state.withLock { state in
            state.items += items
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Ends the pipe: what is in it can still be read, then `error` is thrown.
    package func finish(_ error: ObjectTransferError) {
        let waiter = state.withLock { state in
            state.end = state.end ?? error
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    package func discard() {
        state.withLock { $0.items = [] }
    }

    /// Waits for elements and returns at least one and at most `count`.
    package func take(upTo count: Int) async throws(ObjectTransferError) -> [Element] {
        while true {
            if Task.isCancelled { throw ObjectTransferError(.cancelled, "cancelled") }
            let (items, end) = state.withLock { state in
                let items = Array(state.items.prefix(count))
                state.items.removeFirst(items.count)
                return (items, state.end)
            }
            if !items.isEmpty { return items }
            if let end { throw end }
            await waitForChange()
        }
    }

    private func waitForChange() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    let isReady = !state.items.isEmpty || state.end != nil || Task.isCancelled
                    if !isReady { state.waiter = continuation }
                    return isReady
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.takeWaiter() }?.resume()
        }
    }
}

extension Conduit: ByteStream where Element == UInt8 {
    package func read(upTo count: Int) async throws(ObjectTransferError) -> [UInt8] {
        try await take(upTo: count)
    }

    package func hasUnreadBytes() async -> Bool { !isEmpty }

    package func close() async {
        finish(ObjectTransferError(.channel, "closed"))
    }
}
