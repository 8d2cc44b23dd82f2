import BlueZ
import CaptureQueue
import Cloud
import Control
import DBus
import FoundationEssentials
import Gateway
import HTTP

/// The daemon as its D-Bus API offers it.
struct DaemonControl: ControlModel {
    let gateway: Gateway

    func version() async -> VersionDocument {
        VersionDocument(version: Version.number)
    }

    // MARK: Reading

    func status() async throws(ControlError) -> StatusDocument {
        do throws(QueueError) {
            let now = Date()
            let host = gateway.api.base.description
            let recorders = try await recorderDocuments()
            let counts = try await gateway.queue.counts()
            let uploads = await gateway.uploads.status()
            let waits = try await gateway.queue.waits(host: host)
            let queue = QueueDocument(
                counts, waits, host: host, oldest: nil,
                nextTry: try await gateway.queue.nextUploadTime(host: host),
                holds: try await gateway.queue.queueHolds(host: host), uploads: uploads)
            let account = await accountDocument()
            let adapters = await adapterDocuments()
            let troubles = try await gateway.queue.troubles()
            var disk = gateway.diskSpace().map { DiskDocument(gateway.configuration, $0) }
            if troubles.lowDisk != nil { disk?.state = "low" }
            return StatusDocument(
                time: now,
                daemon: DaemonDocument(
                    version: Version.number, startedAt: gateway.startedAt,
                    bluetoothSockets: L2CAPSocket.isSupported),
                account: account, adapters: adapters, recorders: recorders, queue: queue, disk: disk,
                transfers: gateway.board.transfers.map { TransferDocument($0) },
                health: Health.items(
                    account: account, adapterTrouble: await gateway.adapterTrouble(),
                    recorders: recorders, counts: counts, waits: queue.waits ?? [],
                    uploads: uploads, disk: disk,
                    troubles: troubles, broker: gateway.board.brokerTrouble,
                    folder: gateway.board.folderTrouble,
                    now: now))
        } catch {
            throw ControlError(GatewayError(error))
        }
    }

    func recorders() async throws(ControlError) -> [RecorderDocument] {
        do throws(QueueError) {
            return try await recorderDocuments()
        } catch {
            throw ControlError(GatewayError(error))
        }
    }

    private func recorderDocuments() async throws(QueueError) -> [RecorderDocument] {
        let links = gateway.board.links
        let host = gateway.api.base.description
        return try await gateway.queue.recorders()
            .filter { $0.pairedAt != nil }
            .map { RecorderDocument($0, link: links[$0.serial], host: host) }
            .sorted { $0.id < $1.id }
    }

    func recorder(_ id: String) async throws(ControlError) -> RecorderDocument {
        let all = try await recorders()
        if let exact = all.first(where: { $0.id == id || $0.address == id.uppercased() }) { return exact }
        let matches = all.filter { !id.isEmpty && $0.id.hasPrefix(id) }
        guard let match = matches.first else {
            throw ControlError(
                .notFound, "there is no paired recorder \(Terminal.printable(id))",
                hint: "celestiad devices lists them")
        }
        guard matches.count == 1 else {
            throw ControlError(
                .invalidArgument, "\(Terminal.printable(id)) is the beginning of \(matches.count) ids",
                hint: "type more of it: \(matches.map(\.id).joined(separator: ", "))")
        }
        return match
    }

    // MARK: Doing

    func scan(
        for duration: Duration, report: @escaping @Sendable (ScanResultDocument) async -> Void
    ) async throws(ControlError) {
        try await asking { () async throws(GatewayError) in
            try await gateway.scan(for: duration) { await report(ScanResultDocument($0, seenAt: Date())) }
        }
    }

    func pair(
        _ request: PairRequest, dialogue: any PairingDialogue
    ) async throws(ControlError) -> PairResultDocument {
        var options = PairingOptions(target: request.device)
        options.isFirstTime = request.firstTime
        options.repairs = request.repair
        options.allowsJustWorks = request.allowJustWorks
        if let seconds = request.searchSeconds {
            options.searchTime = .seconds(Int64(min(max(seconds, 1), PairRequest.maximumSearchSeconds)))
        }
        let outcome = try await asking { () async throws(GatewayError) in
            try await gateway.pair(options, user: DialogueUser(dialogue: dialogue))
        }
        return PairResultDocument(
            recorder: try await recorder(outcome.serial), alreadyPaired: outcome.wasPaired)
    }

    func forget(_ id: String, unbind: Bool) async throws(ControlError) {
        let serial = try await recorder(id).id
        try await asking { () async throws(GatewayError) in
            try await gateway.forget(serial, unbind: unbind)
        }
    }

