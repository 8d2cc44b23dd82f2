import CaptureQueue
import EventLoop
import FoundationEssentials

/// Opens the queue as the next start would and compares it with what the world knows.
struct Oracle {
    /// A copy of what the run left.
    let directory: String
    let loop: EventLoop

    /// Everything that is not as it must be (none: all is well), and the sessions that the queue calls imported. In the end
    /// (`isFinal`) everything that was not cancelled must be in the cloud.
    func judge(_ world: World, isFinal: Bool) async -> (faults: [String], imported: Set<SessionID>) {
        let queue = CaptureQueue(TortureQueue.configuration(directory), executor: loop)
        var faults = world.violations + tokenFaults(world)
        var imported: Set<SessionID> = []
        do {
            faults += strange(try await queue.open(), world)
            for (id, taken) in world.acknowledged where !world.unwanted.contains(id) {
                if let fault = try await check(id, taken, queue, world) { faults.append(fault) }
            }
            for (id, number) in world.registered {
                guard let detail = try await queue.session(id) else {
                    faults.append("session \(id) is gone")
                    continue
                }
                if detail.summary.session.state == .imported {
                    imported.insert(id)
                    faults += unproved(detail, world)
                }
                faults += changed(detail, world)
                if detail.summary.session.state == .cancelled, !world.plan.fate(number).isEndedByUser {
                    faults.append("session \(id) is cancelled, and nobody did that")
                }
                if isFinal { faults += unfinished(detail, world, number) }
            }
            if isFinal { faults += try await absent(world, queue) }
            try await queue.close()
        } catch {
            faults.append("the queue does not open: \(error)")
            try? await queue.close()
        }
        return (faults, imported)
    }

    private func tokenFaults(_ world: World) -> [String] {
        Plan.hosts.indices.compactMap { number in
            world.clouds[Plan.hosts[number]]?.tokens.fault(
                in: Uploads.tokens(directory, number) + "/credentials")
        }
    }

    private func strange(_ report: StartReport, _ world: World) -> [String] {
        var faults: [String] = []
        if let damaged = report.setAside {
            faults.append("the database was damaged: \(damaged) \(report.finding ?? "")")
        }
        let lost = report.lostAssets.filter { !world.rotten.contains($0) }
        if !lost.isEmpty { faults.append("stored files are lost: \(lost)") }
        if !report.foreign.isEmpty { faults.append("strangers in the spool: \(report.foreign)") }
        return faults
    }

    /// What was settled must stay so.
    private func changed(_ detail: SessionDetail, _ world: World) -> [String] {
        let session = detail.summary.session
        var faults: [String] = []
        if world.imported.contains(session.id), session.state != .imported {
            faults.append("session \(session.id) was imported and is \(session.state.rawValue)")
        }
        if world.cancelled.contains(session.id), session.state != .cancelled {
            faults.append("session \(session.id) was cancelled and is \(session.state.rawValue)")
        }
        if let id = session.remoteID, id != world.clouds[session.targetHost]?.sessionID(session.clientID) {
            faults.append("session \(session.id) is not \(id) in the cloud")
        }
        return faults
    }

    /// Files of an imported session that the cloud does not have as they were recorded.
    private func unproved(_ detail: SessionDetail, _ world: World) -> [String] {
        let session = detail.summary.session
        let cloud = world.clouds[session.targetHost]
        return detail.assets.filter { $0.exclusion == nil && $0.pullState != .unobtainable }.compactMap {
            asset in
            guard
                let taken = world.acknowledged[asset.id]
                    ?? world.acknowledged.values.first(where: {
                        $0.sha256 == asset.sha256?.hex
                    })
            else { return "asset \(asset.id) is imported and was never taken" }
            if world.plan.fate(taken.number) == .falsified {
                return "\(session.id) is imported on a false proof"
            }
            let isHeld = cloud?.holds(asset.clientID, of: session.clientID, sha256: taken.sha256) ?? false
            return isHeld ? nil : "asset \(asset.id) is called imported and is not in the cloud"
        }
    }

    private func unfinished(_ detail: SessionDetail, _ world: World, _ number: Int) -> [String] {
        let session = detail.summary.session
        let isHeld = detail.summary.holds.contains { $0.reason == .conflict }
        let isRotten = detail.assets.contains { world.rotten.contains($0.id) }
        switch session.state {
        case .imported, .cancelled: return []
        case .failedTerminal where isRotten: return []
        case _ where world.plan.fate(number) == .falsified && isHeld: return []
        default: return ["session \(session.id) is \(session.state.rawValue) in the end"]
        }
    }

    /// What was taken, is not discarded, and is not in the cloud.
    private func absent(_ world: World, _ queue: CaptureQueue) async throws -> [String] {
        let held = Set(world.clouds.values.flatMap(\.digests))
        var faults: [String] = []
        for (id, taken) in world.acknowledged where !held.contains(taken.sha256) && !world.rotten.contains(id)
        {
            // A session that waits for its user, because the cloud told something false of one of its files.
            if world.plan.fate(taken.number) == .falsified { continue }
            guard let asset = try await queue.asset(id) else { continue }
            let session = try await queue.session(asset.sessionID)?.summary.session
            if session?.state == .cancelled, session?.migratedTo == nil { continue }
            faults.append("asset \(id) was taken and is not in the cloud")
        }
        return faults
    }

    /// Each acknowledged byte is here with its SHA-256, or a receipt says that the cloud has it.
    private func check(
        _ id: AssetID, _ taken: World.Taken, _ queue: CaptureQueue, _ world: World
    ) async throws -> String? {
        guard let asset = try await queue.asset(id), let session = try await queue.session(asset.sessionID)
        else { return "asset \(id) is gone" }
        switch asset.pullState {
        case .stored:
            let file = try await queue.openForReading(id)
            let held = SHA256Digest(hashing: try file.bytes(at: 0, count: Int(file.size)))
            if world.rotten.contains(id) { return nil }
            return held.hex == taken.sha256 && asset.sha256?.hex == taken.sha256
                ? nil : "asset \(id) has other bytes"
        case .released:
            let receipt = session.receipts.first { $0.assetID == id }
            return receipt?.sha256?.hex == taken.sha256 ? nil : "asset \(id) is released without a receipt"
        case .damaged where world.rotten.contains(id):
            let names =
                (try? FileManager.default.contentsOfDirectory(
                    atPath: "\(directory)/state/spool/\(taken.session)"))
            let isKept = names?.contains { $0.hasPrefix("\(id).damaged-") } ?? false
            return isKept ? nil : "the damaged file of asset \(id) was thrown away"
        case .wanted, .unobtainable, .damaged:
            return "asset \(id) was acknowledged and is \(asset.pullState.rawValue)"
        }
    }
}

/// How the queue is set up here, for the child and for the oracle.
enum TortureQueue {
    /// `directory` is that of the torture.
    static func configuration(_ directory: String) -> QueueConfiguration {
        var configuration = QueueConfiguration(directory: directory + "/state")
        // Windows so small that a file has several; no reserve, so that a small disk can be filled to the last byte.
        configuration.journalInterval = 20_000
        (configuration.reservedBytes, configuration.reservedPercent) = (0, 0)
        configuration.recoveredBytes = 0
        configuration.ballastBytes = 256 << 10
        return configuration
    }
}
