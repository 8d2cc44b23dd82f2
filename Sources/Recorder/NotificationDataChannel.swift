package import ObjectTransfer

/// Where the notifications of Object Data arrive, as through the descriptor of BlueZ's AcquireNotify.
package protocol FrameSource: Sendable {
    /// Waits for frames and returns all that are there, at least one, each a whole notification. Throws
    /// `linkLost` at the end, and `cancelled` promptly when its task is cancelled.
    func frames() async throws(ObjectTransferError) -> [[UInt8]]

    /// Throws away the frames that are there; waits for none.
    func discardPending() async

    /// Ends the notifications.
    func close() async
}

/// The data plane over notifications (recorder-profile.md, Data planes 2): START, CREDIT and STOP are written
/// to Object Data Control, frames come as notifications, a gap is read again from the gap.
package actor NotificationDataChannel: DataChannel {
    private let link: any GATTLink
    private let clock: any Clock<Duration>
    private let quiet: Duration
    private let open: @Sendable () async throws(ObjectTransferError) -> any FrameSource

    private var source: (any FrameSource)?
    private var window: FrameWindowMachine?
    private var allowance = FrameWindowMachine.maximumCredits
    private var framesSeen = 0
    private var isRestarting = false
    private var isStoring = false

    package nonisolated let plane = DataPlane.notifications
    package nonisolated let needsReadAction = false

    /// A channel over `link` whose frames come from what `open` returns. After `quiet` without a frame the
    /// last ones count as lost.
    package init(
        link: any GATTLink, clock: any Clock<Duration> = ContinuousClock(), quiet: Duration = .seconds(2),
        open: @escaping @Sendable () async throws(ObjectTransferError) -> any FrameSource
    ) {
        (self.link, self.clock, self.quiet, self.open) = (link, clock, quiet, open)
    }

    package func prepare() async throws(ObjectTransferError) {
        if source == nil { source = try await open() }
        await source?.discardPending()
    }

    package func receive(
        offset: UInt32, length: UInt32, into sink: @escaping ByteSink
    ) async throws(ObjectTransferError) {
        guard let source else { throw ObjectTransferError(.channel, "the notifications are not open") }
        var machine = FrameWindowMachine(offset: offset, length: length, allowance: allowance)
        let start = machine.start()
        window = machine
        defer {
            allowance = window?.allowance ?? allowance
            window = nil
        }
        try await send(start)
        let result = await withTaskGroup(of: Result<Void, ObjectTransferError>?.self) { group in
            group.addTask {
                do throws(ObjectTransferError) {
                    return .success(try await self.pump(source, into: sink))
                } catch {
                    return .failure(error)
                }
            }
            group.addTask { await self.watchSilence(of: source).map { .failure($0) } }
            while let result = await group.next() {
                guard let result else { continue }
                group.cancelAll()
                return result
            }
            return .failure(ObjectTransferError(.cancelled, "cancelled"))
        }
        try result.get()
    }

    package func close() async {
        let open = source
        source = nil
        if window != nil || open != nil { try? await send(.stop) }
        await open?.close()
    }

    /// Takes frames until the window is complete. All payloads of one batch go on as one chunk.
    private func pump(
        _ source: any FrameSource, into sink: ByteSink
    ) async throws(ObjectTransferError) {
        while let window, !window.isComplete {
            let frames = try await source.frames()
            framesSeen += frames.count
            var chunk: [UInt8] = []
            let mustRestart = try accept(frames, into: &chunk)
            if mustRestart {
                try await restart(source)
            } else if let credit = self.window?.credit() {
                try await send(credit)
            }
            if !chunk.isEmpty {
                isStoring = true
                defer { isStoring = false }
                try await sink(chunk)
            }
        }
    }

    private func accept(
        _ frames: [[UInt8]], into chunk: inout [UInt8]
    ) throws(ObjectTransferError) -> Bool {
        chunk.reserveCapacity(frames.reduce(0) { $0 + $1.count })
        for bytes in frames {
            let frame = try ObjectDataFrame(wire: bytes)
            switch window?.frame(offset: frame.offset, count: frame.payload.count) {
            case .accept: chunk += frame.payload
            case .ignore, nil: break
            case .restart:
                // What follows in the batch lies behind the gap.
                return true
            case .fail(let error): throw error
            }
        }
        return false
    }

    /// Stops the recorder and starts it from the first byte that is missing. What was sent before the stop
    /// has arrived when the stop is acknowledged, and goes.
    private func restart(_ source: any FrameSource) async throws(ObjectTransferError) {
        guard !isRestarting else { return }
        isRestarting = true
        defer { isRestarting = false }
        try await send(.stop)
        await source.discardPending()
        guard let start = window?.start() else { return }
        try await send(start)
    }

    /// Starts the recorder again whenever no frame comes; one sampling timer for the whole window.
    private func watchSilence(of source: any FrameSource) async -> ObjectTransferError? {
        var last = -1
        while true {
            guard (try? await clock.sleep(for: quiet)) != nil, let window, !window.isComplete else {
                return nil
            }
            defer { last = framesSeen }
            guard framesSeen == last, !isStoring, !isRestarting else { continue }
            do throws(ObjectTransferError) {
                switch self.window?.silence() {
                case .restart: try await restart(source)
                case .fail(let error): return error
                case .accept, .ignore, nil: break
                }
            } catch {
                return error
            }
        }
    }

    private func send(_ command: ObjectDataControl) async throws(ObjectTransferError) {
        try await link.write(command.wire, to: RecorderProfile.objectDataControl)
    }
}
