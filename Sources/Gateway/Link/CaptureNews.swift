import EventLoop
import Recorder

/// Whether a recorder has captured anything since it was last listed. What it says while it is being pulled counts too:
/// otherwise a capture that was sealed in between would wait for the next interval.
final class CaptureNews: Sendable {
    private let last = Locked<CaptureStatus?>(nil)
    private let wakeup = Wakeup()

    /// Everything up to this status is about to be listed.
    func begin(with status: CaptureStatus) {
        last.withLock { $0 = status }
        wakeup.lower()
    }

    /// The recorder says how it is now.
    func note(_ status: CaptureStatus) {
        let isNews = last.withLock { last in
            defer { last = status }
            return last.map { Self.isNews(status, after: $0) } ?? true
        }
        if isNews { wakeup.raise() }
    }

    /// Returns once there is news, and takes it; also when the task is cancelled.
    func wait() async {
        await wakeup.wait()
    }

    private static func isNews(_ status: CaptureStatus, after old: CaptureStatus) -> Bool {
        status.sealedCaptures > old.sealedCaptures || status.storageGeneration != old.storageGeneration
            || (old.flags.contains(.recording) && !status.flags.contains(.recording))
    }
}
