/// When the network counts as back: shortly after something came up, once for all that comes up together, and not more
/// often than once per `spacing`. Pure.
package struct NetworkReturnMachine: Sendable, Equatable {
    /// A link, its address and its route come one after the other.
    package static let settling = Duration.milliseconds(300)
    package static let spacing = Duration.seconds(5)
    private static let maximumLinks = 1024

    private var runningLinks: Set<Int32> = []
    private var due: ContinuousClock.Instant?
    private var last: ContinuousClock.Instant?

    package init() {}

    /// Returns when to tell, where that was not planned before.
    package mutating func heard(_ change: NetworkChange, at now: ContinuousClock.Instant) -> ContinuousClock
        .Instant?
    {
        switch change {
        case .link(let index, isRunning: false):
            runningLinks.remove(index)
            return nil
        case .link(let index, isRunning: true):
            // Interfaces tell of themselves for many reasons.
            guard runningLinks.count < Self.maximumLinks, runningLinks.insert(index).inserted else {
                return nil
            }
        case .address, .route, .overrun: break
        }
        guard due == nil else { return nil }
        let next = max(now.advanced(by: Self.settling), last?.advanced(by: Self.spacing) ?? now)
        due = next
        return next
    }

    /// It is told now.
    package mutating func told(at now: ContinuousClock.Instant) {
        due = nil
        last = now
    }
}
