import EventLoop

/// Which problems of one recorder are worth a line in the log: each once, once more when it is still there after an
/// hour, and so many at most on one link. A recorder that does everything wrong must not fill the disk. Pure.
package struct ProblemFilter: Sendable {
    /// A problem that is still there is told again after so long.
    package static let repeatsAfter = Duration.seconds(60 * 60)
    /// Lines on one link.
    package static let linesPerLink = 20
    /// Problems that are remembered.
    package static let memory = 512

    private struct Entry {
        var toldAt: ContinuousClock.Instant
        var unsaid = 0
    }

    private var told: [String: Entry] = [:]
    private var lines = 0
    private var unsaid = 0

    package init() {}

    /// Takes a problem; returns the line to write, nil for none.
    package mutating func note(_ text: String, at now: ContinuousClock.Instant) -> String? {
        if let entry = told[text], entry.toldAt.duration(to: now) < Self.repeatsAfter {
            told[text]?.unsaid += 1
            return nil
        }
        guard lines < Self.linesPerLink else {
            unsaid += 1
            return nil
        }
        lines += 1
        let times = told[text]?.unsaid ?? 0
        remember(text, at: now)
        return times > 0 ? "\(text) (\(times) times more since it was told)" : text
    }

    /// The link has ended; returns the line that stands for those which were too many.
    package mutating func endLink() -> String? {
        defer { (lines, unsaid) = (0, 0) }
        return unsaid > 0 ? "\(unsaid) more problems like these" : nil
    }

    /// What was wrong is right again: should it come back, it is news.
    package mutating func forget() {
        told = [:]
    }

    private mutating func remember(_ text: String, at now: ContinuousClock.Instant) {
        if told.count >= Self.memory, let oldest = told.min(by: { $0.value.toldAt < $1.value.toldAt }) {
            told[oldest.key] = nil
        }
        told[text] = Entry(toldAt: now)
    }
}

/// Writes the problems of one recorder to the log, as its filter lets them through.
final class ProblemLog: Sendable {
    private let log: Log
    private let filter = Locked(ProblemFilter())

    init(_ log: Log) {
        self.log = log
    }

    func warn(_ text: String, of recorder: String) {
        guard let line = filter.withLock({ $0.note(text, at: .now) }) else {
            log.debug("recorder \(recorder): \(text)", .recorderProblem, recorder: recorder)
            return
        }
        log.warning("recorder \(recorder): \(line)", .recorderProblem, recorder: recorder)
    }

    func endLink(of recorder: String) {
        guard let line = filter.withLock({ $0.endLink() }) else { return }
        log.warning("recorder \(recorder): \(line)", .recorderProblem, recorder: recorder)
    }

    func forget() {
        filter.withLock { $0.forget() }
    }
}
