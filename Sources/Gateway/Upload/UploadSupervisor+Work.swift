import CaptureQueue
import Cloud
import Dates
import FoundationEssentials

/// Doing what was planned, and storing what came of it.
extension UploadSupervisor {
    func perform(_ work: Work) async {
        let returns = networkReturns
        switch work {
        case .session(let session): await send(session)
        case .probe(let reason): await probe(reason)
        case .quota: await askQuota()
        case .checkpoint(let ticket): await trigger(ticket)
        case .settle(let session): await settle(session)
        case .releaseBytes:
            do throws(QueueError) { try await queue.releaseDueBytes() } catch { await note(error) }
        }
        if returns != networkReturns { await hurryWhatTheNetworkStopped() }
        wake.raise()
    }

    // MARK: Sessions

    private func send(_ session: SessionRecord) async {
        do throws(QueueError) {
            let job = try await queue.beginUpload(session.id)
            let end = await SessionUploader(context: context, id: session.id).run(job)
            try await store(end, of: session)
        } catch {
            // It is put down in memory at least; the next start, or the next plan, finds it as it was.
            try? await queue.suspendUpload(session.id)
            await note(error)
        }
        running[session.id] = nil
    }

    /// A discarded session is only looked up: nothing is sent for it.
    private func settle(_ session: SessionRecord) async {
        defer { isSettling = false }
        do throws(QueueError) {
            if let failure = try await SessionUploader(context: context, id: session.id).settleDiscarded() {
                let delay = settlements.failed(
                    configuration.retry, retryAfter: failure.outcome.wish, using: &random)
                nextSettlement = configuration.monotonic().advanced(by: delay)
                if case .shut(let reason) = UploadEnd.Kind(failure) { await shut(reason, failure.message) }
                return
            }
            settlements.progressed()
            nextSettlement = nil
        } catch {
            nextSettlement = configuration.monotonic().advanced(by: .seconds(60))
            await note(error)
        }
    }

    private func store(_ end: UploadEnd, of session: SessionRecord) async throws(QueueError) {
        let id = session.id
        guard await queue.isInHand(id) || end.kind == .done else {
            // Held, cancelled or failed by the queue or by a user: that stands.
            switch end.kind {
            case .stored, .hold:
                log.warning("session \(id): \(end.message)", .sessionFailed, session: id.text)
            default: break
            }
            return
        }
        switch end.kind {
        case .done:
            cutOff.remove(id)
            gate.succeeded()
            log.info("session \(id): all of it is in the cloud, verified", .sessionUploaded, session: id.text)
        case .stopped: try await queue.suspendUpload(id)
        case .retry(let after): try await retry(session, end, after)
        case .hold(let reason, let required, let lasting):
            log.warning(
                "session \(id) waits (\(reason.rawValue)): \(end.message)", .sessionHeld, session: id.text)
            try await queue.hold(
                id, reason, detail: end.message,
                until: lasting.map { configuration.now().addingTimeInterval($0 / .seconds(1)) },
                requiredBytes: required)
            if reason == .quota, lasting == nil {
                quotaProbes.wait(from: configuration.monotonic(), within: configuration.quotaProbe)
            }
        case .shut(let reason):
            // Not this session's fault: it keeps its place, and its count of failures.
            try await queue.suspendUpload(id)
            await shut(reason, end.message)
        case .stored:
            log.warning("session \(id): \(end.message)", .sessionFailed, session: id.text)
            try await queue.suspendUpload(id)
        case .broken(let error): throw error
        }
    }

    private func retry(_ session: SessionRecord, _ end: UploadEnd, _ after: Duration?)
        async throws(QueueError)
    {
        if end.isCutOff { cutOff.insert(session.id) } else { cutOff.remove(session.id) }
        // What was acknowledged meanwhile began the count anew.
        let failures = try await queue.uploadJob(session.id).session.retryCount + 1
        let delay = configuration.retry.delay(failures: failures, retryAfter: after, using: &random)
        let seconds = delay / .seconds(1)
        log.info(
            "session \(session.id): another attempt in \(Int(seconds.rounded(.up))) s: \(end.message)",
            .sessionRetried, session: session.id.text)
        try await queue.fail(
            session.id, asset: end.asset, message: end.message,
            nextTry: configuration.now().addingTimeInterval(seconds))
        let wasOpen = gate.isOpen
        let successes = context.successes
        gate.failed(
            end.message, after: after, sawSuccess: successes > successesAtFailure,
            at: configuration.monotonic(),
            configuration.retry, using: &random)
        successesAtFailure = successes
        if wasOpen, let reason = gate.reason {
            log.warning("uploads wait (\(reason.rawValue)): \(gate.message)", .uploadsHeld)
            context.board.announce(.sessions)
        }
    }

