internal import BlueZ
package import DBus
package import EventLoop
internal import ObjectTransfer
package import RecorderModel

/// What makes a recorder of an adapter.
package struct BlueZPeripheralConfiguration: Sendable {
    /// The bus that bluetoothd is on.
    package var busAddress: String
    /// The adapter that becomes the recorder's, such as hci1.
    package var adapter: String
    package var recorder: RecorderConfiguration
    /// What it advertises; at most 20 bytes fit beside the rest.
    package var name: String
    package var confirmation = RecorderConfirmation.automatic

    package init(busAddress: String, adapter: String, recorder: RecorderConfiguration, name: String) {
        self.busAddress = busAddress
        self.adapter = adapter
        self.recorder = recorder
        self.name = name
    }
}

/// A simulated recorder on a real radio: registers the recorder's attributes with bluetoothd, advertises, pairs, and
/// takes its Object Transfer Channel. bluetoothd and the kernel enforce the security that the profile asks for.
package actor BlueZPeripheral {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let configuration: BlueZPeripheralConfiguration
    let model: RecorderModel
    let user: RecorderUser
    let onEvent: @Sendable (SimulatorEvent) -> Void
    private let onTrouble: @Sendable (String) -> Void

    var connection: Connection?
    /// The unique name of the bluetoothd that runs; nil while none does.
    private(set) var bluetoothd: String?
    var adapter: AdapterMap
    /// Whether the adapter has our services and advertisement.
    private var isRegistered = false
    private var isInRange = true
    private var readyWaiter: CheckedContinuation<Result<Void, DBusError>, Never>?

    /// The hub that is connected.
    var link: HubLink?
    /// What hubs subscribed to, as bluetoothd tells it: for a bonded hub it outlives the link.
    var subscriptions: Set<GATTCharacteristicID> = []
    var frames: FrameSocket?
    let frame = FrameBuffer()
    /// The length of the frame in `frame` that is still to be sent.
    var pendingFrame = 0
    var pumpTimer: LoopTimer?

    private var listening: Task<Void, Never>?
    var listener: L2CAPListener?
    var channel: ObjectChannel?

    /// Nothing is on the bus before `start()`. `onTrouble` is told what does not work, for a person; both are called on
    /// the loop.
    package init(
        _ configuration: BlueZPeripheralConfiguration, loop: EventLoop,
        onTrouble: @escaping @Sendable (String) -> Void = { _ in },
        onEvent: @escaping @Sendable (SimulatorEvent) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.loop = loop
        self.onTrouble = onTrouble
        self.onEvent = onEvent
        model = RecorderModel(configuration.recorder)
        user = RecorderUser(configuration.confirmation)
        adapter = AdapterMap(name: configuration.adapter)
    }

    /// The adapter's address, once `start()` has returned.
    package var address: String { adapter.address }

    // MARK: Life

    /// Returns when the recorder advertises, for which bluetoothd and the adapter may come later. Throws when the bus is
    /// not there, or bluetoothd refuses to have a recorder.
    package func start() async throws(DBusError) {
        let connection = try await Connection.open(configuration.busAddress, on: loop)
        self.connection = connection
        await connection.exportObjectManager(at: BlueZNames.applicationPath)
        for object in applicationObjects + [agentObject, advertisementObject] {
            try await connection.export(object)
        }
        let events = try await connection.events(of: BlueZNames.service)
        Task { await connection.serve { call throws(DBusError) in try await self.admit(call) } }
        Task { await self.follow(events) }
        try await suspending { self.readyWaiter = $0 }
    }

    /// Returns when the bus has gone.
    package func waitUntilClosed() async {
        await connection?.waitUntilClosed()
    }

    private func follow(_ events: AsyncStream<NameEvent>) async {
        for await event in events {
            switch event {
            case .owner(let owner):
                bluetoothd = owner
                await perform(adapter.clear())
                if owner != nil { await readObjects() }
            case .signal(let signal): await perform(adapter.handle(signal))
            }
        }
    }

    private func readObjects() async {
        let reply = try? await call(.root, BlueZNames.objectManager, "GetManagedObjects")
        var objects: [ObjectPath: [String: [String: DBusValue]]] = [:]
        for (path, interfaces) in reply?.first?.asDictionary ?? [:] {
            guard let path = path.asObjectPath, let interfaces = interfaces.asDictionary else { continue }
            for (name, values) in interfaces {
                objects[path, default: [:]][name.asString ?? ""] = values.asProperties
            }
        }
        await perform(adapter.replace(with: objects))
        let bonded = Set(adapter.hubs.values.filter(\.isPaired).map(\.address))
        for address in model.bonds.keys where !bonded.contains(address) {
            deliver(model.setBond(nil, with: address))
        }
    }

    private func perform(_ actions: [AdapterMap.Action]) async {
        for action in actions {
            switch action {
            case .adapterReady: await register()
            case .adapterOff: await powerOn()
            case .adapterGone: forgetAdapter()
            case .connected(let path): beginLink(path)
            case .disconnected(let path): endLink(path)
            case .bondChanged(_, let address, let isBonded): bondChanged(address, isBonded)
            }
        }
    }

    /// Anybody on the bus can call us.
    private func admit(_ call: IncomingCall) throws(DBusError) {
        guard call.sender == bluetoothd else {
            throw .remote(DBusErrorName.accessDenied, "only bluetoothd may call this")
        }
    }

    func call(
        _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [DBusValue] = []
    ) async throws(DBusError) -> [DBusValue] {
        guard let connection else { throw DBusError(.disconnected, "there is no connection to the bus") }
        return try await connection.call(
            MethodCall(BlueZNames.service, path, interface, member, arguments))
    }

    func trouble(_ what: String, _ error: some Error) {
        onTrouble("\(what): \(error)")
    }

    // MARK: Registration

    private func powerOn() async {
        await setProperty("Powered", .boolean(true))
    }

    /// Something else, such as AutoEnable of bluetoothd, may be at it as well.
    private func setProperty(_ name: String, _ value: DBusValue) async {
        do throws(DBusError) {
            _ = try await call(
                adapter.path, BlueZNames.properties, "Set",
                [.string(BlueZNames.adapter), .string(name), .variant(value)])
        } catch {
            trouble("\(configuration.adapter) does not take \(name)", error)
        }
    }

    private func register() async {
        guard !isRegistered else { return }
        isRegistered = true
        do throws(DBusError) {
            try await registerAgent()
            await setProperty("Pairable", .boolean(true))
            // Hubs read the name of the Generic Access service, which this is.
            await setProperty("Alias", .string(configuration.name))
            _ = try await call(
                adapter.path, BlueZNames.gattManager, "RegisterApplication",
                [.objectPath(BlueZNames.applicationPath), BlueZNames.noOptions])
            listen()
            if isInRange { try await advertise() }
            readyWaiter?.resume(returning: .success(()))
        } catch {
            isRegistered = false
            trouble("bluetoothd does not make a recorder of \(configuration.adapter)", error)
            readyWaiter?.resume(returning: .failure(error))
        }
        readyWaiter = nil
    }

    /// Who is being paired did not ask for it, and bluetoothd turns to the default agent.
    private func registerAgent() async throws(DBusError) {
        let path = DBusValue.objectPath(BlueZNames.agentPath)
        do throws(DBusError) {
            _ = try await call(
                BlueZNames.root, BlueZNames.agentManager, "RegisterAgent", [path, .string(capability)])
        } catch {
            guard error.name == "org.bluez.Error.AlreadyExists" else { throw error }
        }
        _ = try await call(BlueZNames.root, BlueZNames.agentManager, "RequestDefaultAgent", [path])
    }

    private func advertise() async throws(DBusError) {
        _ = try await call(
            adapter.path, BlueZNames.advertisingManager, "RegisterAdvertisement",
            [.objectPath(BlueZNames.advertisementPath), BlueZNames.noOptions])
    }

    private func forgetAdapter() {
        isRegistered = false
        subscriptions = []
        frames?.close()
        frames = nil
        listening?.cancel()
        listening = nil
        listener?.assumeIsolated { $0.close() }  // it lives on the same loop
        listener = nil
    }

    /// Takes channels on the adapter's own address.
    private func listen() {
        guard listener == nil, let address = DeviceAddress(adapter.address) else { return }
        let isAuthenticated = configuration.recorder.requiredSecurity == .authenticated
        do throws(BlueZError) {
            let listener = try L2CAPListener.open(
                at: address, adapter.addressType == "random" ? .random : .public,
                psm: ObjectTransferService.channelPSM,
                security: isAuthenticated ? .authenticated : .encrypted, on: loop)
            self.listener = listener
            listening = Task { await self.takeChannels(listener) }
        } catch {
            trouble("there will be no Object Transfer Channel", error)
        }
    }

    /// The recorder walks out of range: it is not heard and loses its link; or back.
    func setAdvertising(_ isOn: Bool) async throws(DBusError) {
        guard isOn != isInRange else { return }
        isInRange = isOn
        guard isRegistered else { return }
        if isOn {
            try await advertise()
        } else {
            _ = try await call(
                adapter.path, BlueZNames.advertisingManager, "UnregisterAdvertisement",
                [.objectPath(BlueZNames.advertisementPath)])
        }
    }
}