    func sync(recorder: String?) async throws(ControlError) {
        var serial: String?
        if let recorder { serial = try await self.recorder(recorder).id }
        try await asking { () async throws(GatewayError) in
            try await gateway.sync(serial)
        }
    }

    func login(identifier: String, password: Password) async throws(ControlError) -> AccountDocument {
        try await asking { () async throws(GatewayError) in
            try await gateway.logIn(identifier: identifier, password: Secret(password.reveal()))
        }
        return await accountDocument()
    }

    func logout() async throws(ControlError) {
        try await asking { () async throws(GatewayError) in
            try await gateway.logOut()
        }
    }

    func changes() async -> AsyncStream<ChangeKind> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ChangeKind.self, bufferingPolicy: .bufferingNewest(64))
        let changes = gateway.board.changes()
        // Ends with its reader: the board's stream ends when the task is cancelled.
        let forwarding = Task {
            for await change in changes { continuation.yield(ChangeKind(change)) }
            continuation.finish()
        }
        continuation.onTermination = { _ in forwarding.cancel() }
        return stream
    }

    /// The daemon's errors as its callers are told of them.
    func asking<Value: Sendable>(
        _ call: () async throws(GatewayError) -> Value
    ) async throws(ControlError) -> Value {
        do throws(GatewayError) {
            return try await call()
        } catch {
            throw ControlError(error)
        }
    }

    // MARK: Parts of the status

    func accountDocument() async -> AccountDocument {
        let host = gateway.api.base.description
        let state = (try? await gateway.api.tokens.state()) ?? .authRequired(.unreadable)
        switch state {
        case .loggedOut:
            return AccountDocument(state: "logged_out", host: host, action: "celestiad login")
        case .valid(let login):
            return AccountDocument(state: "logged_in", name: login.name, host: host)
        case .authRequired(.otherHost):
            let other =
                await gateway.api.tokens.loginAddress().map { Terminal.printable($0) } ?? "another address"
            return AccountDocument(
                state: "other_host", host: host,
                action:
                    "logged in at \(other), the configuration says \(host): correct [Cloud] URL, or celestiad login"
            )
        case .authRequired(let reason):
            return AccountDocument(
                state: "expired", host: host, action: "\(reason.explanation); run celestiad login")
        }
    }

    private func adapterDocuments() async -> [AdapterDocument] {
        await gateway.bluez.adapters.map { AdapterDocument($0) }
    }
}

extension AdapterDocument {
    fileprivate init(_ adapter: Adapter) {
        let isPowered = adapter.isPowered != false
        let isBlocked = adapter.powerState == "off-blocked"
        self.init(
            name: adapter.path.name, address: adapter.address ?? "", powered: isPowered,
            state: isBlocked
                ? "blocked" : isPowered ? adapter.isDiscovering == true ? "scanning" : "idle" : "off",
            reason: isBlocked ? "blocked by rfkill" : nil)
    }
}

extension ScanResultDocument {
    fileprivate init(_ seen: SeenRecorder, seenAt: Date) {
        self.init(
            address: seen.address, name: seen.name, rssi: seen.rssi, paired: seen.isPaired,
            recorder: seen.serial,
            seenAt: seenAt)
    }
}

extension ChangeKind {
    fileprivate init(_ change: GatewayChange) {
        self =
            switch change {
            case .account: .account
            case .adapters: .adapters
            case .recorders: .recorders
            case .sessions: .sessions
            case .transfers: .transfers
            case .health: .health
            }
    }
}

extension DiskDocument {
    fileprivate init(_ configuration: Configuration, _ space: DiskSpace) {
        let reserve = max(
            configuration.reservedMiB << 20, space.total / 100 * configuration.reservedPercent)
        self.init(
            path: configuration.stateDirectory, totalBytes: space.total, freeBytes: space.free,
            reserveBytes: reserve, state: space.free <= reserve ? "low" : "ok")
    }
}

extension ControlError {
    /// What a failure of the daemon is to its caller.
    init(_ error: GatewayError) {
        let code: Code =
            switch error.code {
            case .configuration, .invalidArgument: .invalidArgument
            case .noBus: .noBus
            case .alreadyRunning, .busy: .busy
            case .notFound: .notFound
            case .notReady: .adapterUnavailable
            case .timeout: .timeout
            case .cancelled: .cancelled
            case .notLoggedIn: .notLoggedIn
            case .diskLow: .diskLow
            case .cloud: .cloudUnavailable
            case .storage, .refused, .system: .failed
            }
        self.init(code, error.message, hint: error.hint)
    }
}