    // MARK: The host

    func shut(_ reason: HostGate.Reason, _ message: String, after wish: Duration? = nil) async {
        let isNews = gate.reason != reason
        gate.shut(
            reason, message, after: wish, at: configuration.monotonic(), configuration.retry, using: &random)
        if isNews {
            log.warning("uploads wait (\(reason.rawValue)): \(message); \(reason.hint)", .uploadsHeld)
            context.board.announce(.sessions)
        }
        guard isNews, let hold = reason.hold else { return }
        do throws(QueueError) {
            try await queue.holdQueue(hold, host: host, detail: message)
        } catch {
            await note(error)
        }
    }

    private func probe(_ reason: HostGate.Reason) async {
        let result: Result<Void, UploadFailure>
        if reason.isProbedWithToken {
            result = await context.call { () async throws(CloudError) in quota = try await api.quota() }
        } else {
            result = await context.call { () async throws(CloudError) in try await api.health() }
        }
        isProbing = false
        switch result {
        case .success: await open()
        case .failure(let failure):
            if case .shut(let other) = UploadEnd.Kind(failure) {
                await shut(other, failure.message, after: failure.outcome.wish)
            } else {
                await shut(reason, failure.message, after: failure.outcome.wish)
            }
        }
    }

    private func open() async {
        guard let reason = gate.reason else { return }
        gate.open()
        log.notice("uploads go on: \(reason.rawValue) is over", .uploadsResumed)
        context.board.announce(.sessions)
        guard let hold = reason.hold else { return }
        do throws(QueueError) {
            try await queue.releaseQueueHold(hold, host: host)
        } catch {
            await note(error)
        }
    }

    // MARK: Quota and checkpoint

    private func askQuota() async {
        let result = await context.call { () async throws(CloudError) in try await api.quota() }
        isAskingQuota = false
        quotaAskedAt = configuration.now()
        defer { context.board.announce(.sessions) }
        var isWaiting = true
        switch result {
        case .failure(let failure):
            if case .shut(let reason) = UploadEnd.Kind(failure) { await shut(reason, failure.message) }
        case .success(let quota):
            self.quota = quota
            do throws(QueueError) {
                let remaining = quota.totalBytes > 0 ? quota.remainingBytes : .max
                try await queue.releaseQuotaHolds(host: host, remaining: remaining)
                isWaiting = try await queue.hasHolds(.quota, host: host)
            } catch {
                await note(error)
            }
        }
        quotaProbes.probed(
            at: configuration.monotonic(), isWaiting: isWaiting, within: configuration.quotaProbe)
    }

    /// Tells the server that everything is there (C-76); repeating it is harmless.
    private func trigger(_ ticket: Int64) async {
        let api = api.only(for: account)
        let result = await context.call { () async throws(CloudError) in try await api.triggerSync() }
        isTriggering = false
        switch result {
        case .success(let checkpoint):
            checkpoints.progressed()
            nextCheckpoint = nil
            isCheckpointCutOff = false
            let time = checkpoint?.syncedAt ?? api.clock.now
            do throws(QueueError) {
                try await queue.checkpointDone(host: host, ticket: ticket, syncedAt: time?.description ?? "")
                log.info("sync checkpoint: all that was queued is in the cloud", .uploadsDone)
            } catch {
                await note(error)
            }
        case .failure(let failure):
            isCheckpointCutOff = failure.isCutOff
            let delay = checkpoints.failed(
                configuration.retry, retryAfter: failure.outcome.wish, using: &random)
            nextCheckpoint = configuration.monotonic().advanced(by: delay)
            if case .shut(let reason) = UploadEnd.Kind(failure) { await shut(reason, failure.message) }
        }
    }
}

extension HostGate.Reason {
    /// The hold that shows it in the queue, where the queue has a word for it.
    fileprivate var hold: QueueHoldReason? {
        switch self {
        case .authRequired: .auth
        case .clockUnsynced: .clock
        case .hostNotCelestia, .redirected, .tlsUntrusted, .unreachable: nil
        }
    }
}
