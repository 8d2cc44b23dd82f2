package import CaptureQueue
package import Cloud
package import FoundationEssentials

/// What the uploads are doing as a whole.
package struct UploadStatus: Sendable, Equatable {
    /// Why nothing is sent at all; nil while the way is open.
    package var reason: HostGate.Reason?
    /// What happened, and what ends it.
    package var message: String?
    package var hint: String?
    /// When it is tried again.
    package var nextTry: Date?
    /// Sessions that are being sent.
    package var active: [SessionID]
    /// As last told by the server.
    package var quota: StorageQuota?
    /// When the server was last asked for it, whatever the answer.
    package var quotaAskedAt: Date?
}

/// Brings every queued session to the cloud: the oldest first, none held up by the trouble of another.
///
/// Whatever an earlier run left in flight is settled by looking at the server, never repeated blindly. Waits for
/// changes of the queue, of the login, for the schedule and for `kick`; it never polls the server without a reason.
package actor UploadSupervisor {
    /// What one plan leads to.
    enum Work: Sendable {
        case session(SessionRecord)
        /// Whether the host can be used again.
        case probe(HostGate.Reason)
        /// Whether sessions that wait for storage can go on.
        case quota
        case checkpoint(Int64)
        /// What the server has of a session that was discarded in doubt.
        case settle(SessionRecord)
        case releaseBytes
    }

    let context: UploadContext
    let log: Log
    nonisolated let wake = Wakeup()
    var random: any RandomNumberGenerator & Sendable
    var gate = HostGate()
    var isLoggedIn = false
    /// Logged in, and not yet known to the queue.
    var newLogin: Login?
    /// Of the last login that the queue was told of.
    private var lastGeneration: UInt64 = 0
    /// Whose `quota` is.
    var account: String?
    var running: [SessionID: Int64] = [:]
    /// One of each at a time.
    var isProbing = false
    var isAskingQuota = false
    var isTriggering = false
    /// How often the network came back: what began before such a time may end as if it had not.
    var networkReturns = 0
    /// Sessions whose last attempt broke off below HTTP.
    var cutOff: Set<SessionID> = []
    var isCheckpointCutOff = false
    var quota: StorageQuota?
    var quotaAskedAt: Date?
    var quotaProbes = ProbeSchedule()
    var checkpoints = RetryState()
    var nextCheckpoint: ContinuousClock.Instant?
    var settlements = RetryState()
    var isSettling = false
    var nextSettlement: ContinuousClock.Instant?
    var nextRelease: ContinuousClock.Instant?
    /// Until when nothing is planned because the queue refused to store something.
    var pausedUntil: ContinuousClock.Instant?
    var successesAtFailure = 0
    /// When a stop ends what is still under way.
    private var stopsAt: ContinuousClock.Instant?
    var broken: QueueError?
    /// Those who wait for the next turn of `run`; nil while it does not turn.
    private var rollCall: [CheckedContinuation<Void, Never>]?

    var queue: CaptureQueue { context.queue }
    var api: CelestiaAPI { context.api }
    var configuration: UploadConfiguration { context.configuration }
    /// The host that sessions are sent to; all others are left alone (F-8, F-9).
    nonisolated var host: String { context.api.base.description }

    /// Sessions must be registered with `api.base.description` as their target host.
    package init(
        queue: CaptureQueue, api: CelestiaAPI, board: Board, log: Log,
        configuration: UploadConfiguration = UploadConfiguration(),
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        context = UploadContext(queue: queue, api: api, board: board, configuration: configuration)
        self.log = log
        self.random = random
    }

    // MARK: Life

    /// Works until `stop` or until the task is cancelled, and then until every session is put down durably. Throws
    /// when the queue itself does not work any more (`storageSuspect`, `corrupt`, …): the daemon has to end.
    package func run() async throws(QueueError) {
        try await prepare()
        let queueChanges = await queue.changes()
        let tokenStates = await api.tokens.states()
        rollCall = []
        defer { answerAll(with: nil) }
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in queueChanges { self.wake.raise() } }
            group.addTask { for await state in tokenStates { await self.noteLogin(state) } }
            while !isFinished {
                answerAll(with: [])
                for work in await plan() { group.addTask { await self.perform(work) } }
                await rest(context.isStopping ? timeToStop() : await timeToNextPlan())
            }
            group.cancelAll()
        }
        if let broken { throw broken }
    }

    /// Returns true once `run` has come around to another plan; at once while it does not run.
    package func answer() async -> Bool {
        guard rollCall != nil else { return true }
        wake.raise()
        await withCheckedContinuation { rollCall?.append($0) }
        return true
    }

    private func answerAll(with next: [CheckedContinuation<Void, Never>]?) {
        for waiter in rollCall ?? [] { waiter.resume() }
        rollCall = next
    }

    private func rest(_ time: Duration) async {
        let sleep = configuration.sleep
        _ = await firstOf({ await self.wake.wait() }, { try? await sleep(time) })
    }

    private var isFinished: Bool {
        if Task.isCancelled || broken != nil { return true }
        return context.isStopping && (running.isEmpty || timeToStop() <= .zero)
    }

    private func timeToStop() -> Duration {
        let now = configuration.monotonic()
        let end = stopsAt ?? now.advanced(by: configuration.courtesy)
        stopsAt = end
        return now.duration(to: end)
    }

    /// Starts nothing new, lets requests under way end for as long as courtesy asks, and cancels those that are still
    /// waiting; `run` returns when every session is put down durably.
    package nonisolated func stop() {
        context.beginStopping()
        wake.raise()
    }

    /// The user asks for it, or the network is back: whatever waits for a time is tried now.
    package func kick() async {
        let now = configuration.monotonic()
        gate.hurry(at: now)
        quotaProbes.hurry(at: now)
        nextCheckpoint = nil
        pausedUntil = nil
        do throws(QueueError) {
            try await hurryFailedSessions()
        } catch {
            log.warning("uploads: the schedule could not be cleared: \(error)")
        }
        wake.raise()
    }

    /// The network may be back: what it kept from happening is tried now. Whatever the server asked for, stays as it is.
    package func networkReturned() async {
        networkReturns += 1
        await hurryWhatTheNetworkStopped()
        wake.raise()
    }

    func hurryWhatTheNetworkStopped() async {
        if let reason = gate.reason, reason.mayBeTheNetwork { gate.hurry(at: configuration.monotonic()) }
        if isCheckpointCutOff { nextCheckpoint = nil }
        let sessions = cutOff
        cutOff = []
        do throws(QueueError) {
            for id in sessions {
                guard let summary = try await queue.session(id)?.summary, summary.holds.isEmpty,
                    summary.session.state == .failedRetryable
                else { continue }
                _ = try await queue.retry(id)
            }
        } catch {
            log.warning("uploads: the schedule could not be cleared: \(error)")
        }
    }

    /// Files wait while the network is metered; what is on its way stops after the request under way.
    package func networkIsMetered(_ isMetered: Bool) async {
        guard context.setMetered(isMetered) else { return }
        do throws(QueueError) {
            if isMetered {
                let detail =
                    "NetworkManager takes this network for a metered one; [Upload] Metered=ignore uploads all the same"
                try await queue.holdQueue(.metered, host: host, detail: detail)
                log.notice("uploads wait (metered): \(detail)", .uploadsHeld)
            } else {
                try await queue.releaseQueueHold(.metered, host: host)
                log.notice("uploads go on: the network is not metered any more", .uploadsResumed)
            }
        } catch {
            await note(error)
        }
        context.board.announce(.sessions)
        wake.raise()
    }

    /// Changes how uploads are done; what is under way goes on as it was begun.
    package func reconfigure(_ change: @Sendable (inout UploadConfiguration) -> Void) {
        context.reconfigure(change)
        wake.raise()
    }

    package func status() -> UploadStatus {
        var status = UploadStatus(active: running.sorted { $0.value < $1.value }.map(\.key), quota: quota)
        status.quotaAskedAt = quotaAskedAt
        if let reason = gate.reason {
            status.reason = reason
            status.message = gate.message
            status.hint = reason.hint
            status.nextTry = gate.nextProbe.map { probe in
                let seconds = configuration.monotonic().duration(to: probe) / .seconds(1)
                return configuration.now().addingTimeInterval(max(0, seconds))
            }
        }
        return status
    }

    // MARK: Start

    /// Holds of the last run are found out anew; sessions for other hosts are told why they wait.
    private func prepare() async throws(QueueError) {
        for reason in [QueueHoldReason.auth, .clock, .paused] + (context.isMetered ? [] : [.metered]) {
            try await queue.releaseQueueHold(reason, host: host)
        }
        for other in try await queue.openHosts() where other != host {
            let message = "these sessions were queued for \(other); this hub is set up for \(host)"
            try await queue.holdQueue(.paused, host: other, detail: message)
            log.warning("uploads: \(message), so they wait until that address is configured again")
        }
        quotaProbes.start(at: configuration.monotonic())
    }

    private func noteLogin(_ state: TokenState) async {
        switch state {
        case .valid(let login):
            // Known to the queue before anything is planned: what is for another account must not meet this one's tokens.
            isLoggedIn = false
            newLogin = login
            if gate.reason == .authRequired { gate.hurry(at: configuration.monotonic()) }
        case .loggedOut:
            isLoggedIn = false
            newLogin = nil
            await leaveAccount()
            await shut(.authRequired, "nobody is logged in")
        case .authRequired(let reason):
            isLoggedIn = false
            newLogin = nil
            await claimForStoredLogin()
            await shut(.authRequired, reason.explanation)
        }
        wake.raise()
    }

    /// Tells the queue who is logged in.
    func useNewLogin() async throws(QueueError) {
        guard let login = newLogin else { return }
        try await queue.use(login, host: host)
        lastGeneration = max(lastGeneration, login.generation)
        // Somebody may have logged out, or in, meanwhile.
        guard newLogin == login else { return }
        newLogin = nil
        isLoggedIn = true
        // Somebody may have put it right there.
        if gate.reason == .authRequired { try await queue.releaseHolds(.remoteDeleted, host: host) }
        if account != login.account {
            if account != nil { quota = nil }
            account = login.account
            quotaProbes.start(at: configuration.monotonic())
        }
    }

    /// A login that the server does not take any more is still somebody's, and so is what was recorded under it.
    private func claimForStoredLogin() async {
        guard let login = try? await api.tokens.storedLogin() else { return }
        do throws(QueueError) {
            try await queue.use(login, host: host)
            lastGeneration = max(lastGeneration, login.generation)
        } catch {
            await note(error)
        }
    }

    private func leaveAccount() async {
        do throws(QueueError) {
            try await queue.leaveAccount(host: host, after: lastGeneration)
        } catch {
            await note(error)
        }
    }

    /// Failed sessions wait for their time; holds are somebody else's to lift.
    private func hurryFailedSessions() async throws(QueueError) {
        var cursor: Int64?
        repeat {
            let page = try await queue.sessions(.state(.failedRetryable), before: cursor, limit: 200)
            for summary in page.sessions where summary.holds.isEmpty && summary.session.nextTryAt != nil {
                _ = try await queue.retry(summary.session.id)
            }
            cursor = page.next
        } while cursor != nil
    }
}

/// When something that waits is looked at again: at once, then ever more seldom.
struct ProbeSchedule: Sendable, Equatable {
    /// nil: nothing waits, or it is being looked at.
    private(set) var next: ContinuousClock.Instant?
    private var interval: Duration?

    mutating func start(at now: ContinuousClock.Instant) {
        next = now
        interval = nil
    }

    /// Something began to wait.
    mutating func wait(from now: ContinuousClock.Instant, within range: ClosedRange<Duration>) {
        guard next == nil else { return }
        interval = range.lowerBound
        next = now.advanced(by: range.lowerBound)
    }

    /// It is being looked at: what begins to wait from here on, the look may miss.
    mutating func begin() {
        next = nil
    }

    /// It was looked at; `isWaiting`: something still waits.
    mutating func probed(
        at now: ContinuousClock.Instant, isWaiting: Bool, within range: ClosedRange<Duration>
    ) {
        guard isWaiting else {
            if next == nil { interval = nil }
            return
        }
        let following = min(range.upperBound, interval.map { $0 * 2 } ?? range.lowerBound)
        interval = following
        next = now.advanced(by: following)
    }

    mutating func hurry(at now: ContinuousClock.Instant) {
        if next != nil { start(at: now) }
    }
}
