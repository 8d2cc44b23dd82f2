import CaptureQueue
import Cloud
import FoundationEssentials

/// What to do next, and until when there is nothing to do.
extension UploadSupervisor {
    /// Every so often the plan is made anew whatever happens: clocks of hubs jump.
    private static let longestRest = Duration.seconds(60)

    func plan() async -> [Work] {
        let now = configuration.monotonic()
        guard !context.isStopping, !Task.isCancelled, broken == nil else { return [] }
        if let pausedUntil, now < pausedUntil { return [] }
        pausedUntil = nil
        do throws(QueueError) {
            return try await planned(at: now)
        } catch {
            await note(error)
            return []
        }
    }

    private func planned(at now: ContinuousClock.Instant) async throws(QueueError) -> [Work] {
        var work: [Work] = []
        if nextRelease.map({ $0 <= now }) ?? true {
            nextRelease = now.advanced(by: configuration.releaseInterval)
            work.append(.releaseBytes)
        }
        try await useNewLogin()
        if let reason = gate.reason {
            if let next = gate.nextProbe, next <= now, !isProbing, !reason.isProbedWithToken || isLoggedIn {
                isProbing = true
                work.append(.probe(reason))
            }
            return work
        }
        guard isLoggedIn else { return work }
        if let next = quotaProbes.next, next <= now, !isAskingQuota {
            isAskingQuota = true
            quotaProbes.begin()
            work.append(.quota)
        }
        work += try await nextSessions()
        if !isSettling, nextSettlement.map({ $0 <= now }) ?? true,
            let session = try await queue.discardedInDoubt(host: host).first(where: { running[$0.id] == nil })
        {
            isSettling = true
            work.append(.settle(session))
        }
        if running.isEmpty, !isTriggering, nextCheckpoint.map({ $0 <= now }) ?? true,
            let ticket = try await queue.checkpointDue(host: host)
        {
            isTriggering = true
            work.append(.checkpoint(ticket))
        }
        return work
    }

    private func nextSessions() async throws(QueueError) -> [Work] {
        let free = configuration.parallelUploads - running.count
        guard free > 0, !context.isMetered else { return [] }
        let next = try await queue.nextUploads(host: host, limit: configuration.parallelUploads * 2)
            .filter { running[$0.id] == nil }.prefix(free)
        for session in next { running[session.id] = session.sequence }
        return next.map(Work.session)
    }

    /// How long nothing is to be done unless something rings.
    func timeToNextPlan() async -> Duration {
        let now = configuration.monotonic()
        var times = [nextRelease, pausedUntil].compactMap { $0 }
        if gate.isOpen {
            times += [quotaProbes.next, nextCheckpoint, nextSettlement].compactMap { $0 }.filter { $0 > now }
            let isBusy = running.count >= configuration.parallelUploads
            if !isBusy, !context.isMetered, pausedUntil == nil,
                let next = try? await queue.nextUploadTime(host: host)
            {
                let seconds = next.timeIntervalSince(configuration.now())
                times.append(now.advanced(by: .seconds(min(max(seconds, 0.01), 3600))))
            }
        } else if let next = gate.nextProbe, isLoggedIn || gate.reason?.isProbedWithToken == false, !isProbing
        {
            times.append(next)
        }
        let wait = times.min().map { now.duration(to: $0) } ?? Self.longestRest
        return min(max(wait, .milliseconds(1)), Self.longestRest)
    }

    /// An error of the queue outside any session: pause, or give up where only a restart helps.
    func note(_ error: QueueError) async {
        if case .broken(let error) = UploadEnd(error).kind, broken == nil {
            log.error("uploads: the queue does not work any more: \(error)")
            broken = error
        } else {
            log.warning("uploads: \(error)")
        }
        // A session that changed meanwhile is no trouble of the disk.
        let isRace = error.code == .illegalTransition || error.code == .notFound
        pausedUntil = configuration.monotonic().advanced(by: .seconds(isRace ? 1 : 30))
        wake.raise()
    }
}
