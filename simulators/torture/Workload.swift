import CaptureQueue
import FoundationEssentials
import Glibc

/// The child: does with captures what the daemon does, one thing after the other, until it is killed.
struct Workload {
    let plan: Plan
    let queue: CaptureQueue
    let world: WorldLine

    /// Captures up to `last`, of which those before `first` are known to be done with.
    func run(from first: Int, to last: Int) async throws {
        _ = try await queue.open()
        for number in first...last { try await capture(number) }
        for host in Plan.hosts { try await uploadAll(host) }
        try await queue.releaseDueBytes()
        try await queue.close()
    }

    // MARK: Capture

    private func capture(_ number: Int) async throws {
        if plan.fate(number) == .imported { return try await importFile(number) }
        let capture = try await queue.register(plan.registration(number))
        try world.tell("registered \(capture.sessionID)")
        guard capture.state != .imported, capture.state != .cancelled else {
            if capture.state == .cancelled { try await end(number, capture.sessionID) }
            return
        }
        for file in 0..<plan.files(number) { try await pull(number, file) }
        try await end(number, capture.sessionID)
    }

    private func pull(_ number: Int, _ file: Int) async throws {
        let id = plan.assetID(number, file)
        guard let asset = try await queue.asset(id) else { throw Failure("asset \(id) is not there") }
        if asset.pullState == .wanted {
            let bytes = plan.bytes(number, file)
            var offset = Int(try await queue.beginPull(id))
            while offset < bytes.count {
                let end = min(bytes.count, offset + 9000)
                _ = try await queue.append(Array(bytes[offset..<end]), to: id, at: Int64(offset))
                offset = end
            }
            _ = try await queue.finishPull(id)
        }
        // The recorder may forget it now: nobody else has it any more.
        try world.tell("stored \(id) \(SHA256Digest(hashing: plan.bytes(number, file)))")
    }

