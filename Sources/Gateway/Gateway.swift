package import BlueZ
package import CaptureQueue
package import Cloud
import DBus
import EventLoop
package import FoundationEssentials
import Glibc
import HTTP
import Recorder

/// The daemon: joins the modules below and keeps their supervisors running.
package actor Gateway {
    package nonisolated let live: LiveConfiguration
    package nonisolated let log: Log
    /// What goes on now: links and transfers.
    package nonisolated let board: Board
    package nonisolated let queue: CaptureQueue
    package nonisolated let bluez: BlueZ
    package nonisolated let api: CelestiaAPI
    package nonisolated let startedAt: Date

    nonisolated let context: LinkContext
    nonisolated let links: LinkSupervisor
    nonisolated let devices: DeviceSync
    private nonisolated let standingLogin: StandingLogin?
    /// What the uploads are doing.
    package nonisolated let uploads: UploadSupervisor
    nonisolated let http: HTTPClient
    private nonisolated let connection: Connection
    nonisolated let loops: [EventLoop]
    private nonisolated let shutdown = Wakeup()
    /// Raised with it, for the wait at the start.
    private nonisolated let haste = Wakeup()
    /// Made when something is imported: most hubs never do.
    private nonisolated let importer = Locked<Importer?>(nil)

    /// How long a graceful stop waits for what must not be cancelled: the uploads' putting down, and a refresh of the
    /// tokens, whose answer may be the only copy of the new ones.
    private static let grace = Duration.seconds(10)

    private init(
        live: LiveConfiguration, log: Log, board: Board, context: LinkContext, http: HTTPClient,
        api: CelestiaAPI, loops: [EventLoop]
    ) {
        self.live = live
        let configuration = live.current
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
        settings.slowestRate = configuration.slowestUploadRate
        settings.now = context.now
        let clock = context.clock
        settings.sleep = { try await clock.sleep(for: $0) }
        uploads = UploadSupervisor(
            queue: context.queue, api: api, board: board, log: log, configuration: settings)
        devices = DeviceSync(queue: context.queue, api: api, board: board, log: log, configuration: settings)
        standingLogin = StandingLogin(configuration, api: api, log: log, settings: settings)
        startedAt = context.now()
    }

    /// Opens the queue, the bus and the way to the cloud. Nothing is changed anywhere but in the state directory.
    ///
    /// Throws `configuration` (API address), `storage`, `alreadyRunning`, `noBus`, `system`.
    package static func open(
        _ live: LiveConfiguration, log: Log, now: @escaping @Sendable () -> Date = { Date() }
    ) async throws(GatewayError) -> Gateway {
        let configuration = live.current
        let base = try apiBase(configuration)
        if try StateDirectory.prepare(configuration.stateDirectory) {
            log.warning("the state directory was open to other users; only celestiad may look into it now")
        }
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
                live: live, bluez: bluez, planes: DataPlanes(bluez: bluez, clock: clock),
                queue: queue,
                board: board, log: log, targetHost: base.description, clock: clock, now: now)
            return Gateway(
                live: live, log: log, board: board, context: context, http: http, api: api,
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
            if let standingLogin { group.addTask { await self.endless { await standingLogin.run() } } }
            group.addTask { await self.runUploads() }
            group.addTask { await self.endless { await self.applyChanges() } }
            group.addTask { await self.endless { await self.paceUploads() } }
            group.addTask { await self.endless { await self.watchNetwork() } }
            group.addTask { await self.endless { await self.watchMetered() } }
            group.addTask { await self.watchDisk() }
            group.addTask { await self.endless { await self.announceChanges() } }
            group.addTask { await self.endless { await self.watchStorage() } }
            group.addTask { await self.watchFolder() }
            group.addTask { await self.endless { await self.verifyContents() } }
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

    private nonisolated func watchStorage() async {
        let watch = StorageWatch(queue: queue, log: log, clock: context.clock) { [links] in
            _ = await links.want(nil)
        }
        await watch.run()
    }

    /// After a failed flush: every stored file is read again.
    private nonisolated func verifyContents() async {
        do throws(QueueError) {
            let lost = try await queue.verifyContents()
            if !lost.isEmpty {
                log.error(
                    "\(lost.count) stored files are not what was stored; celestiad sessions --attention shows which",
                    .filesLost)
            }
        } catch {
            log.error("the stored files could not be read again: \(error)")
        }
        try? await context.clock.sleep(for: .seconds(1 << 30))
    }

    private nonisolated func watchFolder() async -> GatewayError? {
        let (ends, end) = AsyncStream.makeStream(of: GatewayError.self)
        return await firstOf(
            {
                for await error in ends { return error }
                return nil
            },
            {
                await self.live.following({ FolderSettings($0) }) { settings in
                    if let error = await self.watch(settings) { end.yield(error) }
                }
                return nil
            })
    }

    private struct FolderSettings: Sendable, Equatable {
        let folder: String?
        let settling: Duration

        init(_ configuration: Configuration) {
            folder = configuration.watchedFolder
            settling = configuration.folderSettling
        }
    }

    /// Returns why it ended, unless it was cancelled.
    private nonisolated func watch(_ settings: FolderSettings) async -> GatewayError? {
        guard let folder = settings.folder else {
            return await endless { try? await self.context.clock.sleep(for: .seconds(1 << 30)) }
        }
        do throws(QueueError) {
            let importer = try openImporter()
            let watch = FolderWatch(
                folder: folder, settling: settings.settling, importer: importer.files, queue: queue,
                log: log, clock: context.clock, executor: importer.loop,
                report: { [board] in board.note($0) })
            return await endless { await watch.run() }
        } catch {
            return GatewayError(error)
        }
    }

    /// The importer and its thread.
    private struct Importer {
        let files: FileImporter
        let loop: EventLoop
    }

    private nonisolated func openImporter() throws(QueueError) -> Importer {
        let result = importer.withLock { importer -> Result<Importer, SystemError> in
            if let importer { return .success(importer) }
            do throws(SystemError) {
                let loop = try EventLoop.start(name: "imports")
                let made = Importer(
                    files: FileImporter(queue: queue, targetHost: context.targetHost, executor: loop),
                    loop: loop)
                importer = made
                return .success(made)
            } catch {
                return .failure(error)
            }
        }
        do throws(SystemError) {
            return try result.get()
        } catch {
            throw QueueError(.io, "no thread for imports: \(error)")
        }
    }

    /// Takes a file that somebody offers into the queue; returns when it is durable there. Throws as the queue does, and
    /// `invalidInput` for what is no plain file with sound or a picture.
    package nonisolated func importFile(_ file: OfferedFile) async throws(QueueError) -> ImportOutcome {
        let importer: Importer
        do throws(QueueError) {
            importer = try openImporter()
        } catch {
            Glibc.close(file.descriptor)
            throw error
        }
        return try await importer.files.take(file)
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
            group.addTask {
                for await _ in await self.api.tokens.states() {
                    await self.settleAccount()
                    self.board.announce(.account)
                }
            }
        }
    }

    /// Ends the event loops, on which the bus, the disk and the network are served: when nobody calls any more, because a
    /// call that comes later is never answered.
    package nonisolated func stopLoops() {
        for loop in loops { loop.stop() }
        importer.withLock { $0 }?.loop.stop()
    }

    /// Puts everything down in order; for a gateway that was opened and is not to run after all. `run` does it by itself.
    package func close() async {
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
    }
}
