package import DBus
import EventLoop

/// A device's link from one connect to the next disconnect: what an operation was begun on must be what it ends on.
package struct Link: Sendable, Hashable {
    package let device: ObjectPath
    /// Never used twice in a process.
    package let generation: UInt64
}

/// org.bluez as typed Swift. Mirrors its objects, owns our discovery, agent and subscriptions, and fails whatever
/// waits the moment that bluetoothd, the adapter, the device or its link goes.
///
/// The connection is this actor's own: `run()` serves it, and answers nobody but bluetoothd on it.
package actor BlueZ {
    package nonisolated let connection: Connection
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        connection.loop.asUnownedSerialExecutor()
    }

    nonisolated let configuration: BlueZConfiguration
    nonisolated let clock: any Clock<Duration>

    var cache = ObjectCache()
    /// The unique name of bluetoothd, once its objects are known.
    var owner: String?
    private var isClosed = false
    /// Whether it is known if bluetoothd runs: the bus has been asked, and bluetoothd for its objects.
    package private(set) var hasLooked = false
    /// Counts the lives of bluetoothd.
    package private(set) var busGeneration: UInt64 = 0

    /// The link of each connected device.
    private(set) var links: [ObjectPath: Link] = [:]
    /// The connected devices whose services are resolved.
    private var resolved: Set<ObjectPath> = []
    private var lastLink: UInt64 = 0
    /// Devices of which BlueZ has announced a link, or the end of one, since the last connect to them.
    var heardOfLink: Set<ObjectPath> = []
    /// Counts what was learned of devices.
    var deviceChanges: UInt64 = 0

    private var waiters: [UInt64: Waiter] = [:]
    private var lastID: UInt64 = 0
    private var changeStreams: [UInt64: AsyncStream<Void>.Continuation] = [:]

    var discovery = DiscoveryState()
    var agent = AgentState()
    var subscriptions: [ObjectPath: Subscription] = [:]
    var channels: [ObjectPath: OpenChannel] = [:]
    /// Characteristics whose notify session of an earlier link BlueZ may still hold for us.
    var staleSessions: Set<ObjectPath> = []
    /// Characteristics whose AcquireNotify was never answered: StopNotify on them crashes bluetoothd before 5.84.
    var unanswered: Set<ObjectPath> = []
    /// Adapters on which a connect or pairing is under way: one at a time.
    var busyAdapters: Set<ObjectPath> = []

    private let (jobs, jobContinuation) = AsyncStream.makeStream(of: Job.self)

    static let service = "org.bluez"
    static let root = ObjectPath(trusted: "/org/bluez")

    /// A client on `connection`, which must be used for nothing else. Nothing happens before `run()`.
    package init(
        connection: Connection, configuration: BlueZConfiguration = BlueZConfiguration(),
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.connection = connection
        self.configuration = configuration
        self.clock = clock
    }

    // MARK: Running

    /// Follows bluetoothd until the connection closes or the task is cancelled. To be called once. Throws `busGone`
    /// when the bus goes; bluetoothd may come and go meanwhile.
    package func run() async throws(BlueZError) {
        let outcome: Result<Void, BlueZError>
        do throws(DBusError) {
            try await connection.export(agentObject())
            let events = try await connection.events(of: Self.service)
            await withDiscardingTaskGroup { group in
                group.addTask { await self.serve() }
                group.addTask { await self.follow(events) }
                for await job in jobs { group.addTask { await self.perform(job) } }
                group.cancelAll()
            }
            outcome = Task.isCancelled ? .success(()) : .failure(.busGone)
        } catch {
            outcome = .failure(BlueZError(error))
        }
        isClosed = true
        bluetoothdChanged(to: nil)
        try outcome.get()
    }

    private func serve() async {
        await connection.serve { call throws(DBusError) in try await self.admit(call) }
    }

    private func follow(_ events: AsyncStream<NameEvent>) async {
        for await event in events {
            switch event {
            case .owner(let owner): await ownerChanged(to: owner)
            case .signal(let signal): handle(signal)
            }
        }
        jobContinuation.finish()
    }

    private func ownerChanged(to unique: String?) async {
        // The same owner again means that signals were lost: what we know is void, and so are values.
        bluetoothdChanged(to: nil)
        defer {
            hasLooked = true
            stateChanged()
        }
        guard let unique else { return }
        guard let objects = await managedObjects(of: unique) else { return }
        cache = objects
        bluetoothdChanged(to: unique)
        post(.registerAgent(busGeneration))
    }

    /// All objects of the bluetoothd with this unique name; nil when it went before it told. Signals that come
    /// while this waits are applied after it. They may be older than the reply, but the last of each is not, so
    /// that the mirror ends up right.
    private func managedObjects(of unique: String) async -> ObjectCache? {
        let call = MethodCall(unique, .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        while true {
            do throws(BlueZError) {
                let reply = try await send(call, timeout: configuration.deadlines.other).get()
                return try ObjectCache(managed: reply.first)
            } catch {
                guard ![.bluetoothdGone, .busGone, .cancelled].contains(error.code),
                    (try? await clock.sleep(for: .seconds(1))) != nil
                else { return nil }
            }
        }
    }

    /// Voids everything that belonged to the bluetoothd before.
    private func bluetoothdChanged(to unique: String?) {
        owner = unique
        if unique == nil {
            busGeneration += 1
            cache = ObjectCache()
            agent.isRegistered = false
            heardOfLink = []
            staleSessions = []
            unanswered = []
        }
        updateLinks()
        updateDiscovery()
        stateChanged()
    }

    // MARK: Signals

    private func handle(_ signal: Signal) {
        let events: [CacheEvent]
        switch (signal.interface, signal.member, signal.arguments.count) {
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged", 3):
            guard let interface = signal.arguments[0].asString,
                let changed = signal.arguments[1].asProperties
            else { return }
            if interface == ObjectCache.Interface.device, changed["Connected"] != nil,
                cache.devices[signal.path] != nil
            {
                heardOfLink.insert(signal.path)
            }
            events = cache.changed(
                signal.path, interface, changed, invalidated: signal.arguments[2].asStrings ?? [])
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesAdded", 2):
            guard let path = signal.arguments[0].asObjectPath else { return }
            events = cache.added(path, signal.arguments[1])
        case ("org.freedesktop.DBus.ObjectManager", "InterfacesRemoved", 2):
            guard let path = signal.arguments[0].asObjectPath else { return }
            events = cache.removed(path, signal.arguments[1].asStrings ?? [])
        default:
            return
        }
        apply(events)
    }

    /// Acts on what a change of the cache means.
    func apply(_ events: [CacheEvent]) {
        var isStateChanged = false
        for event in events {
            switch event {
            case .adapter, .attributes: isStateChanged = true
            case .device(let path):
                deviceChanges += 1
                updateLink(of: path)
                isStateChanged = true
            case .advertisement(let adapter): heardAdvertisement(on: adapter)
            case .value(let path, let value): deliver(value, of: path)
            }
        }
        guard isStateChanged else { return }
        updateDiscovery()
        stateChanged()
    }

    // MARK: Links

    private func updateLinks() {
        for path in Set(links.keys).union(cache.devices.keys) { updateLink(of: path) }
    }

    private func updateLink(of path: ObjectPath) {
        let device = cache.devices[path]
        if device?.isConnected == true {
            if links[path] == nil {
                lastLink += 1
                links[path] = Link(device: path, generation: lastLink)
            }
        } else if let link = links.removeValue(forKey: path) {
            endValues(of: link)
        }
        let isResolved = links[path] != nil && device?.areServicesResolved == true
        if isResolved {
            resolved.insert(path)
        } else if resolved.remove(path) != nil, let link = links[path] {
            endValues(of: link)
        }
    }

    // MARK: What an operation depends on

    /// What must not go while an operation is under way.
    enum Scope: Sendable {
        case bluetoothd(UInt64)
        case adapter(ObjectPath)
        case device(ObjectPath)
        case link(Link)
        /// A link with its services resolved.
        case attributes(Link)
    }

    /// Why an operation in this scope cannot go on; nil while it can.
    func failure(of scope: Scope) -> BlueZError? {
        if isClosed { return .busGone }
        guard owner != nil else { return .bluetoothdGone }
        switch scope {
        case .bluetoothd(let generation):
            return generation == busGeneration ? nil : .bluetoothdGone
        case .adapter(let path):
            guard let adapter = cache.adapters[path] else {
                return BlueZError(.adapterGone, "there is no Bluetooth adapter at \(path)")
            }
            guard adapter.isPowered != false else {
                return BlueZError(.adapterOff, "the Bluetooth adapter \(adapter.id) is off")
            }
            return nil
        case .device(let path):
            guard let device = cache.devices[path] else {
                return BlueZError(.deviceGone, "BlueZ does not know \(path.name) any more")
            }
            return failure(of: .adapter(device.adapter))
        case .link(let link):
            if let failure = failure(of: .device(link.device)) { return failure }
            return links[link.device] == link
                ? nil : BlueZError(.linkLost, "the link to \(link.device.name) is gone")
        case .attributes(let link):
            if let failure = failure(of: .link(link)) { return failure }
            return cache.devices[link.device]?.areServicesResolved == true
                ? nil
                : BlueZError(.servicesChanged, "the services of \(link.device.name) are not resolved")
        }
    }

    // MARK: Waiting

    enum Verdict {
        case pending
        case met
        case failed(BlueZError)
    }

    typealias Condition = @Sendable (isolated BlueZ) -> Verdict

    private struct Waiter {
        let condition: Condition
        let continuation: CheckedContinuation<Result<Void, BlueZError>, Never>
    }

    /// Returns when the condition is met or has failed, or the task is cancelled. Conditions are asked after every
    /// change of state, the longest waiting first, and may take what they were waiting for.
    func park(_ condition: @escaping Condition) async -> Result<Void, BlueZError> {
        let id = nextID()
        return await withTaskCancellationHandler {
            await withCheckedContinuation { self.add(Waiter(condition: condition, continuation: $0), id: id) }
        } onCancel: {
            connection.loop.submit { [weak self] in
                self?.assumeIsolated { $0.resume(id, with: .failure(.cancelled)) }
            }
        }
    }

    private func add(_ waiter: Waiter, id: UInt64) {
        guard !Task.isCancelled else { return waiter.continuation.resume(returning: .failure(.cancelled)) }
        switch waiter.condition(self) {
        case .met: waiter.continuation.resume(returning: .success(()))
        case .failed(let error): waiter.continuation.resume(returning: .failure(error))
        case .pending: waiters[id] = waiter
        }
    }

    private func resume(_ id: UInt64, with result: Result<Void, BlueZError>) {
        waiters.removeValue(forKey: id)?.continuation.resume(returning: result)
    }

    /// To be called after every change that a condition or a reader of `changes()` may care for.
    func stateChanged() {
        for id in waiters.keys.sorted() {
            guard let waiter = waiters[id] else { continue }
            switch waiter.condition(self) {
            case .met: resume(id, with: .success(()))
            case .failed(let error): resume(id, with: .failure(error))
            case .pending: break
            }
        }
        for stream in changeStreams.values { stream.yield() }
    }

    func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Whether the bus connection has gone for good.
    var isBusGone: Bool { isClosed }

    // MARK: Changes

    /// One element at once and one after every change of adapters, devices or bluetoothd itself; changes that come
    /// faster than they are read are one. Values of characteristics are no changes.
    package func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = nextID()
        changeStreams[id] = continuation
        continuation.onTermination = { [weak self, loop = connection.loop] _ in
            loop.submit { [weak self] in self?.assumeIsolated { $0.changeStreams[id] = nil } }
        }
        continuation.yield()
        return stream
    }

    // MARK: Jobs

    /// Work that nobody waits for.
    enum Job: Sendable {
        case registerAgent(UInt64)
        case discovery(DiscoveryJob)
        /// A call whose outcome does not matter.
        case call(MethodCall)
        case cancelPairing(ObjectPath)
        case show(PairingPrompt, ObjectPath)
    }

    func post(_ job: Job) {
        jobContinuation.yield(job)
    }

    private func perform(_ job: Job) async {
        switch job {
        case .registerAgent(let generation): await registerAgent(in: generation)
        case .discovery(let job): await perform(job)
        case .call(let call): _ = await send(call, timeout: configuration.deadlines.stopDiscovery)
        case .cancelPairing(let device): await cancelPairing(of: device)
        case .show(let prompt, let device): await show(prompt, of: device)
        }
    }
}
