package import ObjectTransfer

/// What one link brought.
package struct LinkReport: Sendable, Equatable {
    /// Who the recorder is, if it came to that.
    package var recorder: RecorderIdentity?
    /// Assets that became durable.
    package var pulled = 0
    /// Objects that were deleted on the recorder.
    package var deleted = 0
    /// Whether everything that the recorder has was understood and is held.
    package var isWhole = false
    /// The failures so far, to be given to the next link.
    package var ledger: FailureLedger
    /// Why the work ended early; nil when everything was done that could be.
    package var failure: RecorderError?
}

/// The work on one link, from identity to deletes; used once for each link. Its rules are those of
/// ``LinkWorkMachine``; this does the steps.
package actor RecorderSession {
    /// What the owner decides.
    package struct Options: Sendable {
        /// When objects are deleted on the recorder.
        package var policy: DeletePolicy
        /// Bytes that are asked for at once; what is lost of a cut link, at most.
        package var window: UInt32
        /// Whether to stop once it is known who the recorder is and how it is.
        package var isIntroduction = false
        /// How long the parts of a transfer may take.
        package var deadlines = ObjectTransferDeadlines()

        /// Options with these values; a window of 0 counts as 1.
        package init(policy: DeletePolicy = .afterUpload, window: UInt32 = 256 * 1024) {
            self.policy = policy
            self.window = max(1, window)
        }
    }

    let link: any GATTLink
    let channel: any DataChannel
    let store: any CaptureStore
    let options: Options
    let clock: any Clock<Duration>
    private let time: @Sendable () -> ClockValue
    private let onEvent: @Sendable (RecorderEvent) -> Void
    private(set) var machine: LinkWorkMachine
    private var problemsShown = 0
    var report: LinkReport
    /// Whether bytes of the asset that is pulled now came on this link.
    var hasGained = false

    /// Work on `link`, whose files come through `channel` into `store`. `time` is the hub's time at the
    /// moment of the call; `onEvent` is called in order and must not block.
    package init(
        link: any GATTLink, channel: any DataChannel, store: any CaptureStore,
        options: Options = Options(), ledger: FailureLedger = FailureLedger(),
        clock: any Clock<Duration> = ContinuousClock(), time: @escaping @Sendable () -> ClockValue,
        onEvent: @escaping @Sendable (RecorderEvent) -> Void = { _ in }
    ) {
        (self.link, self.channel, self.store) = (link, channel, store)
        (self.options, self.clock, self.time, self.onEvent) = (options, clock, time, onEvent)
        machine = LinkWorkMachine(policy: options.policy, isIntroduction: options.isIntroduction)
        report = LinkReport(ledger: ledger)
    }

    /// Does everything that can be done on the link and says what came of it. Ends early when the link is
    /// lost, the store is full, or the task is cancelled.
    package func run() async -> LinkReport {
        do throws(RecorderError) {
            try await requireProfile()
            let client = try await reaching("opening the object transfer service") {
                () async throws(ObjectTransferError) in
                try await ObjectTransferClient(
                    over: self.link, clock: self.clock, deadlines: self.options.deadlines)
            }
            try await client.whileReceiving { () async throws(RecorderError) in
                try await self.work(with: client)
            }
        } catch {
            report.failure = error
        }
        await channel.close()
        return report
    }

    private func requireProfile() async throws(RecorderError) {
        for characteristic in RecorderProfile.required where await !link.offers(characteristic) {
            throw RecorderError(
                .notARecorder, "the device does not offer \(characteristic)",
                hint: "it is not a Celestia recorder, or its firmware is too old", endsLink: true)
        }
    }

    private func work(with client: ObjectTransferClient) async throws(RecorderError) {
        var step = machine.step
        while true {
            switch step {
            case .finished: return
            case .stop(let error): throw error
            default: break
            }
            // Some steps do not touch the link: without it they are in vain.
            if let lost = await client.failure { throw RecorderError(lost, doing: "working on the link") }
            let outcome = await outcome(of: step, with: client)
            step = machine.handle(outcome, ledger: report.ledger)
            report.recorder = machine.recorder
            report.isWhole = machine.isWhole
            for problem in machine.problems[problemsShown...] { onEvent(.problem(problem)) }
            problemsShown = machine.problems.count
        }
    }

    private func outcome(
        of step: LinkWorkMachine.Step, with client: ObjectTransferClient
    ) async -> LinkWorkMachine.Outcome {
        do throws(RecorderError) {
            return try await perform(step, with: client)
        } catch {
            return .failed(error)
        }
    }

    private func perform(
        _ step: LinkWorkMachine.Step, with client: ObjectTransferClient
    ) async throws(RecorderError) -> LinkWorkMachine.Outcome {
        switch step {
        case .readIdentity:
            let identity = try await readIdentity(with: client)
            onEvent(.identified(identity))
            return .identity(identity)
        case .writeClock:
            let value = time().wire
            try await reaching("writing the clock") { () async throws(ObjectTransferError) in
                try await client.writeAttribute(value, to: RecorderProfile.clock)
            }
            onEvent(.clockWritten)
            return .done
        case .readStatus, .confirmStatus:
            let status = try await readStatus(with: client)
            if step == .readStatus { onEvent(.status(status)) }
            return .status(status)
        case .readBattery:
            onEvent(.battery(try await readBattery(with: client)))
            return .done
        case .list:
            let channel = channel
            return .listing(
                try await reaching("listing") { () async throws(ObjectTransferError) in
                    try await client.list(via: channel)
                })
        case .readManifest(let object):
            return .manifest(try await readManifest(object, with: client))
        case .plan(let index):
            guard let recorder = machine.recorder else { return .done }
            return .planned(try await store.plan(machine.captures[index], from: recorder))
        case .compare(let present):
            try await compare(present)
            return .done
        case .announce(let captures, let wanted, let bytes):
            onEvent(.listed(captures: captures, wanted: wanted, bytes: bytes))
            return .done
        case .pull(let asset, let resume): return try await pull(asset, after: resume, with: client)
        case .release(let object, let key):
            return .released(try await release(object, key, with: client))
        case .finished, .stop: return .done
        }
    }

    /// Gives up what is wanted and was found to be gone.
    private func compare(_ present: Set<ObjectID>) async throws(RecorderError) {
        guard let recorder = machine.recorder, let generation = machine.storageGeneration else { return }
        let absent = try await store.wanted(
            besides: present, from: recorder, storageGeneration: generation)
        for key in report.ledger.noteAbsent(absent) {
            try await store.giveUp(key)
            onEvent(.problem("object \(key.objectID): the recorder does not have it any more"))
        }
    }

    func emit(_ event: RecorderEvent) {
        onEvent(event)
    }

    /// Runs a part of the transfer and wraps its error with what was being done.
    func reaching<Value: Sendable>(
        _ what: String, _ body: () async throws(ObjectTransferError) -> Value
    ) async throws(RecorderError) -> Value {
        do throws(ObjectTransferError) {
            return try await body()
        } catch {
            throw RecorderError(error, doing: what)
        }
    }
}
