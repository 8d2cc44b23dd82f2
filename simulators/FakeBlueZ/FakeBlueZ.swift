package import DBus
package import EventLoop
internal import ObjectTransfer
package import RecorderModel

/// An org.bluez on a message bus of its own, with simulated recorders within its range: behaves as bluetoothd does
/// where a central can tell (research in BlueZ 5.66 and 5.82), errors and their texts included.
package actor FakeBlueZ {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let configuration: FakeBlueZConfiguration
    let onEvent: @Sendable (SimulatorEvent) -> Void
    let peripherals: [Peripheral]

    /// The bus connection of the bluetoothd that runs now; nil while none does.
    var connection: Connection?
    private var serving: [Task<Void, Never>] = []
    var properties = PropertyTable()
    var adapters: [ObjectPath: FakeAdapter] = [:]
    var devices: [ObjectPath: FakeDevice] = [:]
    var agents = AgentRegistry()
    var advertising: LoopTimer?
    /// The hub's halves of the bonds, by adapter and device address: what bluetoothd keeps on disk.
    var bonds: [String: [String: LinkSecurity]] = [:]
    /// The links, by the adapter's address, that a bluetoothd left in the middle of a pairing.
    var orphans: [(adapter: String, peripheral: Peripheral)] = []
    /// One frame; nothing else writes into it while a frame is under way.
    let frame = FrameBuffer()
    /// Notifications that bluetoothd dropped because the reader was too slow.
    package internal(set) var droppedNotifications = 0

    /// Nothing is on the bus before `start()`. `onEvent` is called on the loop.
    package init(
        _ configuration: FakeBlueZConfiguration, loop: EventLoop,
        onEvent: @escaping @Sendable (SimulatorEvent) -> Void = { _ in }
    ) {
        self.loop = loop
        self.configuration = configuration
        self.onEvent = onEvent
        peripherals = configuration.peripherals.map { Peripheral($0) }
        for peripheral in peripherals {
            for (adapter, security) in peripheral.model.bonds {
                bonds[adapter, default: [:]][peripheral.configuration.address] = security
            }
        }
    }

    // MARK: The life of bluetoothd

    /// Starts bluetoothd: takes the name org.bluez and publishes its objects. Throws when the bus is not there or the
    /// name is taken.
    package func start() async throws(DBusError) {
        guard connection == nil else { return }
        let connection = try await Connection.open(configuration.busAddress, on: loop)
        self.connection = connection
        await connection.exportObjectManager(at: .root)
        let names = try await connection.events(of: "org.freedesktop.DBus")
        serving = [
            Task { await connection.serve() },
            Task { await self.watchSenders(names) },
        ]
        await publish(BlueZ.root, [agentManagerInterface])
        for adapter in configuration.adapters { await addAdapter(adapter) }
        try await connection.requestName(BlueZ.name)
    }

    /// Ends bluetoothd as a crash would: links, sessions and descriptors go, calls under way get no answer. Bonds
    /// stay, and the link of a pairing that was under way is there again with the next bluetoothd.
    package func stop() async {
        guard let connection else { return }
        // Released first, so that the next bluetoothd can take the name at once.
        _ = try? await connection.call(
            MethodCall(
                "org.freedesktop.DBus", ObjectPath(trusted: "/org/freedesktop/DBus"), "org.freedesktop.DBus",
                "ReleaseName", [.string(BlueZ.name)]))
        self.connection = nil
        advertising?.cancel()
        advertising = nil
        for device in devices.values {
            device.removal?.cancel()
            if device.isConnected, device.pairing != nil {
                orphans.append((device.adapter.address, device.peripheral))
            }
            dropLink(device)
            device.endSteps(.removed)
        }
        devices = [:]
        adapters = [:]
        agents = AgentRegistry()
        properties.removeAll()
        await connection.close()
        for task in serving { task.cancel() }
        serving = []
    }

    /// Returns when the bus has gone, or bluetoothd was stopped.
    package func waitUntilClosed() async {
        await connection?.waitUntilClosed()
    }

    private func watchSenders(_ events: AsyncStream<NameEvent>) async {
        for await case .signal(let signal) in events where signal.member == "NameOwnerChanged" {
            guard let name = signal.arguments.first?.asString, signal.arguments.last?.asString == "",
                name.hasPrefix(":")
            else { continue }
            senderLeft(name)
        }
    }

    /// Discovery, agents, subscriptions and a pairing end with the connection that began them.
    private func senderLeft(_ sender: String) {
        for adapter in adapters.values {
            adapter.filters[sender] = nil
            if adapter.sessions.remove(sender) != nil { discoveryChanged(adapter) }
        }
        agents.remove(sender)
        for device in devices.values {
            if device.pairing?.sender == sender { device.pairing?.finish(.failure(.authenticationCanceled)) }
            for (id, senders) in device.sessions where senders.contains(sender) {
                endSession(device, id, sender)
            }
        }
    }

    // MARK: Objects on the bus

    /// Puts interfaces on the bus, beside those that the object has.
    func publish(_ path: ObjectPath, _ interfaces: [PublishedInterface], beside: [PublishedInterface] = [])
        async
    {
        for interface in interfaces { properties.define(path, interface.name, interface.values) }
        let exported = (beside + interfaces).map { interface in
            ExportedInterface(
                interface.name, methods: interface.methods,
                properties: interface.types.map { name, type in
                    ExportedProperty(name, type, set: interface.setters[name]) {
                        await self.properties.value(path, interface.name, name)
                    }
                })
        }
        try? await connection?.export(ExportedObject(path, exported))
    }

    func withdraw(_ path: ObjectPath) {
        properties.remove(path)
        // The connection lives on the same loop; when it is gone there is nobody to tell.
        connection?.assumeIsolated { try? $0.unexport(path) }
    }

    /// Changes properties, nil for one that the object no longer has, and announces those that differ.
    func change(_ path: ObjectPath, _ interface: String, _ changes: [String: DBusValue?]) {
        let (changed, invalidated) = properties.change(path, interface, changes)
        guard !changed.isEmpty || !invalidated.isEmpty else { return }
        announce(path, interface, changed, invalidated)
    }

    /// Announces values whether or not they differ, as bluetoothd does for notifications.
    func announce(
        _ path: ObjectPath, _ interface: String, _ changed: [String: DBusValue], _ invalidated: [String] = []
    ) {
        connection?.assumeIsolated {
            try? $0.emitPropertiesChanged(path, interface, changed, invalidated: invalidated)
        }
    }

    // MARK: Finding things

    func adapter(_ path: ObjectPath) throws(DBusError) -> FakeAdapter {
        guard let adapter = adapters[path] else {
            throw .remote(DBusErrorName.unknownObject, "there is no object at \(path)")
        }
        return adapter
    }

    func device(_ path: ObjectPath) throws(DBusError) -> FakeDevice {
        guard let device = devices[path] else {
            throw .remote(DBusErrorName.unknownObject, "there is no object at \(path)")
        }
        return device
    }

    /// Waits, unless something ends the wait.
    func pause(_ duration: Duration, _ step: PendingStep) async -> StepOutcome {
        await withCheckedContinuation { continuation in
            step.begin(continuation, timer: loop.schedule(after: duration) { step.finish(.elapsed) })
        }
    }
}
