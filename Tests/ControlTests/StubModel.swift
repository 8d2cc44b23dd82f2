import Control
import DBus
import EventLoop
import Foundation

/// A daemon of a few fixed documents that records what it is asked for.
actor StubModel: ControlModel {
    enum Behaviour: Sendable {
        case answers
        case fails(ControlError)
    }

    var behaviour = Behaviour.answers
    private(set) var calls: [String] = []
    /// The questions that a pairing asks, in order.
    var questions: [PairingQuestion] = []
    private(set) var answers: [PairingAnswer] = []
    /// Pairings and scans that were cancelled.
    let (cancellations, cancelled) = AsyncStream.makeStream(of: String.self)
    let (changeStream, changed) = AsyncStream.makeStream(of: ChangeKind.self)
    var found = [Fixtures.scanResult]
    var hangs = false
    var statusDocument = Fixtures.status
    var storageDocument = Fixtures.storage
    /// Instead of the one that there is.
    var sessionDocuments: [SessionDocument]?

    /// See `StubModel+Cloud.swift`.
    var cloud = StubCloud()

    func set(cloud: StubCloud) { self.cloud = cloud }
    func set(behaviour: Behaviour) { self.behaviour = behaviour }
    func set(questions: [PairingQuestion]) { self.questions = questions }
    func set(hangs: Bool) { self.hangs = hangs }
    func set(found: [ScanResultDocument]) { self.found = found }
    func set(status: StatusDocument) { statusDocument = status }
    func set(sessions: [SessionDocument]) { sessionDocuments = sessions }

    func record(_ call: String) throws(ControlError) {
        calls.append(call)
        if case .fails(let error) = behaviour { throw error }
    }

    func version() async -> VersionDocument { VersionDocument(version: "9.8.7") }

    func status() async throws(ControlError) -> StatusDocument {
        try record("status")
        return statusDocument
    }

    func recorders() async throws(ControlError) -> [RecorderDocument] {
        try record("recorders")
        return statusDocument.recorders
    }

    func recorder(_ id: String) async throws(ControlError) -> RecorderDocument {
        try record("recorder \(id)")
        guard id == Fixtures.recorder.id else { throw ControlError(.notFound, "there is no recorder \(id)") }
        return Fixtures.recorder
    }

    func objects() async throws(ControlError) -> ControlObjects {
        ControlObjects(recorders: statusDocument.recorders, sessions: sessionDocuments ?? [Fixtures.session])
    }

    func sessions(_ query: SessionQuery) async throws(ControlError) -> SessionPage {
        let attention = query.attention ? " attention" : ""
        try record(
            "sessions \(query.offset) \(query.limit) \(query.recorder ?? "-") \(query.state ?? "-")\(attention)"
        )
        if let sessionDocuments {
            return SessionPage(
                total: sessionDocuments.count, offset: query.offset, sessions: sessionDocuments)
        }
        return SessionPage(total: 3, offset: query.offset, sessions: [Fixtures.session])
    }

    func session(_ id: String) async throws(ControlError) -> SessionDocument {
        try record("session \(id)")
        return Fixtures.session
    }

    /// The state that an acted-on session is in afterwards.
    var actedState = "queued_offline"
    func set(actedState: String) { self.actedState = actedState }
    /// What `openAsset` passes.
    var fileContents: [UInt8] = []
    func set(fileContents: [UInt8]) { self.fileContents = fileContents }

    func act(_ action: SessionAction, on id: String) async throws(ControlError) -> SessionDocument {
        try record("\(action.rawValue) \(id)")
        var session = Fixtures.session
        session.state = actedState
        return session
    }

    func migrate(_ id: String) async throws(ControlError) -> SessionDocument {
        try record("migrate \(id)")
        var session = Fixtures.session
        session.host = "https://new.example/v1"
        return session
    }

    func openAsset(_ id: String) async throws(ControlError) -> SharedFD {
        try record("open \(id)")
        guard id == "a1" else { throw ControlError(.notFound, "the bytes of this file are not here") }
        guard let file = tmpfile() else { throw ControlError(.failed, "no temporary file") }
        defer { fclose(file) }
        fwrite(fileContents, 1, fileContents.count, file)
        fflush(file)
        return SharedFD(dup(fileno(file)))
    }

    func storage() async throws(ControlError) -> StorageReportDocument {
        try record("storage")
        return storageDocument
    }

    func importFile(_ request: ImportRequest) async throws(ControlError) -> ImportDocument {
        try record("import \(request.name) \(request.source ?? "-")")
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = pread(request.file.rawValue, &buffer, 64, 0)
        let text = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        if text == "bad" { throw ControlError(.invalidArgument, "it is neither sound nor picture") }
        return ImportDocument(session: Fixtures.session.id, outcome: text == "old" ? "known" : "imported")
    }

    func scan(
        for duration: Duration, report: @escaping @Sendable (ScanResultDocument) async -> Void
    ) async throws(ControlError) {
        try record("scan \(duration.components.seconds)")
        for result in found { await report(result) }
        if hangs { await hang("scan") }
    }

    func pair(
        _ request: PairRequest, dialogue: any PairingDialogue
    ) async throws(ControlError) -> PairResultDocument {
        let search = request.searchSeconds.map { " \($0)" } ?? ""
        try record(
            "pair \(request.device) \(request.firstTime) \(request.repair) \(request.allowJustWorks)\(search)"
        )
        await dialogue.stage("pairing")
        for question in questions {
            let answer: PairingAnswer
            do throws(ControlError) {
                answer = try await dialogue.ask(question)
            } catch {
                cancelled.yield("pair")
                throw error
            }
            answers.append(answer)
            if answer == .refuse { throw ControlError(.failed, "the pairing was refused") }
        }
        if hangs { await hang("pair") }
        if Task.isCancelled { throw ControlError(.cancelled, "cancelled") }
        return PairResultDocument(recorder: Fixtures.recorder, alreadyPaired: false)
    }

    private func hang(_ what: String) async {
        try? await Task.sleep(for: .seconds(3600))
        cancelled.yield(what)
    }

    func forget(_ id: String, unbind: Bool) async throws(ControlError) {
        try record("forget \(id) \(unbind)")
    }
    func sync(recorder: String?) async throws(ControlError) { try record("sync \(recorder ?? "-")") }

    func login(identifier: String, password: Password) async throws(ControlError) -> AccountDocument {
        try record("login \(identifier) \(password.reveal())")
        return Fixtures.account
    }

    func logout() async throws(ControlError) { try record("logout") }
    func changes() async -> AsyncStream<ChangeKind> { changeStream }
}

