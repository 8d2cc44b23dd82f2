import DBus
import EventLoop

/// A bluetoothd whose every answer a test dictates.
actor ScriptedBluetoothd {
    typealias Handler = @Sendable (IncomingCall, ScriptedBluetoothd) async throws(DBusError) -> [DBusValue]

    nonisolated let connection: Connection
    private var properties: [ObjectPath: [String: [String: DBusValue]]] = [:]
    private var handlers: [String: Handler] = [:]
    private(set) var calls: [IncomingCall] = []
    private var callWaiters: [(member: String, count: Int, continuation: CheckedContinuation<Void, Never>)] =
        []
    private var serving: Task<Void, Never>?

    static let adapter = "org.bluez.Adapter1"
    static let device = "org.bluez.Device1"
    static let service = "org.bluez.GattService1"
    static let characteristic = "org.bluez.GattCharacteristic1"
    static let hci0 = ObjectPath(trusted: "/org/bluez/hci0")

    private init(_ connection: Connection) {
        self.connection = connection
    }

    /// A bluetoothd with an agent manager and nothing else, which does not own its name yet.
    static func start(_ address: String, on loop: EventLoop) async throws -> ScriptedBluetoothd {
        let fake = ScriptedBluetoothd(try await Connection.open(address, on: loop))
        await fake.connection.exportObjectManager(at: .root)
        try await fake.add(ObjectPath(trusted: "/org/bluez"), ["org.bluez.AgentManager1": [:]])
        await fake.serve()
        return fake
    }

    private func serve() {
        serving = Task { [connection] in await connection.serve() }
    }

    /// As when bluetoothd crashes.
    func stop() async {
        await connection.close()
        serving?.cancel()
    }

    func takeName() async throws {
        try await connection.requestName("org.bluez")
    }

    // MARK: Objects

    func add(_ path: ObjectPath, _ interfaces: [String: [String: DBusValue]]) async throws(DBusError) {
        properties[path] = interfaces
        let exported = interfaces.keys.sorted().map { name in interface(name, at: path) }
        try await connection.export(ExportedObject(path, exported))
    }

    func remove(_ path: ObjectPath) async throws(DBusError) {
        properties[path] = nil
        try await connection.unexport(path)
    }

    func set(
        _ path: ObjectPath, _ interface: String, _ changed: [String: DBusValue], invalidated: [String] = []
    ) async throws(DBusError) {
        for (name, value) in changed { properties[path]?[interface]?[name] = value }
        for name in invalidated { properties[path]?[interface]?[name] = nil }
        try await connection.emitPropertiesChanged(path, interface, changed, invalidated: invalidated)
    }

    /// Changes a property and does not say so.
    func setSilently(_ path: ObjectPath, _ interface: String, _ name: String, _ value: DBusValue) {
        properties[path]?[interface]?[name] = value
    }

    private func value(_ path: ObjectPath, _ interface: String, _ name: String) -> DBusValue? {
        properties[path]?[interface]?[name]
    }

    private func interface(_ name: String, at path: ObjectPath) -> ExportedInterface {
        let values = (Self.properties[name] ?? [:]).map { property, type in
            ExportedProperty(property, type) { [weak self] in await self?.value(path, name, property) }
        }
        return ExportedInterface(
            name, methods: (Self.methods[name] ?? []).map { method($0.0, $0.1, $0.2) }, properties: values)
    }

    private static let options = DBusType.dictionary(key: .string, value: .variant)

    private static let methods: [String: [(String, [DBusType], [DBusType])]] = [
        adapter: [
            ("StartDiscovery", [], []), ("StopDiscovery", [], []), ("SetDiscoveryFilter", [options], []),
            ("RemoveDevice", [.objectPath], []),
        ],
        device: [("Connect", [], []), ("Disconnect", [], []), ("Pair", [], []), ("CancelPairing", [], [])],
        characteristic: [
            ("ReadValue", [options], [.array(.byte)]), ("WriteValue", [.array(.byte), options], []),
            ("StartNotify", [], []), ("StopNotify", [], []),
            ("AcquireNotify", [options], [.unixFD, .uint16]),
        ],
        "org.bluez.AgentManager1": [
            ("RegisterAgent", [.objectPath, .string], []), ("UnregisterAgent", [.objectPath], []),
            ("RequestDefaultAgent", [.objectPath], []),
        ],
    ]

    private static let properties: [String: [String: DBusType]] = [
        adapter: ["Address": .string, "Powered": .boolean, "Discovering": .boolean],
        device: [
            "Address": .string, "Adapter": .objectPath, "Connected": .boolean, "Paired": .boolean,
            "ServicesResolved": .boolean, "RSSI": .int16, "Name": .string,
        ],
        service: ["UUID": .string],
        characteristic: ["UUID": .string, "Service": .objectPath, "MTU": .uint16],
    ]

    // MARK: Calls

    /// What `member` does from now on; without this it succeeds and returns nothing.
    func on(_ member: String, _ handler: @escaping Handler) {
        handlers[member] = handler
    }

    func fail(_ member: String, _ name: String, _ text: String = "") {
        on(member) { _, _ throws(DBusError) in throw .remote("org.bluez.Error." + name, text) }
    }

    private func method(_ name: String, _ inputs: [DBusType], _ outputs: [DBusType]) -> ExportedMethod {
        ExportedMethod(
            name, in: inputs.map { ExportedArgument("in", $0) },
            out: outputs.map { ExportedArgument("out", $0) }
        ) { [weak self] call throws(DBusError) in
            guard let self else { return [] }
            return try await self.answer(call)
        }
    }

    private func answer(_ call: IncomingCall) async throws(DBusError) -> [DBusValue] {
        calls.append(call)
        for waiter in callWaiters where count(of: waiter.member) >= waiter.count {
            waiter.continuation.resume()
        }
        callWaiters.removeAll { count(of: $0.member) >= $0.count }
        return try await handlers[call.member]?(call, self) ?? []
    }

    func count(of member: String) -> Int {
        calls.count { $0.member == member }
    }

    /// Returns once `member` has been called `count` times.
    func waitForCall(_ member: String, count: Int = 1) async {
        guard self.count(of: member) < count else { return }
        await withCheckedContinuation { callWaiters.append((member, count, $0)) }
    }

    /// Calls the agent of whoever registered one last.
    func callAgent(_ member: String, _ arguments: [DBusValue] = []) async throws(DBusError) -> [DBusValue] {
        guard let registration = calls.last(where: { $0.member == "RegisterAgent" }),
            let path = registration.arguments.first?.asObjectPath
        else { throw DBusError(.noReply, "nobody has registered an agent") }
        return try await connection.call(
            MethodCall(registration.sender, path, "org.bluez.Agent1", member, arguments))
    }
}
