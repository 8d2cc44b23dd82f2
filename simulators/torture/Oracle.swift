import CaptureQueue
import EventLoop
import FoundationEssentials

/// Opens the queue as the next start would and compares it with what the world knows.
struct Oracle {
    let directory: String
    let loop: EventLoop

    /// Everything that is not as it must be; empty: all is well. In the end (`isFinal`) everything that was not cancelled
    /// must be in the cloud.
    func judge(_ world: World, isFinal: Bool = false) async -> [String] {
        let queue = CaptureQueue(TortureQueue.configuration(directory), executor: loop)
        var faults = world.violations
        do {
            let report = try await queue.open()
            if let damaged = report.setAside {
                faults.append("the database was damaged: \(damaged) \(report.finding ?? "")")
            }
            if !report.lostAssets.isEmpty { faults.append("stored files are lost: \(report.lostAssets)") }
            if !report.foreign.isEmpty { faults.append("strangers in the spool: \(report.foreign)") }
            for (id, digest) in world.acknowledged where !world.unwanted.contains(id) {
                if let fault = try await check(id, digest, queue) { faults.append(fault) }
            }
            for id in world.registered {
                let state = try await state(id, queue)
                if state == nil { faults.append("session \(id) is gone") }
                if isFinal, let state, state != .imported, state != .cancelled {
                    faults.append("session \(id) is \(state.rawValue) in the end")
                }
            }
            if isFinal { faults += try await absent(world, queue) }
            for id in world.imported where try await state(id, queue) != .imported {
                faults.append("session \(id) was imported and is not")
            }
            for id in world.cancelled where try await state(id, queue) != .cancelled {
                faults.append("session \(id) was cancelled and is not")
            }
            try await queue.close()
        } catch {
            faults.append("the queue does not open: \(error)")
            try? await queue.close()
        }
        return faults
    }

    /// What was taken, is not discarded, and is not in the cloud.
    private func absent(_ world: World, _ queue: CaptureQueue) async throws -> [String] {
        let held = Set(world.sessions.values.flatMap { $0.assets.values.map(\.sha256) })
        var faults: [String] = []
        for (id, digest) in world.acknowledged where !held.contains(digest) {
            guard let asset = try await queue.asset(id) else { continue }
            let session = try await queue.session(asset.sessionID)?.summary.session
            if session?.state == .cancelled, session?.migratedTo == nil { continue }
            faults.append("asset \(id) was taken and is not in the cloud")
        }
        return faults
    }

    private func state(_ id: SessionID, _ queue: CaptureQueue) async throws -> SessionState? {
        try await queue.session(id)?.summary.session.state
    }

    /// Each acknowledged byte is here with its SHA-256, or a receipt says that the cloud has it.
    private func check(_ id: AssetID, _ digest: String, _ queue: CaptureQueue) async throws -> String? {
        guard let asset = try await queue.asset(id), let session = try await queue.session(asset.sessionID)
        else {
            return "asset \(id) is gone"
        }
        switch asset.pullState {
        case .stored:
            let file = try await queue.openForReading(id)
            let held = SHA256Digest(hashing: try file.bytes(at: 0, count: Int(file.size)))
            return held.hex == digest && asset.sha256?.hex == digest ? nil : "asset \(id) has other bytes"
        case .released:
            let receipt = session.receipts.first { $0.assetID == id }
            return receipt?.sha256?.hex == digest ? nil : "asset \(id) is released without a receipt"
        case .wanted, .unobtainable, .damaged:
            return "asset \(id) was acknowledged and is \(asset.pullState.rawValue)"
        }
    }
}

/// How the queue is set up here, for the child and for the oracle.
enum TortureQueue {
    static func configuration(_ directory: String) -> QueueConfiguration {
        var configuration = QueueConfiguration(directory: directory)
        // Windows so small that a file has several; no reserve, so that a small disk can be filled to the last byte.
        configuration.journalInterval = 20_000
        (configuration.reservedBytes, configuration.reservedPercent) = (0, 0)
        configuration.recoveredBytes = 0
        configuration.ballastBytes = 256 << 10
        return configuration
    }
}
