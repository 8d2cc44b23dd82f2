package import BlueZ
package import CaptureQueue
package import Cloud
import DBus
import EventLoop
package import FoundationEssentials
import Glibc
package import HTTP
import Recorder

/// The daemon: joins the modules below and keeps their supervisors running.
package actor Gateway {
    package nonisolated let configuration: Configuration
    package nonisolated let log: Log
    /// What goes on now: links and transfers.
    package nonisolated let board: Board
    package nonisolated let queue: CaptureQueue
    package nonisolated let bluez: BlueZ
    package nonisolated let api: CelestiaAPI
    package nonisolated let startedAt: Date

    private nonisolated let context: LinkContext
    private nonisolated let links: LinkSupervisor
    private nonisolated let devices: DeviceSync
    /// What the uploads are doing.
    package nonisolated let uploads: UploadSupervisor
    private nonisolated let http: HTTPClient
    private nonisolated let connection: Connection
    private nonisolated let loops: [EventLoop]
    private nonisolated let shutdown = Wakeup()
    /// Raised with it, for the wait at the start.
    private nonisolated let haste = Wakeup()

    /// How long a graceful stop waits for what must not be cancelled: the uploads' putting down, and a refresh of the
    /// tokens, whose answer may be the only copy of the new ones.
    private static let grace = Duration.seconds(10)

    private init(
        configuration: Configuration, log: Log, board: Board, context: LinkContext, http: HTTPClient,
        api: CelestiaAPI, loops: [EventLoop]
    ) {
        self.configuration = configuration
        self.log = log
        self.board = board
        self.context = context
        self.http = http
        self.api = api
        self.loops = loops
        queue = context.queue
        bluez = context.bluez
        connection = context.bluez.connection
        links = LinkSupervisor(context: context)
        var settings = UploadConfiguration()
        settings.parallelUploads = configuration.parallelUploads
        settings.now = context.now
        let clock = context.clock
        settings.sleep = { try await clock.sleep(for: $0) }
        uploads = UploadSupervisor(
            queue: context.queue, api: api, board: board, log: log, configuration: settings)
        devices = DeviceSync(queue: context.queue, api: api, board: board, log: log, configuration: settings)
        startedAt = context.now()
    }

    /// Opens the queue, the bus and the way to the cloud. Nothing is changed anywhere but in the state directory.
    ///
    /// Throws `configuration` (API address), `storage`, `alreadyRunning`, `noBus`, `system`.
    package static func open(
        _ configuration: Configuration, log: Log, now: @escaping @Sendable () -> Date = { Date() }
    ) async throws(GatewayError) -> Gateway {
        let base = try apiBase(configuration)
        let loop = try startLoop("events")
        let disk = try startLoop("disk")
        let queue = try await openQueue(configuration, disk, log, now)
        do throws(GatewayError) {
            let http = try openHTTP(configuration, loop)
            let api = CelestiaAPI(
                base: base, transport: http, directory: configuration.stateDirectory, machine: machineID(),
                executor: disk)
            let clock = LoopClock(loop: loop)
            let bluez = BlueZ(
                connection: try await openBus(configuration, loop),
                configuration: BlueZConfiguration(services: LinkContext.requiredServices), clock: clock)
            let board = Board(now: now)
            let context = LinkContext(
                configuration: configuration, bluez: bluez, planes: DataPlanes(bluez: bluez, clock: clock),
                queue: queue,
                board: board, log: log, targetHost: base.description, clock: clock, now: now)
            return Gateway(
                configuration: configuration, log: log, board: board, context: context, http: http, api: api,
                loops: [loop, disk])
        } catch {
            try? await queue.close()
            throw error
        }
    }

    /// Runs until `stop()`, or until something ends without which nothing works: then it throws.
    package func run(ready: @escaping @Sendable () async -> Void) async throws(GatewayError) {
        do throws(QueueError) {
            try await links.superviseAll()
        } catch {
            throw GatewayError(error)
        }
        let failure = await withTaskGroup(of: GatewayError?.self) { group in
            group.addTask { await self.followBlueZ() }
            group.addTask { await self.endless { await self.links.run() } }
            group.addTask { await self.endless { await self.devices.run() } }
            group.addTask { await self.runUploads() }
            group.addTask { await self.watchDisk() }
            group.addTask { await self.endless { await self.announceChanges() } }
            group.addTask {
                // Bluetooth may be absent for good: the service is ready once it has looked.
                _ = await firstOf(
                    {
                        try? await self.bluez.wait(
                            until: { $0.hasLooked }, what: "bluetoothd", timeout: .seconds(5))
                    }, { await self.haste.wait() })
                await ready()
                await self.shutdown.wait()
                // The uploads end by themselves, and soon; here only the limit of patience is kept.
                self.uploads.stop()
                try? await self.context.clock.sleep(for: Self.grace)
                return nil
            }
            var failure: GatewayError?
            for await ended in group {
                failure = ended
                break
            }
            group.cancelAll()
            return failure
        }
        await close()
        if let failure { throw failure }
    }

    /// Asks for a graceful stop: what is under way is put down durably, nothing new begins.
    package nonisolated func stop() {
        haste.raise()
        shutdown.raise()
    }

    /// Every event loop and supervisor.
    package nonisolated var rollCall: RollCall {
        let (queue, bluez, links, uploads) = (queue, bluez, links, uploads)
        let host = api.base.description
        return RollCall(
            zip(["Bluetooth and network", "disk"], loops).map { RollCall.Part($0, loop: $1) } + [
                RollCall.Part("queue") {
                    _ = try? await queue.lastCheckpoint(host: host)
                    return true
                },
                RollCall.Part("BlueZ") {
                    _ = await bluez.isReady
                    return true
                },
                RollCall.Part("links") { await !links.isStuck },
                RollCall.Part("uploads") { await uploads.answer() },
            ])
    }

    // MARK: Running

    private func followBlueZ() async -> GatewayError? {
        do throws(BlueZError) {
            try await bluez.run()
            return nil
        } catch {
            return GatewayError(error)
        }
    }

    /// Returns the failed flush after which only a new start, which verifies everything, can be trusted.
    private nonisolated func watchDisk() async -> GatewayError? {
        for await failure in await queue.suspicions() { return GatewayError(failure) }
        return nil
    }

    private nonisolated func runUploads() async -> GatewayError? {
        do throws(QueueError) {
            try await uploads.run()
            return nil
        } catch {
            return GatewayError(error)
        }
    }

    /// Work that ends only by cancellation.
    private nonisolated func endless(_ work: () async -> Void) async -> GatewayError? {
        await work()
        return Task.isCancelled ? nil : GatewayError(.system, "a part of celestiad ended unexpectedly")
    }

    /// Lets whoever watches know what the modules below have changed.
    private nonisolated func announceChanges() async {
        await withDiscardingTaskGroup { group in
            group.addTask { for await _ in await self.queue.changes() { self.board.announce(.sessions) } }
            group.addTask { for await _ in await self.bluez.changes() { self.board.announce(.adapters) } }
            group.addTask { for await _ in await self.api.tokens.states() { self.board.announce(.account) } }
        }
    }

    private func close() async {
        let (tokens, clock) = (api.tokens, context.clock)
        // Uncancelled: the task that the gateway runs in may be.
        let settling = Task {
            _ = await firstOf(
                {
                    await tokens.settle()
                    return true
                }, { (try? await clock.sleep(for: Self.grace)) == nil ? nil : false })
        }
        await settling.value
        await http.shutDown()
        await connection.close()
        do throws(QueueError) {
            try await queue.close()
        } catch {
            log.error("the queue did not close cleanly: \(error)")
        }
        for loop in loops { loop.stop() }
    }
}