    private func importFile(_ number: Int) async throws {
        let bytes = plan.bytes(number, 0)
        let digest = SHA256Digest(hashing: bytes)
        var session = try await queue.session(content: digest, size: Int64(bytes.count))
        if session == nil {
            let copy = try await queue.beginImport(size: Int64(bytes.count))
            try await queue.append(bytes, toImport: copy)
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
        try world.tell("registered \(session)")
        try world.tell("stored \(asset.id) \(digest)")
    }

    private func end(_ number: Int, _ session: SessionID) async throws {
        switch plan.fate(number) {
        case .upload, .imported: break
        case .cancelled, .purged:
            try await queue.cancel(session)
            try world.tell("cancelled \(session)")
            guard plan.fate(number) == .purged else { break }
            for file in 0..<plan.files(number) { try world.tell("unwanted \(plan.assetID(number, file))") }
            try await queue.purge(session)
        case .migrated:
            guard try await queue.session(session)?.summary.session.state != .imported else { break }
            let detail = try await queue.session(session)
            guard let state = detail?.summary.session.state else { break }
            if state == .cancelled, detail?.summary.session.migratedTo == nil { break }
            let new = try await queue.migrate(session, to: Plan.hosts[1])
            try world.tell("registered \(new)")
        }
    }

    // MARK: Upload

    private func uploadAll(_ host: String) async throws {
        while let next = try await queue.nextUploads(host: host, limit: 1).first {
            try await upload(next)
        }
    }

    private func upload(_ session: SessionRecord) async throws {
        var job = try await queue.beginUpload(session.id)
        if !job.unsettled.isEmpty {
            try await settle(job)
            job = try await queue.uploadJob(session.id)
        }
        if job.session.syncedDigest == nil {
            _ = try await queue.beginIntent(.upsert, session: session.id, payloadDigest: "p")
            let answer = try world.ask("upsert \(session.clientID)")
            guard answer.count == 2, let revision = Int64(answer[1]) else {
                throw Failure("a bad answer \(answer)")
            }
            try await queue.commitUpsert(
                session: session.id, remoteID: answer[0], revision: revision, payloadDigest: "p")
        }
        for asset in job.pending { try await send(asset, session, job.uploads[asset.id]) }
        try await queue.markImported(session.id)
        try world.tell("imported \(session.id)")
    }

    /// What an earlier run left in doubt is looked up, never sent again blindly.
    private func settle(_ job: UploadJob) async throws {
        let answer = try world.ask("list \(job.session.clientID)")
        if answer.count >= 2, let revision = Int64(answer[1]) {
            for text in answer.dropFirst(2) {
                let parts = text.split(separator: "=").map(String.init)
                guard parts.count == 4, let size = Int64(parts[3]),
                    let asset = job.pending.first(where: { $0.clientID == parts[0] })
                else { continue }
                let remote = RemoteAsset(id: parts[1], clientID: parts[0], sizeBytes: size, sha256: parts[2])
                try await queue.commitAsset(asset.id, remote, sessionRevision: revision)
            }
            try await queue.commitUpsert(
                session: job.session.id, remoteID: answer[0], revision: revision, payloadDigest: "p")
        }
        for intent in try await queue.uploadJob(job.session.id).unsettled {
            try await queue.withdrawIntent(intent.id)
        }
    }

    private func send(_ asset: AssetRecord, _ session: SessionRecord, _ open: ChunkedUpload?) async throws {
        let file = try await queue.openForUpload(asset.id, verifying: true)
        let digest = SHA256Digest(hashing: try file.bytes(at: 0, count: Int(file.size)))
        var operation = UploadOperation.asset
        if asset.byteSize >= Plan.chunk {
            operation = .complete
            var upload = open
            if upload == nil {
                _ = try await queue.beginIntent(
                    .initialise, session: session.id, asset: asset.id, payloadDigest: "i")
                let answer = try world.ask("init \(asset.clientID)")
                try await queue.commitInit(
                    asset.id, uploadID: answer.first ?? "", chunkSize: Int64(Plan.chunk),
                    totalChunks: (Int(asset.byteSize) - 1) / Plan.chunk + 1, expiresAt: .distantFuture)
                upload = try await queue.uploadJob(session.id).uploads[asset.id]
            }
            while let running = upload, let index = running.nextChunk() {
                _ = try world.ask("chunk \(running.uploadID) \(index)")
                upload = try await queue.commitChunk(asset.id, uploadID: running.uploadID, index: index)
            }
        }
        _ = try await queue.beginIntent(
            operation, session: session.id, asset: asset.id, payloadDigest: digest.hex)
        let answer = try world.ask("asset \(session.clientID) \(asset.clientID) \(file.size) \(digest)")
        guard answer.count == 2, let revision = Int64(answer[1]) else {
            throw Failure("a bad answer \(answer)")
        }
        let remote = RemoteAsset(
            id: answer[0], clientID: asset.clientID, sizeBytes: file.size, sha256: digest.hex)
        try await queue.commitAsset(asset.id, remote, sessionRevision: revision)
    }
}

/// What went wrong, in words.
struct Failure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The child's way to the world: it says a line and waits for the answer. What was said and not answered is in doubt.
struct WorldLine {
    let input: Int32
    let output: Int32

    func tell(_ line: String) throws { _ = try ask(line) }

    func ask(_ line: String) throws -> [String] {
        let bytes = Array("\(line)\n".utf8)
        guard write(output, bytes, bytes.count) == bytes.count else { throw Failure("the world is gone") }
        guard let answer = Lines.next(input) else { throw Failure("the world is silent") }
        return answer.split(separator: " ").map(String.init)
    }
}

/// Lines from a descriptor, byte by byte: they are short, and nothing may be read ahead.
enum Lines {
    static func say(_ line: String, to descriptor: Int32) {
        let bytes = Array("\(line)\n".utf8)
        _ = write(descriptor, bytes, bytes.count)
    }

    static func next(_ descriptor: Int32) -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(descriptor, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            if byte == 0x0A { return String(decoding: line, as: UTF8.self) }
            line.append(byte)
        }
    }
}
