import DBus
import EventLoop
import FakeBlueZ
import Foundation
import Glibc
import ObjectTransfer
import Recorder
import RecorderModel
import TestSupport
import Testing

/// A bus with a simulated bluetoothd and recorders, and a client that knows BlueZ's interfaces but not our code for
/// them.
final class Hub: Sendable {
    static let adapter = ObjectPath(trusted: "/org/bluez/hci0")
    static let device = ObjectPath(trusted: "/org/bluez/hci0/dev_C0_FF_EE_00_00_01")
    static let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 9) }
    static let actions = ObjectTransferService.actionControlPoint
    static let lists = ObjectTransferService.listControlPoint

    let bus: TestBus
    let loop: EventLoop
    let blueZ: FakeBlueZ
    let client: Connection
    let folder: TemporaryDirectory

    private init(
        _ bus: TestBus, _ loop: EventLoop, _ blueZ: FakeBlueZ, _ client: Connection,
        _ folder: TemporaryDirectory
    ) {
        (self.bus, self.loop, self.blueZ, self.client, self.folder) = (bus, loop, blueZ, client, folder)
    }

    /// Runs `body` with everything up, and takes it all down again.
    static func run(
        version: BlueZVersion = .debian12, adapters: Int = 1, recorders: Int = 1,
        configure: (inout FakeBlueZConfiguration) throws -> Void = { _ in },
        _ body: (Hub) async throws -> Void
    ) async throws {
        let folder = TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: folder.path + "/one", withIntermediateDirectories: true)
        try Data(content).write(to: URL(fileURLWithPath: folder.path + "/one/a.wav"))
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let peripherals = try (1...recorders).map { number in
            PeripheralConfiguration(
                recorder: RecorderConfiguration(
                    serial: "T-\(number)", folder: try CaptureFolder(path: folder.path)),
                address: "C0:FF:EE:00:00:0\(number)", name: "Celestia T-\(number)")
        }
        var configuration = FakeBlueZConfiguration(busAddress: bus.address, peripherals: peripherals)
        configuration.version = version
        configuration.adapters = (0..<adapters).map {
            .init(name: "hci\($0)", address: "00:00:00:00:00:0\($0)")
        }
        configuration.timing.connect = .milliseconds(5)
        configuration.timing.resolve = .milliseconds(5)
        configuration.timing.connectTimeout = .milliseconds(50)
        configuration.timing.pageTimeout = .milliseconds(5)
        configuration.timing.advertisement = .milliseconds(20)
        try configure(&configuration)
        let blueZ = FakeBlueZ(configuration, loop: loop)
        try await blueZ.start()
        let client = try await Connection.open(bus.address, on: loop)
        let serving = Task { await client.serve() }
        let hub = Hub(bus, loop, blueZ, client, folder)
        let result: Result<Void, any Error>
        do { result = .success(try await body(hub)) } catch { result = .failure(error) }
        await blueZ.stop()
        await client.close()
        serving.cancel()
        try result.get()
    }

    // MARK: Calls

    @discardableResult
    func call(
        _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [DBusValue] = []
    ) async throws -> [DBusValue] {
        try await client.call(
            MethodCall("org.bluez", path, "org.bluez.\(interface)", member, arguments), timeout: .seconds(20))
    }

    /// The error name without its prefix, and the text.
    func failure(
        _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [DBusValue] = []
    ) async -> String {
        do {
            try await call(path, interface, member, arguments)
            return "no error"
        } catch let error as DBusError {
            return "\(error.name.replacing("org.bluez.Error.", with: "")): \(error.message)"
        } catch {
            return "\(error)"
        }
    }

    /// Every object with its interfaces and their properties.
    func objects() async throws -> [ObjectPath: [String: [String: DBusValue]]] {
        let reply = try await client.call(
            MethodCall("org.bluez", .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"))
        var objects: [ObjectPath: [String: [String: DBusValue]]] = [:]
        for (path, interfaces) in reply.first?.asDictionary ?? [:] {
            guard let path = path.asObjectPath else { continue }
            objects[path] = [:]
            for (name, properties) in interfaces.asDictionary ?? [:] {
                objects[path]?[name.asString ?? ""] = properties.asProperties
            }
        }
        return objects
    }

    func property(_ path: ObjectPath, _ interface: String, _ name: String) async throws -> DBusValue? {
        try await objects()[path]?["org.bluez.\(interface)"]?[name]
    }

    /// Waits for signals until the objects are as `condition` wants them.
    func wait(
        until condition: ([ObjectPath: [String: [String: DBusValue]]]) -> Bool
    ) async throws {
        for await _ in try await client.events(of: "org.bluez") where condition((try? await objects()) ?? [:])
        {
            return
        }
    }

    func wait(for path: ObjectPath, _ interface: String, _ name: String, _ value: DBusValue?) async throws {
        try await wait { $0[path]?["org.bluez.\(interface)"]?[name] == value }
    }

    // MARK: Steps on the way to the data

    func discover(_ device: ObjectPath = Hub.device) async throws {
        try await call(Self.adapter, "Adapter1", "StartDiscovery")
        try await wait { $0[device] != nil }
        try await call(Self.adapter, "Adapter1", "StopDiscovery")
    }

    func connect(_ device: ObjectPath = Hub.device) async throws {
        try await call(device, "Device1", "Connect")
        try await wait(for: device, "Device1", "ServicesResolved", .boolean(true))
    }

    /// Exports an agent that answers every question with `answer`, and registers it.
    func registerAgent(
        _ capability: String, _ answer: @escaping @Sendable (IncomingCall) throws(DBusError) -> [DBusValue]
    ) async throws {
        let path = ObjectPath(trusted: "/agent")
        let device = ExportedArgument("device", .objectPath)
        let handler: ExportedMethod.Handler = { call throws(DBusError) in try answer(call) }
        let interface = ExportedInterface(
            "org.bluez.Agent1",
            methods: [
                ExportedMethod(
                    "RequestConfirmation", in: [device, ExportedArgument("passkey", .uint32)], handler),
                ExportedMethod(
                    "RequestPasskey", in: [device], out: [ExportedArgument("passkey", .uint32)], handler),
                ExportedMethod("Cancel", handler),
            ])
        try await client.export(ExportedObject(path, [interface]))
        try await call(
            ObjectPath(trusted: "/org/bluez"), "AgentManager1", "RegisterAgent",
            [.objectPath(path), .string(capability)])
    }

    func pairAndConnect() async throws {
        try await discover()
        try await registerAgent("KeyboardDisplay") { _ in [] }
        try await call(Self.device, "Device1", "Pair")
        try await wait(for: Self.device, "Device1", "ServicesResolved", .boolean(true))
    }

    // MARK: Attributes

    func path(of id: GATTCharacteristicID) async throws -> ObjectPath {
        let objects = try await objects()
        let found = objects.first { _, interfaces in
            interfaces["org.bluez.GattCharacteristic1"]?["UUID"]?.asString == id.characteristic.description
        }
        return try #require(found?.key)
    }

    func write(_ bytes: [UInt8], to path: ObjectPath) async throws {
        try await call(path, "GattCharacteristic1", "WriteValue", [.bytes(bytes), .properties([:])])
    }

    /// Writes to a control point whose notifications are on, and returns the next value that it indicates.
    func ask(_ path: ObjectPath, _ bytes: [UInt8]) async throws -> [UInt8] {
        let events = try await client.events(of: "org.bluez")
        try await write(bytes, to: path)
        for await case .signal(let signal) in events
        where signal.path == path && signal.member == "PropertiesChanged" {
            if let value = signal.arguments[1].asProperties?["Value"]?.asBytes { return value }
        }
        return []
    }

    /// Subscribes to the list control point and makes the object current.
    func select(_ id: UInt64) async throws {
        let lists = try await path(of: Self.lists)
        try await call(lists, "GattCharacteristic1", "StartNotify")
        let request = ObjectListRequest.goTo(try #require(ObjectID(id)))
        let answer = try await ask(lists, request.wire)
        #expect(answer == [0x70, 0x05, 0x01])
    }

    /// Reads the current object by the notification plane; ends early when the descriptor does.
    func pull(length: Int, window: UInt16 = 64) async throws -> [UInt8] {
        let control = try await path(of: RecorderProfile.objectDataControl)
        let reply = try await call(
            try await path(of: RecorderProfile.objectData), "GattCharacteristic1", "AcquireNotify",
            [.properties([:])])
        let fd = try #require(reply.first?.asFD)
        try await write(
            ObjectDataControl.start(offset: 0, length: UInt32(length), credits: window).wire, to: control)
        var bytes: [UInt8] = []
        var frames = 0
        while bytes.count < length, let frame = Self.receive(fd) {
            let frame = try ObjectDataFrame(wire: frame)
            #expect(Int(frame.offset) == bytes.count)
            bytes += frame.payload
            frames += 1
            if frames.isMultiple(of: Int(window) / 2) {
                try? await write(ObjectDataControl.credit(window / 2).wire, to: control)
            }
        }
        return bytes
    }

    /// The next packet; nil at the end.
    static func receive(_ fd: SharedFD) -> [UInt8]? {
        var ready = pollfd(fd: fd.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 20_000) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 600)
        let count = recv(fd.rawValue, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer[..<count]) : nil
    }
}
