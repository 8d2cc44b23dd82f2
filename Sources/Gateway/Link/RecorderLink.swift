import BlueZ
import CaptureQueue
import DBus
import FoundationEssentials
import ObjectTransfer
import Recorder

/// One paired recorder's link: does what `LinkMachine` decides, for as long as the recorder is paired.
actor RecorderLink {
    let serial: String
    nonisolated let pulse = LinkPulse()
    private let address: String
    private let context: LinkContext
    private let wakeup = Wakeup()
    private let news = CaptureNews()
    private var machine = LinkMachine()
    private var generator = SystemRandomNumberGenerator()
    private var ledger = FailureLedger()
    private let problems: ProblemLog
    /// Failures of the link itself; news again after each good sync.
    private let failures: ProblemLog
    private var device: ObjectPath?
    private var link: BlueZGATTLink?
    private var follower: Task<Void, Never>?
    private var plane: DataPlanes.Choice?
    /// On this link.
    private var hasSynced = false

    /// How long a stop waits for BlueZ to drop the link.
    private static let farewell = Duration.seconds(3)

    init(serial: String, address: String, context: LinkContext) {
        self.serial = serial
        self.address = address
        self.context = context
        problems = ProblemLog(context.log)
        failures = ProblemLog(context.log)
    }

    /// Somebody has a reason to look at the recorder now.
    nonisolated func want() {
        wakeup.raise()
    }

    /// Runs until the task is cancelled, then drops the link.
    func run() async {
        var step = machine.first
        show(step)
        while !Task.isCancelled {
            let outcome = await perform(step)
            guard !Task.isCancelled else { break }
            report(outcome)
            step = machine.handle(outcome, using: &generator)
            show(step)
        }
        await dropLinkUncancelled()
    }

    private func perform(_ step: LinkMachine.Step) async -> LinkMachine.Outcome {
        do throws(LinkMachine.Failure) {
            switch step {
            case .watch: return try await watch()
            case .connect: return try await connect()
            case .resolve: return try await resolve()
            case .sync: return try await sync()
            case .linger: return try await linger()
            case .rest(let delay):
                await dropLink()
                return await rest(for: delay)
            case .waitForUser:
                await dropLink()
                await wakeup.wait()
                return .userActed
            }
        } catch {
            return .failed(error)
        }
    }

    // MARK: Steps

    private func watch() async throws(LinkMachine.Failure) -> LinkMachine.Outcome {
        forgetLink()
        let discovery = await context.bluez.discover(on: context.configuration.adapter)
        defer { discovery.end() }
        for await _ in await context.bluez.changes() {
            let found = await context.devices(address: address).first {
                $0.isHeard || $0.isConnected == true
            }
            guard let found else {
                let reason = await whyNotInReach()
                note { machine in machine.note(inReach: false, reason: reason) }
                continue
            }
            device = found.path
            let rssi = found.rssi.map(Int.init)
            let adapter = await context.bluez.adapters.first { $0.path == found.adapter }?.address
            context.board.updateLink(serial) { link in
                link.rssi = rssi
                link.adapter = adapter
            }
            guard found.isPaired == true else {
                throw LinkMachine.Failure(
                    .notPaired,
                    "this hub has lost its bond with the recorder; pair it again with celestiad pair")
            }
            note { machine in machine.note(inReach: true) }
            return .inReach
        }
        throw LinkMachine.Failure(.adapterUnavailable, "the message bus is gone")
    }

    private func whyNotInReach() async -> String? {
        await context.adapterTrouble()?.text
    }

    private func connect() async throws(LinkMachine.Failure) -> LinkMachine.Outcome {
        guard let device else {
            throw LinkMachine.Failure(.transient, "the recorder is not in reach any more")
        }
        do throws(BlueZError) {
            link = BlueZGATTLink(bluez: context.bluez, link: try await context.bluez.connect(device))
            return .connected
        } catch {
            throw LinkMachine.Failure(error)
        }
    }

    private func resolve() async throws(LinkMachine.Failure) -> LinkMachine.Outcome {
        guard let link else { throw LinkMachine.Failure(.transient, "the link is gone") }
        do throws(BlueZError) {
            try await context.bluez.waitServicesResolved(
                on: link.link, requiring: LinkContext.requiredServices)
            await follow(link)
            hasSynced = false
            await choosePlane(for: link)
            return .resolved
        } catch {
            throw LinkMachine.Failure(error)
        }
    }

    /// How its bytes come, and why not by the channel, is part of what is shown of a recorder.
    private func choosePlane(for link: BlueZGATTLink) async {
        let choice = await context.planes.choose(for: link)
        plane = choice
        context.board.updateLink(serial) { $0.dataPlaneReason = choice.reason }
        if let reason = choice.reason {
            context.log.info(
                "recorder \(serial): its files come by notifications, the slower way: \(Terminal.printable(reason))"
            )
        }
    }

    /// Hears what the recorder says of its captures for as long as the link lives, and so also while they are pulled.
    private func follow(_ link: BlueZGATTLink) async {
        // Without notifications the interval and the end of the link remain.
        guard let values = try? await link.subscribe(RecorderProfile.captureStatus) else { return }
        let news = news
        follower = Task {
            for await value in values {
                if let status = try? CaptureStatus(wire: value) { news.note(status) }
            }
        }
    }

    private func sync() async throws(LinkMachine.Failure) -> LinkMachine.Outcome {
        guard let link, let plane else { throw LinkMachine.Failure(.transient, "the link is gone") }
        if hasSynced, plane.isWorthAnotherTry {
            await plane.channel.close()
            await choosePlane(for: link)
        }
        hasSynced = true
        let channel = self.plane?.channel ?? plane.channel
        let device = await context.bluez.device(link.link.device)
        let journal = LinkJournal(
            context: context, deviceName: device?.name, address: device?.address, problems: problems)
        let store = QueueCaptureStore(
            queue: context.queue, targetHost: context.targetHost, policy: context.configuration.deletePolicy,
            now: context.now)
        let session = context.session(
            over: link, channel: channel, store: store, ledger: ledger, isIntroduction: false
        ) { [pulse, news] event in
            pulse.beat()
            if case .status(let status) = event { news.begin(with: status) }
            journal.note(event)
        }
        let report = await journal.keep { await session.run() }
        await store.suspend()
        ledger = report.ledger
        problems.endLink(of: serial)
        try check(report, hasProgressed: journal.hasProgressed)
        failures.forget()
        let now = context.now()
        context.board.updateLink(serial) { $0.endSync(isWhole: report.isWhole, at: now) }
        if report.pulled + report.deleted > 0 {
            context.log.info(
                "recorder \(serial): \(Terminal.count(report.pulled, "file")) pulled, "
                    + "\(Terminal.count(report.deleted, "object")) deleted there",
                .recorderPulled, recorder: serial)
        }
        return .synced(progressed: journal.hasProgressed)
    }

    private func check(_ report: LinkReport, hasProgressed: Bool) throws(LinkMachine.Failure) {
        if let failure = report.failure {
            throw LinkMachine.Failure(failure, hasProgressed: hasProgressed)
        }
        guard report.recorder?.serial == serial else {
            throw LinkMachine.Failure(.unusable, "another recorder answers at this recorder's address")
        }
    }

    /// Stays on the link until there is a reason to sync again.
    private func linger() async throws(LinkMachine.Failure) -> LinkMachine.Outcome {
        guard let link else { throw LinkMachine.Failure(.transient, "the link is gone") }
        let (bluez, clock, wakeup, news) = (context.bluez, context.clock, wakeup, news)
        let interval = context.configuration.syncInterval
        let isWanted = await firstOf(
            {
                await news.wait()
                return true
            },
            {
                await wakeup.wait()
                return true
            },
            { (try? await clock.sleep(for: interval)) == nil ? nil : true },
            {
                try? await bluez.wait(
                    until: { $0.link(to: link.link.device) != link.link }, what: "the end of the link",
                    timeout: .seconds(1 << 30))
                return false
            }
        )
        guard isWanted == true else {
            throw LinkMachine.Failure(.transient, "the recorder went out of reach")
        }
        return .wanted
    }

    private func rest(for delay: Duration) async -> LinkMachine.Outcome {
        let (clock, wakeup) = (context.clock, wakeup)
        let isWanted = await firstOf(
            { (try? await clock.sleep(for: delay)) == nil ? nil : false },
            {
                await wakeup.wait()
                return true
            }
        )
        return isWanted == true ? .userActed : .rested
    }

    // MARK: The link's end

    private func forgetLink() {
        follower?.cancel()
        follower = nil
        link = nil
        plane = nil
    }

    private func dropLink() async {
        guard let link else { return }
        await plane?.channel.close()
        forgetLink()
        try? await context.bluez.disconnect(link.link.device)
    }

    /// The recorder is free for others after a stop; a cancelled task cannot wait, so another does.
    private func dropLinkUncancelled() async {
        guard link != nil else { return }
        let (clock, farewell) = (context.clock, Self.farewell)
        let farewells = Task {
            _ = await firstOf(
                {
                    await self.dropLink()
                    return true
                },
                { (try? await clock.sleep(for: farewell)) == nil ? nil : false }
            )
        }
        await farewells.value
        context.board.removeLink(serial)
    }

    // MARK: Showing

    private func note(_ change: (inout LinkMachine) -> Void) {
        let before = machine
        change(&machine)
        if machine != before { show(.watch) }
    }

    private func show(_ step: LinkMachine.Step) {
        switch step {
        case .connect, .resolve, .sync: pulse.beat()
        case .watch, .linger, .rest, .waitForUser: pulse.rest()
        }
        let (state, reason) = (machine.state, machine.reason)
        let now = context.now()
        let nextTry: Date? =
            if case .rest(let delay) = step { now.addingTimeInterval(delay / .seconds(1)) } else { nil }
        let address = address
        context.board.updateLink(serial) { link in
            link.state = state
            link.reason = reason
            link.nextTry = nextTry
            link.address = address
        }
    }

    private func report(_ outcome: LinkMachine.Outcome) {
        switch outcome {
        case .failed(let failure):
            failures.warn(failure.reason, of: serial)
            failures.endLink(of: serial)
        case .connected:
            context.log.info("recorder \(serial): connected", .recorderConnected, recorder: serial)
        default: break
        }
    }
}