/// Documents with every field set, at fixed times.
enum Fixtures {
    static let now = Date(timeIntervalSince1970: 1_796_040_000)  // 2026-11-30T12:00:00Z

    static func ago(_ seconds: Int) -> Date { now.addingTimeInterval(-Double(seconds)) }
    static func later(_ seconds: Int) -> Date { now.addingTimeInterval(Double(seconds)) }

    static let account = AccountDocument(
        state: "logged_in", name: "ada@example.com", host: "api.example.com", since: ago(7200), action: nil)

    static let recorder = RecorderDocument(
        id: "CR1-0042", name: "Küche 🎙", model: "R1", manufacturer: "Celestia", firmware: "1.4.2",
        hardware: "B", address: "C0:FF:EE:00:00:42", adapter: "00:11:22:33:44:55",
        security: "numeric_comparison",
        battery: BatteryDocument(percent: 81, measuredAt: ago(120)),
        storage: StorageDocument(
            totalBytes: 34_359_738_368, freeBytes: 12_884_901_888, measuredAt: ago(120)),
        recording: false, pendingCaptures: 2, link: LinkDocument(state: "syncing", since: ago(60), rssi: -61),
        dataPlane: "notification", lastSeen: ago(3), lastSync: ago(86_400), clockSet: ago(61),
        lastError: nil)

    static let session = SessionDocument(
        id: "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", recorder: "CR1-0042", title: "朝の会議", startedAt: ago(3600),
        durationMs: 1_925_000, state: "uploading", reason: nil, nextTry: nil, cloud: "ses_1",
        createdAt: ago(1800), updatedAt: ago(5), bytes: 41_943_041, files: 2, uploadedFiles: 1,
        assets: [
            AssetDocument(
                id: "a1", name: "REC0001.WAV", kind: "audio", mimeType: "audio/wav", state: "uploading",
                bytes: 41_943_040, pulledBytes: 41_943_040, uploadedBytes: 20_971_520,
                sha256: String(repeating: "ab", count: 32)),
            AssetDocument(
                id: "a2", name: "evil\u{1B}[2J\u{202E}gpj.JPG", kind: "photo", state: "uploaded", bytes: 1,
                pulledBytes: 1, uploadedBytes: 1, sha256: String(repeating: "cd", count: 32),
                confirmedSha256: String(repeating: "cd", count: 32), cloud: "ast_2", confirmedAt: ago(9)),
        ])

    static let transfers = [
        TransferDocument(
            leg: "device_to_hub", recorder: "CR1-0042", asset: "a3", name: "REC0002.OPUS", bytes: 26_214_400,
            totalBytes: 41_943_040, bytesPerSecond: 1_258_291, etaSeconds: 12, startedAt: ago(20)),
        TransferDocument(
            leg: "hub_to_cloud", session: session.id, asset: "a1", name: "REC0001.WAV", bytes: 20_971_520,
            totalBytes: 41_943_040, bytesPerSecond: 5_242_880, etaSeconds: 4, startedAt: ago(4)),
    ]

    static let status = StatusDocument(
        time: now, daemon: DaemonDocument(version: "9.8.7", startedAt: ago(7380)), account: account,
        adapters: [
            AdapterDocument(name: "hci0", address: "00:11:22:33:44:55", powered: true, state: "scanning")
        ],
        recorders: [recorder],
        queue: QueueDocument(
            states: [
                StateCount(state: "uploading", sessions: 1),
                StateCount(state: "imported", sessions: 12),
            ],
            pendingAssets: 3, pendingBytes: 54_525_952, oldestPending: ago(7200), nextTry: later(30),
            reason: "the cloud is unreachable"),
        disk: DiskDocument(
            path: "/var/lib/celestiad", totalBytes: 34_359_738_368, freeBytes: 10_952_166_604,
            reserveBytes: 1_073_741_824, state: "ok"),
        transfers: transfers,
        health: [
            HealthItem(
                code: "cloud_unreachable", severity: "warning", text: "the cloud is unreachable",
                hint: "ping api.example.com", since: ago(300))
        ])

    static let storage = StorageReportDocument(
        disk: status.disk, databaseBytes: 4096, ballastBytes: 4 << 20, storedBytes: 3 << 30,
        unsentBytes: 2 << 30,
        keptBytes: 1 << 30, nextRelease: later(3600), cancelledBytes: 1 << 20, damagedFiles: 1,
        state: "degraded",
        setAside: ["/var/lib/celestiad/queue.db.damaged-1"])

    static let scanResult = ScanResultDocument(
        address: "C0:FF:EE:00:00:42", name: "Celestia R1", model: "R1", rssi: -61, pairing: true,
        paired: false,
        seenAt: now)
}
