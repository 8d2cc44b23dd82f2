import CaptureQueue
import EventLoop
import Recorder

/// Keeps one `RecorderLink` running for each recorder that the user has paired.
actor LinkSupervisor {
    private struct Entry {
        let link: RecorderLink
        let stop: Wakeup
        let stopped: Wakeup
    }

    private let context: LinkContext
    private var entries: [String: Entry] = [:]
    private let (starts, startsContinuation) = AsyncStream.makeStream(of: Entry.self)
    /// What could be deleted on each recorder when it was last asked for.
    private var deletable: [String: Int] = [:]

    init(context: LinkContext) {
        self.context = context
    }

    /// Runs the links until the task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.followQueue() }
            for await entry in starts {
                group.addTask {
                    _ = await firstOf(
                        {
                            await entry.link.run()
                            return true
                        },
                        {
                            await entry.stop.wait()
                            return false
                        }
                    )
                    entry.stopped.raise()
                }
            }
        }
    }

    /// Begins with every recorder that is paired.
    func superviseAll() async throws(QueueError) {
        for recorder in try await context.queue.recorders() { supervise(recorder) }
    }

    /// Another account may want other recorders.
    func followAccount() async {
        guard let recorders = try? await context.queue.recorders() else { return }
        for recorder in recorders where recorder.pairedAt != nil {
            if recorder.unboundAt == nil { supervise(recorder) } else { await release(recorder.serial) }
        }
    }

    /// Keeps a link to this recorder if it is paired and in the account; one without a known address waits for a pairing.
    func supervise(_ recorder: RecorderRecord) {
        guard recorder.pairedAt != nil, recorder.unboundAt == nil, let address = recorder.bluetoothIdentity
        else { return }
        supervise(recorder.serial, address: address)
    }

    /// Keeps a link to this recorder from now on.
    func supervise(_ serial: String, address: String) {
        guard entries[serial] == nil else { return }
        let entry = Entry(
            link: RecorderLink(serial: serial, address: address, context: context), stop: Wakeup(),
            stopped: Wakeup())
        entries[serial] = entry
        startsContinuation.yield(entry)
    }

    /// Ends the link to this recorder and waits until it is dropped.
    func release(_ serial: String) async {
        guard let entry = entries.removeValue(forKey: serial) else { return }
        entry.stop.raise()
        await entry.stopped.wait()
        context.board.removeLink(serial)
    }

    /// Looks at a recorder now; at every one for nil. Returns false when there is no such recorder.
    @discardableResult
    func want(_ serial: String?) -> Bool {
        let wanted = entries.filter { serial == nil || $0.key == serial }
        for entry in wanted.values { entry.link.want() }
        return !wanted.isEmpty
    }

    /// Whether a link that should be working has given no sign of life for too long.
    var isStuck: Bool { entries.values.contains { $0.link.pulse.isStuck() } }

    /// Sees to it that what the cloud has confirmed is deleted on the recorder soon.
    private func followQueue() async {
        for await _ in await context.queue.changes() {
            guard context.configuration.deletePolicy == .afterUpload else { continue }
            for serial in entries.keys {
                let count = await deletableCount(of: serial)
                // Only growth: an object that the recorder refuses to delete must not keep the link busy.
                if count > deletable[serial, default: 0] { want(serial) }
                deletable[serial] = count
            }
        }
    }

    private func deletableCount(of serial: String) async -> Int {
        guard let recorder = try? await context.queue.recorder(serial),
            let generation = recorder.storageGeneration,
            let count = try? await context.queue.deletableCount(
                recorder: serial, storageGeneration: generation, policy: .afterUpload)
        else { return 0 }
        return count
    }
}
