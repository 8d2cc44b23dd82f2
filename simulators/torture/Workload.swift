import CaptureQueue
import FoundationEssentials

/// The child: does with captures what the daemon does, one thing after the other, until it is killed. The sessions go up by
/// the daemon's own uploader.
struct Workload {
    let plan: Plan
    let queue: CaptureQueue
    let world: WorldLine
    let uploads: Uploads

    /// Captures up to `last`, of which those before `first` are known to be done with.
    func run(from first: Int, to last: Int) async throws {
        _ = try await queue.open()
        for number in first...last { try await capture(number) }
        for host in Plan.hosts { try await uploads.sendAll(to: host) }
        try await queue.releaseDueBytes()
        try await queue.close()
    }

    private func capture(_ number: Int) async throws {
        let fate = plan.fate(number)
        if fate == .imported || fate == .rotting { return try await importFile(number) }
        let capture = try await queue.register(plan.registration(number))
        await world.claim("registered \(number) \(capture.sessionID)")
        guard capture.state != .imported, capture.state != .cancelled else {
            if capture.state == .cancelled { try await end(number, capture.sessionID) }
            return
        }
        for file in 0..<plan.files(number) { try await pull(number, file, capture.sessionID) }
        try await end(number, capture.sessionID)
    }

    private func pull(_ number: Int, _ file: Int, _ session: SessionID) async throws {
        let id = plan.assetID(number, file)
        guard let asset = try await queue.asset(id) else { throw Failure("asset \(id) is not there") }
        let bytes = plan.bytes(number, file)
        if asset.pullState == .wanted {
            var offset = Int(try await queue.beginPull(id))
            while offset < bytes.count {
                let end = min(bytes.count, offset + 9000)
                _ = try await queue.append(Array(bytes[offset..<end]), to: id, at: Int64(offset))
                offset = end
            }
            _ = try await queue.finishPull(id)
        }
        // The recorder may forget it now: nobody else has it any more.
        await world.claim("stored \(number) \(session) \(id) \(SHA256Digest(hashing: bytes))")
    }

    private func importFile(_ number: Int) async throws {
        let bytes = plan.bytes(number, 0)
        let digest = SHA256Digest(hashing: bytes)
        var session = try await queue.session(content: digest, size: Int64(bytes.count))
        if session == nil {
            let copy = try await queue.beginImport(size: Int64(bytes.count))
            for start in stride(from: 0, to: bytes.count, by: 20_000) {
                let end = min(bytes.count, start + 20_000)
                try await queue.append(Array(bytes[start..<end]), toImport: copy)
            }
            session = try await queue.finishImport(
                copy,
                ImportedFile(
                    sourceKind: .dslrImport, name: "\(number).jpg", kind: .photo, mimeType: "image/jpeg",
                    modified: Date(timeIntervalSince1970: 1_796_000_000),
                    modifiedText: "2026-11-30T00:00:00Z",
                    surface: "torture", targetHost: Plan.hosts[0], step: ["step": "imported"])
            ).session
        }
        guard let session, let asset = try await queue.session(session)?.assets.first else {
            throw Failure("the import of \(number) is not there")
        }
        await world.claim("registered \(number) \(session)")
        await world.claim("stored \(number) \(session) \(asset.id) \(digest)")
    }

    private func end(_ number: Int, _ session: SessionID) async throws {
        switch plan.fate(number) {
        case .upload, .imported, .rotting, .falsified: break
        case .cancelled, .purged:
            try await queue.cancel(session)
            await world.claim("cancelled \(session)")
            guard plan.fate(number) == .purged else { break }
            for file in 0..<plan.files(number) { await world.claim("unwanted \(plan.assetID(number, file))") }
            try await queue.purge(session)
        case .migrated:
            guard let old = try await queue.session(session)?.summary.session, old.state != .imported,
                old.state != .cancelled || old.migratedTo != nil
            else { break }
            let new = try await queue.migrate(session, to: Plan.hosts[1])
            await world.claim("registered \(number) \(new)")
        }
    }
}
