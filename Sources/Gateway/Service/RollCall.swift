package import EventLoop

/// Finds out whether every part of the daemon still works, and not merely whether time passes.
package struct RollCall: Sendable {
    /// One part that can be asked.
    package struct Part: Sendable {
        let name: String
        let answer: @Sendable () async -> Bool

        /// `answer` returns once the part has come around; false when it says itself that something in it is stuck.
        package init(_ name: String, answer: @escaping @Sendable () async -> Bool) {
            self.name = name
            self.answer = answer
        }

        /// An event loop that turns and fires its timers.
        package init(_ name: String, loop: EventLoop) {
            self.init(name) { (try? await LoopClock(loop: loop).sleep(for: .milliseconds(1))) != nil }
        }
    }

    private let parts: [Part]
    private let clock: any Clock<Duration>

    package init(_ parts: [Part], clock: any Clock<Duration> = ContinuousClock()) {
        self.parts = parts
        self.clock = clock
    }

    /// The same with one part more.
    package func adding(_ part: Part) -> RollCall {
        RollCall(parts + [part], clock: clock)
    }

    /// Asks every part at once, and returns the names of those that have not answered within `patience`: none, as soon as
    /// all have.
    package func take(patience: Duration) async -> [String] {
        let silent = Locked(Set(parts.map(\.name)))
        let (answers, all) = AsyncStream.makeStream(of: Void.self)
        // Not child tasks: what is stuck must hold up neither the others nor the end of the daemon.
        for part in parts {
            Task {
                guard await part.answer() else { return }
                let isLast = silent.withLock { silent in
                    silent.remove(part.name)
                    return silent.isEmpty
                }
                if isLast { all.finish() }
            }
        }
        let clock = clock
        _ = await firstOf(
            {
                for await _ in answers {}
                return true
            },
            { (try? await clock.sleep(for: patience, tolerance: nil)) == nil ? nil : false }
        )
        let missing = silent.withLock { $0 }
        return parts.map(\.name).filter(missing.contains)
    }
}

/// When a link that works last gave a sign of life. A link that waits for something of its own accord gives none.
final class LinkPulse: Sendable {
    private let last = Locked<ContinuousClock.Instant?>(nil)

    /// Far more than the sum of the deadlines between two signs: a whole file may be checked before its pull goes on.
    private static let longestSilence = Duration.seconds(900)

    /// Something went on.
    func beat(at now: ContinuousClock.Instant = .now) {
        last.withLock { $0 = now }
    }

    /// The link waits for a recorder, a time or the user.
    func rest() {
        last.withLock { $0 = nil }
    }

    func isStuck(at now: ContinuousClock.Instant = .now) -> Bool {
        last.withLock { $0.map { $0.duration(to: now) > Self.longestSilence } ?? false }
    }
}
