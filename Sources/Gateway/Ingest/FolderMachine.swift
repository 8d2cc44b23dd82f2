/// When the files of a watched folder are complete. Pure.
///
/// Nobody says that a file is complete: it counts as such once it has not changed for a while. A file that is moved
/// into the folder is complete from the start, and has to wait all the same.
struct FolderMachine: Sendable {
    /// What a look at a file tells.
    struct Look: Sendable, Equatable {
        var size: Int64
        /// Nanoseconds since 1970.
        var modified: Int64
        var inode: UInt64
    }

    private struct Candidate {
        var look: Look
        /// Since when it has looked like this.
        var since: ContinuousClock.Instant
        /// Not to be tried before; after a failure that may pass.
        var notBefore: ContinuousClock.Instant
        var failures = 0
    }

    /// How long a file must not have changed.
    let settling: Duration
    private var candidates: [FilePath: Candidate] = [:]

    private static let firstRest = Duration.seconds(30)
    private static let longestRest = Duration.seconds(3600)

    init(settling: Duration) {
        self.settling = settling
    }

    /// The folder as it is now, without what was dealt with. Returns the paths that are complete, in their order.
    mutating func scanned(_ found: [FilePath: Look], at now: ContinuousClock.Instant) -> [FilePath] {
        candidates = candidates.filter { found[$0.key] != nil }
        for (path, look) in found where candidates[path]?.look != look {
            candidates[path] = Candidate(look: look, since: now, notBefore: now)
        }
        return candidates.filter { ready($0.value) <= now }.map(\.key).sorted()
    }

    /// The file was dealt with.
    mutating func settled(_ path: FilePath) { candidates[path] = nil }

    /// Taking the file failed in a way that may pass.
    mutating func failed(_ path: FilePath, at now: ContinuousClock.Instant) {
        guard var candidate = candidates[path] else { return }
        let rest = Self.firstRest * (1 << min(candidate.failures, 10))
        candidate.failures += 1
        candidate.notBefore = now.advanced(by: min(rest, Self.longestRest))
        candidates[path] = candidate
    }

    /// When to look again although nothing was heard of; nil when nothing waits.
    var next: ContinuousClock.Instant? { candidates.values.map(ready).min() }

    private func ready(_ candidate: Candidate) -> ContinuousClock.Instant {
        max(candidate.since.advanced(by: settling), candidate.notBefore)
    }
}
