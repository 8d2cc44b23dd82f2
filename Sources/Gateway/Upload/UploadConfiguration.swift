package import Cloud
package import FoundationEssentials

/// How uploads are done, with the clocks that tests replace.
package struct UploadConfiguration: Sendable {
    /// Files on their way at the same time, over all sessions.
    package var parallelUploads = 2
    /// The bytes per second that each file may at times be held to, by whoever limits them; nil: no limit. Deadlines
    /// allow for it.
    package var slowestRate: Int64?
    /// When to try again what failed.
    package var retry = RetryPolicy()
    /// The bounds of one file's detours.
    package var limits = AssetMachine.Limits()
    /// What to ask for first when a chunked upload is opened.
    package var chunkSize = APIAssumptions.requestedChunkSizes[0]
    /// How often sessions that wait for storage are looked at again: first, and at most.
    package var quotaProbe: ClosedRange<Duration> = .seconds(30 * 60)...(.seconds(6 * 60 * 60))
    /// How often kept bytes are looked through for those whose time is over.
    package var releaseInterval = Duration.seconds(60 * 60)

    /// How long a stop waits for answers that are on their way. What is cancelled then is settled by the next start,
    /// which looks at the server first; a chunk is sent again.
    package var courtesy = Duration.milliseconds(500)

    /// The wall clock, for schedules that outlive the process and for people.
    package var now: @Sendable () -> Date = { Date() }
    /// A clock that nobody sets.
    package var monotonic: @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
    /// Throws only when the task is cancelled.
    package var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    package init() {}
}