// MARK: - What users ask for

extension Gateway {
    /// Looks for recorders for so long.
    package nonisolated func scan(
        for duration: Duration, report: @escaping @Sendable (SeenRecorder) async -> Void
    ) async throws(GatewayError) {
        try await PairingDriver(context: context, links: links).requireAdapter()
        try await Scanner(context: context).scan(for: duration, report: report)
    }

    /// Pairs with a recorder.
    package nonisolated func pair(
        _ options: PairingOptions, user: any PairingUser
    ) async throws(GatewayError) -> PairingOutcome {
        try await PairingDriver(context: context, links: links).pair(options, user: user)
    }

    /// Forgets a recorder and its bond, with `unbind` in the cloud too; what it recorded stays in the queue.
    package nonisolated func forget(_ serial: String, unbind: Bool) async throws(GatewayError) {
        let recorder = try await pairedRecorder(serial)
        // First, because it can fail, and then nothing has happened.
        if unbind { try await removeFromAccount(serial) }
        do throws(QueueError) {
            await links.release(serial)
            let address = recorder.bluetoothIdentity?.uppercased()
            for device in await bluez.devices where device.address?.uppercased() == address {
                try? await bluez.removeDevice(device.path)
            }
            try await queue.forgetRecorder(serial)
        } catch {
            throw GatewayError(error)
        }
        log.notice("recorder \(serial): forgotten")
        board.announce(.recorders)
    }

    private nonisolated func pairedRecorder(_ serial: String) async throws(GatewayError) -> RecorderRecord {
        do throws(QueueError) {
            if let recorder = try await queue.recorder(serial), recorder.pairedAt != nil { return recorder }
        } catch {
            throw GatewayError(error)
        }
        throw GatewayError(
            .notFound, "there is no paired recorder \(serial)", hint: "celestiad devices lists them.")
    }

    private nonisolated func removeFromAccount(_ serial: String) async throws(GatewayError) {
        do throws(CloudError) {
            try await devices.unbind(serial)
        } catch {
            throw GatewayError(error)
        }
    }

