import CaptureQueue

/// Looks after the disk: says when it runs low, and that there is room again. Without it a queue that ran out of space
/// would only find out by chance that it is over.
struct StorageWatch: Sendable {
    let queue: CaptureQueue
    let log: Log
    let clock: any Clock<Duration>
    /// Files can be taken again.
    let onRoom: @Sendable () async -> Void

    /// How often the disk is looked at while it is low, and otherwise.
    static let lowInterval = Duration.seconds(15)
    static let interval = Duration.seconds(300)

    /// Watches until the task is cancelled.
    func run() async {
        var wasLow = false
        while !Task.isCancelled {
            var isLow = wasLow
            do throws(QueueError) {
                let hasRoom = try await queue.reviewSpace()
                isLow = try await queue.isHeldForSpace()
                if isLow, !wasLow {
                    log.warning(
                        "the disk is low on space: no files are taken until there is room; uploads go on",
                        .diskLow)
                }
                if hasRoom || (wasLow && !isLow) {
                    log.notice("the disk has room again: files are taken", .diskRoom)
                    await onRoom()
                }
            } catch {
                if !wasLow { log.warning("the disk's space cannot be looked after: \(error)") }
            }
            wasLow = isLow
            await rest(isLow)
        }
    }

    private func rest(_ isLow: Bool) async {
        let (clock, interval) = (clock, isLow ? Self.lowInterval : Self.interval)
        guard !isLow else {
            try? await clock.sleep(for: interval)
            return
        }
        // A refused file is a change of the queue: it is heard of at once.
        let changes = await queue.changes()
        _ = await firstOf(
            { (try? await clock.sleep(for: interval)) == nil ? nil : true },
            {
                for await _ in changes where (try? await queue.isHeldForSpace()) != false { return true }
                return nil
            })
    }
}
