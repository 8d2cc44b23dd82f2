package import CaptureQueue
package import Cloud

/// Keeps the account's record of each paired recorder up to date. Never in the way of uploads: what fails is dropped.
package actor DeviceSync {
    private let queue: CaptureQueue
    private let api: CelestiaAPI
    private let board: Board
    private let log: Log
    private let configuration: UploadConfiguration
    private let spacing: Duration
    private nonisolated let wake = Wakeup()
    private var machines: [String: DeviceSyncMachine] = [:]
    /// Who is logged in.
    private var account: String?
    private var random = SystemRandomNumberGenerator()

    private var host: String { api.base.description }

    /// `spacing` is the least time between two updates of one recorder.
    package init(
        queue: CaptureQueue, api: CelestiaAPI, board: Board, log: Log,
        configuration: UploadConfiguration = UploadConfiguration(), spacing: Duration = .seconds(60)
    ) {
        self.queue = queue
        self.api = api
        self.board = board
        self.log = log
        self.configuration = configuration
        self.spacing = spacing
    }

    /// Works until the task is cancelled.
    package func run() async {
        let queueChanges = await queue.changes()
        let boardChanges = board.changes()
        let tokenStates = await api.tokens.states()
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in queueChanges { self.wake.raise() } }
            group.addTask {
                for await change in boardChanges where change == .recorders { self.wake.raise() }
            }
            group.addTask { for await state in tokenStates { await self.noteLogin(state) } }
            while !Task.isCancelled {
                let wait = await syncAll()
                await rest(wait)
            }
            group.cancelAll()
        }
    }

    /// Removes the recorder from the account and forgets its id there; the queue knows already that it is not wanted
    /// there. What it captured stays the user's, and what is queued goes on being sent (C-29). A recorder that the
    /// account does not have counts as removed. Throws `CloudError`; then nothing is forgotten.
    package func unbind(_ serial: String) async throws(CloudError) {
        guard case .valid(let login) = try await api.tokens.state() else {
            throw .notLoggedIn("nobody is logged in")
        }
        try? await queue.use(login, host: host)
        guard let id = try? await queue.recorder(serial)?.deviceIDs[host] else {
            let others = (try? await queue.otherAccounts(of: serial, host: host)) ?? []
            guard let other = others.first else { return }
            throw CloudError(
                .refused, "the recorder is in the account of \(other), not of \(login.name)",
                outcome: .terminal(.gone), hint: "log in to that account to remove it there")
        }
        try await api.only(for: login.account).unbindDevice(id: id)
        machines[serial] = nil
        await store(serial, login.account, nil)
        log.info("recorder \(serial): removed from the account", .recorderBound, recorder: serial)
    }

    /// Tells the account soon what the user has changed of a recorder.
    package func hurry(_ serial: String) {
        machines[serial]?.hurry()
        wake.raise()
    }

    private func rest(_ time: Duration) async {
        let sleep = configuration.sleep
        _ = await firstOf({ await self.wake.wait() }, { try? await sleep(time) })
    }

    private func noteLogin(_ state: TokenState) async {
        let before = account
        account = nil
        if case .valid(let login) = state {
            do throws(QueueError) {
                try await queue.use(login, host: host)
            } catch {
                log.warning("recorders: the account could not be stored: \(error)")
                return
            }
            if login.account != before { machines = [:] }
            account = login.account
        }
        wake.raise()
    }

    /// Brings every recorder up to date that may be now; returns how long nothing will be due.
    private func syncAll() async -> Duration {
        let longest = Duration.seconds(15 * 60)
        guard let account, let recorders = try? await queue.recorders() else { return longest }
        let links = board.links
        var next: ContinuousClock.Instant?
        for recorder in recorders where recorder.pairedAt != nil {
            let facts = DeviceSyncMachine.Facts(
                recorder, isConnected: links[recorder.serial]?.state.isConnected ?? false)
            if let due = await sync(recorder, facts, of: account) { next = min(next ?? due, due) }
        }
        guard let next else { return longest }
        return max(.milliseconds(1), min(longest, configuration.monotonic().duration(to: next)))
    }

    /// Returns when there will be something to tell.
    private func sync(
        _ recorder: RecorderRecord, _ facts: DeviceSyncMachine.Facts, of account: String
    ) async -> ContinuousClock.Instant? {
        let serial = recorder.serial
        let api = api.only(for: account)
        var machine = machines[serial] ?? DeviceSyncMachine(spacing: spacing)
        var id = recorder.deviceIDs[host]
        let isWanted = recorder.unboundAt == nil
        // At most: an update that finds the device gone, and its binding.
        for _ in 0..<2 {
            let now = configuration.monotonic()
            switch machine.next(facts, id: id, isWanted: isWanted, at: now) {
            case .rest(let until):
                machines[serial] = machine
                return until
            case .bind:
                let result = await attempt { () async throws(CloudError) in
                    try await api.bindDevice(facts.binding(serial: serial))
                }
                switch result {
                case .success(let device):
                    machine.handle(.bound(facts), at: now)
                    id = device.id
                    await store(serial, account, device.id)
                    log.info("recorder \(serial): bound to the account", .recorderBound, recorder: serial)
                case .failure(let error): fail(&machine, error, serial)
                }
            case .update(let device, let update):
                let result = await attempt { () async throws(CloudError) in
                    try await api.updateDevice(id: device, update)
                }
                switch result {
                case .success: machine.handle(.updated(facts), at: now)
                case .failure(let error) where error.outcome == .reinit:
                    machine.handle(.gone, at: now)
                    id = nil
                    await store(serial, account, nil)
                case .failure(let error): fail(&machine, error, serial)
                }
            case .unbind(let device):
                // The user's call ended between its two halves, or a binding was under way meanwhile.
                switch await attempt({ () async throws(CloudError) in try await api.unbindDevice(id: device) }
                ) {
                case .success:
                    machine.handle(.unbound, at: now)
                    id = nil
                    await store(serial, account, nil)
                case .failure(let error): fail(&machine, error, serial)
                }
            }
        }
        machines[serial] = machine
        let next = machine.next(facts, id: id, isWanted: isWanted, at: configuration.monotonic())
        guard case .rest(let until) = next else { return configuration.monotonic() }
        return until
    }

    private func attempt<Value: Sendable>(
        _ body: () async throws(CloudError) -> Value
    ) async -> Result<Value, CloudError> {
        do throws(CloudError) { return .success(try await body()) } catch { return .failure(error) }
    }

    private func fail(_ machine: inout DeviceSyncMachine, _ error: CloudError, _ serial: String) {
        let backoff = configuration.retry.delay(
            failures: machine.failures + 1, retryAfter: error.outcome.wish, using: &random)
        if machine.failures == 0 {
            log.info(
                "recorder \(serial): the account was not told: \(error)", .recorderBound, recorder: serial)
        }
        machine.handle(.failed(backoff: backoff), at: configuration.monotonic())
    }

    private func store(_ serial: String, _ account: String, _ id: String?) async {
        do throws(QueueError) {
            try await queue.bind(recorder: serial, host: host, account: account, deviceID: id)
        } catch {
            log.warning("recorder \(serial): its id in the account could not be stored: \(error)")
        }
    }
}

extension LinkMachine.State {
    fileprivate var isConnected: Bool {
        switch self {
        case .resolving, .syncing, .idle: true
        case .absent, .seen, .connecting, .pairing, .backingOff: false
        }
    }
}
