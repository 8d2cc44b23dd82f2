import DBus
import EventLoop
import TestSupport

@testable import BlueZ

/// A recorder on hci0, with one service of three characteristics.
enum Recorder {
    static let path = ScriptedBluetoothd.hci0.appending("dev_AA_BB_CC_DD_EE_FF")
    static let serviceUUID = "00001825-0000-1000-8000-00805f9b34fb"
    static let controlUUID = "00002ac5-0000-1000-8000-00805f9b34fb"
    static let dataUUID = "ce1e57a0-0004-4c41-8b1d-5e0f6d2a9b37"
    static let service = path.appending("service0010")
    static let controlPath = service.appending("char0011")
    static let dataPath = service.appending("char0014")
    static let control = CharacteristicAddress(service: serviceUUID, characteristic: controlUUID)
    static let data = CharacteristicAddress(service: serviceUUID, characteristic: dataUUID)
}

/// What a test has to do with: a private bus with a scripted bluetoothd, and the client under test.
struct BlueZFixture {
    let bluez: BlueZ
    let bluetoothd: ScriptedBluetoothd
    let bus: TestBus
    let loop: EventLoop

    /// A deadline that only a broken program reaches.
    static let generous = Duration.seconds(30)

    typealias Deadline = WritableKeyPath<BlueZConfiguration.Deadlines, Duration>

    /// Runs `body` with a client that has seen a powered adapter hci0 and the recorder, disconnected.
    static func run(
        deadlines: [Deadline: Duration] = [:],
        preparedBy prepare: (ScriptedBluetoothd) async throws -> Void = { _ in },
        _ body: (BlueZFixture) async throws -> Void
    ) async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let bluetoothd = try await ScriptedBluetoothd.start(bus.address, on: loop)
        try await addHardware(to: bluetoothd)
        try await prepare(bluetoothd)
        try await bluetoothd.takeName()
        var configuration = BlueZConfiguration(services: [Recorder.serviceUUID])
        for (deadline, value) in deadlines { configuration.deadlines[keyPath: deadline] = value }
        let connection = try await Connection.open(bus.address, on: loop)
        let bluez = BlueZ(connection: connection, configuration: configuration)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try? await bluez.run() }
            try await bluez.waitUntilReady(timeout: generous)
            try await body(BlueZFixture(bluez: bluez, bluetoothd: bluetoothd, bus: bus, loop: loop))
            await connection.close()
            await bluetoothd.stop()
            group.cancelAll()
        }
    }

    static func addHardware(to bluetoothd: ScriptedBluetoothd) async throws {
        try await bluetoothd.add(
            ScriptedBluetoothd.hci0,
            [
                ScriptedBluetoothd.adapter: [
                    "Address": .string("00:11:22:33:44:55"), "Powered": .boolean(true),
                ]
            ])
        try await bluetoothd.add(
            Recorder.path,
            [
                ScriptedBluetoothd.device: [
                    "Address": .string("AA:BB:CC:DD:EE:FF"), "Connected": .boolean(false),
                    "Paired": .boolean(false), "ServicesResolved": .boolean(false),
                    "Adapter": .objectPath(ScriptedBluetoothd.hci0),
                ]
            ])
        await bluetoothd.on("Connect") { _, bluetoothd throws(DBusError) in
            try await bluetoothd.set(
                Recorder.path, ScriptedBluetoothd.device, ["Connected": .boolean(true)])
            return []
        }
        await bluetoothd.on("Disconnect") { _, bluetoothd throws(DBusError) in
            try await bluetoothd.set(
                Recorder.path, ScriptedBluetoothd.device,
                ["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
            return []
        }
        await bluetoothd.on("Pair") { _, bluetoothd throws(DBusError) in
            try await bluetoothd.set(Recorder.path, ScriptedBluetoothd.device, ["Paired": .boolean(true)])
            return []
        }
    }

    func setDevice(_ changed: [String: DBusValue]) async throws {
        try await bluetoothd.set(Recorder.path, ScriptedBluetoothd.device, changed)
    }

    func addServices() async throws {
        try await bluetoothd.add(
            Recorder.service, [ScriptedBluetoothd.service: ["UUID": .string(Recorder.serviceUUID)]])
        for (path, uuid) in [
            (Recorder.controlPath, Recorder.controlUUID), (Recorder.dataPath, Recorder.dataUUID),
        ] {
            try await bluetoothd.add(
                path,
                [
                    ScriptedBluetoothd.characteristic: [
                        "UUID": .string(uuid.uppercased()), "Service": .objectPath(Recorder.service),
                    ]
                ])
        }
    }

    /// Connects the recorder, with its services resolved.
    func connected() async throws -> Link {
        let link = try await bluez.connect(Recorder.path)
        try await addServices()
        try await setDevice(["ServicesResolved": .boolean(true)])
        try await bluez.waitServicesResolved(
            on: link, requiring: [Recorder.serviceUUID, Recorder.controlUUID, Recorder.dataUUID])
        return link
    }

    func wait(_ what: String, until isMet: @escaping @Sendable (isolated BlueZ) -> Bool) async throws {
        try await bluez.wait(until: isMet, what: what, timeout: Self.generous)
    }
}

/// The code of the error that `body` throws; nil when it throws none.
func code(_ body: () async throws(BlueZError) -> Void) async -> BlueZError.Code? {
    do throws(BlueZError) {
        try await body()
        return nil
    } catch {
        return error.code
    }
}