    /// Looks at a recorder (nil: all) and at everything that waits for a retry, now.
    package nonisolated func sync(_ serial: String?) async throws(GatewayError) {
        guard await links.want(serial) || serial == nil else {
            throw GatewayError(.notFound, "there is no paired recorder \(serial ?? "")")
        }
        await uploads.kick()
    }

    package nonisolated func logIn(identifier: String, password: Secret) async throws(GatewayError) {
        do throws(CloudError) {
            try await api.logIn(identifier: identifier, password: password)
        } catch {
            throw GatewayError(error)
        }
        log.notice("logged in to \(api.base)")
    }

    package nonisolated func logOut() async throws(GatewayError) {
        do throws(CloudError) {
            if let refusal = try await api.logOut() {
                log.warning(
                    "the cloud did not take the logout, the tokens are forgotten all the same: \(refusal)")
            }
        } catch {
            throw GatewayError(error)
        }
        log.notice("logged out")
    }
}

/// The space of a file system.
package struct DiskSpace: Sendable {
    package let total: Int64
    /// Free for this user.
    package let free: Int64
}

extension Gateway {
    /// The space where the queue is; nil when it cannot be told.
    package nonisolated func diskSpace() -> DiskSpace? {
        var info = statvfs()
        guard statvfs(configuration.stateDirectory, &info) == 0 else { return nil }
        return DiskSpace(
            total: Int64(clamping: UInt64(info.f_blocks) * UInt64(info.f_frsize)),
            free: Int64(clamping: UInt64(info.f_bavail) * UInt64(info.f_frsize)))
    }
}

// MARK: - Opening

extension Gateway {
    private static func apiBase(_ configuration: Configuration) throws(GatewayError) -> APIBase {
        do throws(CloudError) {
            return try APIBase(configuration.cloudURL)
        } catch {
            throw GatewayError(
                .configuration, "[Cloud] URL=\(Terminal.printable(configuration.cloudURL)): \(error.message)",
                hint: error.hint)
        }
    }

    private static func startLoop(_ name: String) throws(GatewayError) -> EventLoop {
        do throws(SystemError) {
            return try EventLoop.start(name: name)
        } catch {
            throw GatewayError(error)
        }
    }

    private static func openQueue(
        _ configuration: Configuration, _ executor: EventLoop, _ log: Log,
        _ now: @escaping @Sendable () -> Date
    ) async throws(GatewayError) -> CaptureQueue {
        var settings = QueueConfiguration(directory: configuration.stateDirectory, now: now)
        settings.reservedBytes = configuration.reservedMiB << 20
        settings.reservedPercent = configuration.reservedPercent
        settings.keepAfterUpload = configuration.keepAfterUpload
        let queue = CaptureQueue(settings, executor: executor)
        do throws(QueueError) {
            let report = try await queue.open()
            tell(report, log)
            return queue
        } catch {
            let failure = GatewayError(error)
            throw GatewayError(
                failure.code, failure.message,
                hint: failure.hint
                    ?? "celestiad must be able to write there; [General] StateDirectory names another directory."
            )
        }
    }

    /// Says what the start found that is out of the ordinary.
    private static func tell(_ report: StartReport, _ log: Log) {
        if !report.wasClean, !report.isNew {
            log.notice("the last run did not end in order; the queue was checked")
        }
        if !report.adoptedSessions.isEmpty {
            log.warning("\(report.adoptedSessions.count) sessions were rebuilt from the spool")
        }
        if !report.adoptedAssets.isEmpty {
            log.notice(
                "\(report.adoptedAssets.count) files were complete in the spool and are in the queue now")
        }
        if !report.lostAssets.isEmpty {
            log.error(
                "\(report.lostAssets.count) stored files are gone or changed; celestiad sessions shows which")
        }
        if report.ambiguous > 0 {
            log.notice(
                "\(report.ambiguous) requests to the cloud are of unknown outcome and are looked up first")
        }
        if !report.foreign.isEmpty {
            log.warning("\(report.foreign.count) things in the spool are not celestiad's and are left alone")
        }
    }

    private static func openHTTP(
        _ configuration: Configuration, _ loop: EventLoop
    ) throws(GatewayError) -> HTTPClient {
        do throws(HTTPError) {
            return try HTTPClient(
                loop: loop,
                configuration: HTTPConfiguration(
                    userAgent: "celestiad/\(Version.number)", caFile: configuration.cloudCAFile,
                    pinnedPublicKey: configuration.cloudPinnedKey))
        } catch {
            throw GatewayError(error)
        }
    }

    private static func openBus(
        _ configuration: Configuration, _ loop: EventLoop
    ) async throws(GatewayError) -> Connection {
        do throws(DBusError) {
            return try await Connection.open(configuration.busAddress, on: loop)
        } catch {
            throw GatewayError(error)
        }
    }

    /// What binds the credentials to this machine; systemd gives every installation one (machine-id(5)).
    private static func machineID() -> String {
        guard let file = fopen("/etc/machine-id", "re") else { return "unknown" }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = fread(&buffer, 1, buffer.count, file)
        return String(decoding: buffer[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
    }
}
