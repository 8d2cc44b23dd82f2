import CaptureQueue
import EventLoop
import FoundationEssentials
import ObjectTransfer
import Recorder

/// Takes down what happens on a link: on the board at once, in the queue one after the other, in the log what has
/// changed.
final class LinkJournal: Sendable {
    private struct State {
        var serial: String?
        /// Where each transfer under way began.
        var transfers: [String: UInt32] = [:]
        var hasProgressed = false
        var update: RecorderUpdate?
    }

    private let context: LinkContext
    private let deviceName: String?
    private let address: String?
    private let problems: ProblemLog
    private let state = Locked(State())
    private let updates: AsyncStream<RecorderUpdate>
    private let updatesContinuation: AsyncStream<RecorderUpdate>.Continuation

    init(context: LinkContext, deviceName: String?, address: String?, problems: ProblemLog) {
        self.context = context
        self.problems = problems
        self.deviceName = deviceName
        self.address = address
        (updates, updatesContinuation) = AsyncStream.makeStream(of: RecorderUpdate.self)
    }

    /// Whether a byte came or an object went.
    var hasProgressed: Bool { state.withLock { $0.hasProgressed } }

    /// What was learned about the recorder.
    var learned: RecorderUpdate? { state.withLock { $0.update } }

    /// Runs `work` while what it reports is written to the queue; returns after the last line is written.
    func keep<Value: Sendable>(_ work: @Sendable () async -> Value) async -> Value {
        async let writing: Void = write()
        let value = await work()
        updatesContinuation.finish()
        await writing
        finish()
        return value
    }

    private func write() async {
        for await update in updates {
            do throws(QueueError) {
                try await context.queue.record(update)
            } catch {
                context.log.warning(
                    "the recorder's status could not be stored: \(error)", .recorderProblem)
            }
        }
    }

    /// Takes one event; called in order, never blocks.
    func note(_ event: RecorderEvent) {
        switch event {
        case .identified(let identity): identified(identity)
        case .clockWritten:
            let now = context.now()
            onLink { $0.clockWrittenAt = now }
        case .status(let status): learn { $0.apply(status) }
        case .battery(let percent):
            guard let percent else { return }
            learn { $0.batteryPercent = Int(percent) }
        case .listed(let captures, let wanted, let bytes):
            let serial = state.withLock { $0.serial } ?? "?"
            if wanted > 0 {
                context.log.info(
                    "recorder \(serial): \(Terminal.count(captures, "capture")), \(Terminal.count(wanted, "file")) to pull, "
                        + "\(bytes) bytes")
            }
        case .pulling(let asset, let received, let total, let plane): pulling(asset, received, total, plane)
        case .pulled(let asset):
            state.withLock { $0.hasProgressed = true }
            end(asset.key.queueID.text)
            context.board.announce(.sessions)
        case .skipped(let asset, let reason):
            end(asset.key.queueID.text)
            let object = "object \(asset.key.objectID)"
            problem(reason.hasPrefix(object) ? reason : "\(object) was left out: \(reason)")
        case .deleted: state.withLock { $0.hasProgressed = true }
        case .problem(let text): problem(text)
        }
    }

    private func identified(_ identity: RecorderIdentity) {
        state.withLock { $0.serial = identity.serial }
        let (name, address) = (deviceName, address)
        learn { update in
            update.serial = identity.serial
            update.name = name.map { SafeName($0, fallback: identity.serial).text }
            update.manufacturer = identity.manufacturer
            update.model = identity.model
            update.firmware = identity.firmware
            update.hardware = identity.hardware
            update.bluetoothIdentity = address
        }
    }

    private func learn(_ change: (inout RecorderUpdate) -> Void) {
        let update = state.withLock { state -> RecorderUpdate? in
            var update = state.update ?? RecorderUpdate(serial: state.serial ?? "")
            change(&update)
            state.update = update
            return update.serial.isEmpty ? nil : update
        }
        if let update { updatesContinuation.yield(update) }
    }

    private func pulling(_ asset: RecorderAsset, _ received: UInt32, _ total: UInt32, _ plane: DataPlane) {
        let id = asset.key.queueID.text
        let isNew = state.withLock { state in
            guard let start = state.transfers[id] else {
                state.transfers[id] = received
                return true
            }
            if received > start { state.hasProgressed = true }
            return false
        }
        if isNew {
            context.board.begin(
                .deviceToHub, asset: id, name: asset.name.text, of: Int64(total), at: Int64(received),
                recorder: asset.key.serial)
            onLink { $0.dataPlane = plane.rawValue }
        }
        context.board.progress(.deviceToHub, asset: id, bytes: Int64(received))
    }

    private func end(_ asset: String) {
        state.withLock { $0.transfers[asset] = nil }
        context.board.end(.deviceToHub, asset: asset)
    }

    private func finish() {
        let transfers = state.withLock { state in
            let transfers = state.transfers.keys
            state.transfers = [:]
            return transfers
        }
        for asset in transfers { context.board.end(.deviceToHub, asset: asset) }
    }

    private func problem(_ text: String) {
        let serial = state.withLock { $0.serial } ?? "?"
        problems.warn(text, of: serial)
        onLink { $0.lastProblem = Terminal.printable(text) }
    }

    private func onLink(_ update: @escaping @Sendable (inout LinkStatus) -> Void) {
        guard let serial = state.withLock({ $0.serial }) else { return }
        context.board.updateLink(serial, update)
    }
}

extension RecorderUpdate {
    mutating func apply(_ status: CaptureStatus) {
        storageGeneration = status.storageGeneration
        storageTotalBytes = Int64(status.totalMiB) << 20
        storageFreeBytes = Int64(status.freeMiB) << 20
        isRecording = status.flags.contains(.recording)
        isClockUnset = status.flags.contains(.clockNotSet)
        sealedCaptures = Int(status.sealedCaptures)
    }
}
