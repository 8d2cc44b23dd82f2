import DBus
import Foundation
import TestSupport
import Testing

/// One transfer as the recorder saw it.
struct Sending: Sendable, Hashable {
    let object: String
    let offset: Int64
    let length: Int64
    let sent: Int64
}

extension [Sending] {
    /// Those of the file of this size, once its last byte was asked for.
    func of(size: Int) -> [Sending] {
        let ends = Dictionary(map { ($0.object, $0.offset + $0.length) }, uniquingKeysWith: Swift.max)
        return filter { ends[$0.object] == Int64(size) }
    }

    var bytes: Int64 { reduce(0) { $0 + $1.sent } }
}

// MARK: - The simulated recorders

extension Laboratory {
    @discardableResult
    func simulate(_ member: String, _ arguments: DBusValue...) async throws -> [DBusValue] {
        let name = "life.ccdw.CelestiaSim1"
        return try await connection.call(
            MethodCall(name, ObjectPath(trusted: "/sim"), name, member, arguments), timeout: .seconds(60))
    }

    func fault(_ fault: String, on number: Int = 1) async throws {
        try await simulate("SetFault", .string(Self.serial(number)), .string(fault))
    }

    /// Every transfer so far, listings and manifests included, in their order.
    func sendings(from number: Int = 1) async throws -> [Sending] {
        let reply = try await simulate("Transfers", .string(Self.serial(number)))
        return (reply.first?.asArray ?? []).compactMap { value -> Sending? in
            guard case .structure(let fields) = value, fields.count == 4,
                let object = fields[0].asString, let offset = fields[1].asInt64,
                let length = fields[2].asInt64, let sent = fields[3].asInt64
            else { return nil }
            return Sending(object: object, offset: offset, length: length, sent: sent)
        }
    }

    func deletedObjects(on number: Int = 1) async throws -> [String] {
        try await simulate("Deleted", .string(Self.serial(number))).first?.asStrings ?? []
    }
}

// MARK: - The simulated bluetoothd

extension Laboratory {
    /// The addresses of the devices that bluetoothd has a bond with.
    func bonds() async throws -> [String] {
        let reply = try await connection.call(
            MethodCall("org.bluez", .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"))
        return (reply.first?.asDictionary ?? [:]).values.compactMap { interfaces in
            let device = interfaces.asDictionary?[.string("org.bluez.Device1")]?.asProperties
            return device?["Paired"]?.asBool == true ? device?["Address"]?.asString : nil
        }
    }

    /// bluetoothd forgets the nth recorder; the recorder does not forget the hub.
    func forgetDevice(_ number: Int = 1) async throws {
        let device = Self.address(number).replacing(":", with: "_")
        _ = try await connection.call(
            MethodCall(
                "org.bluez", ObjectPath(trusted: "/org/bluez/hci0"), "org.bluez.Adapter1", "RemoveDevice",
                [.objectPath(ObjectPath(trusted: "/org/bluez/hci0/dev_\(device)"))]))
    }

    func isConnected(_ number: Int = 1) async throws -> Bool {
        let reply = try await connection.call(
            MethodCall("org.bluez", .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"))
        return (reply.first?.asDictionary ?? [:]).values.contains { interfaces in
            let device = interfaces.asDictionary?[.string("org.bluez.Device1")]?.asProperties
            return device?["Address"]?.asString == Self.address(number)
                && device?["Connected"]?.asBool == true
        }
    }

    func power(_ isOn: Bool, of adapter: String = "hci0") async throws {
        _ = try await connection.call(
            MethodCall(
                "org.bluez", ObjectPath(trusted: "/org/bluez/\(adapter)"), "org.freedesktop.DBus.Properties",
                "Set", [.string("org.bluez.Adapter1"), .string("Powered"), .variant(.boolean(isOn))]))
    }

    /// Counts what connects a device, Device1.Connect and Pair, from now on.
    func watchConnects() async throws -> ConnectCount {
        let file = folder.path + "/connects"
        let monitor = try Child(
            [
                "dbus-monitor", "--address", bus.address,
                "type='method_call',interface='org.bluez.Device1',member='Connect'",
                "type='method_call',interface='org.bluez.Device1',member='Pair'",
            ], output: file, errors: file, environment: [:])
        // It says that it lost its own name when it begins to monitor.
        try await waitUntil("dbus-monitor listens") {
            (try? String(contentsOfFile: file, encoding: .utf8))?.contains("NameLost") == true
        }
        return ConnectCount(monitor: monitor, file: file)
    }
}

/// The calls of Device1.Connect and Pair as the bus saw them.
struct ConnectCount: Sendable {
    fileprivate let monitor: Child
    fileprivate let file: String

    /// All of them, or those that went to one device.
    func count(of address: String? = nil) throws -> Int {
        let device = address.map { "dev_" + $0.replacing(":", with: "_") + ";" }
        return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").count { line in
            (line.contains("member=Connect") || line.contains("member=Pair"))
                && device.map { line.contains($0) } ?? true
        }
    }
}

// MARK: - The oracle

extension Laboratory {
    /// What must hold after everything: each captured file once in the cloud, byte for byte; no client id twice; no
    /// rule of the API broken.
    func verify(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let state = try await cloud.state()
        let assets = state.sessions.flatMap(\.assets)
        for file in setup.captures.flatMap(\.files) {
            let copies = assets.filter { $0.sha256.lowercased() == file.sha256 }
            #expect(copies.count == 1, "\(file.name)", sourceLocation: sourceLocation)
            guard copies.count == 1 else { continue }
            let bytes = try await cloud.get("assets/\(file.sha256)")
            #expect(bytes == file.bytes, "\(file.name)", sourceLocation: sourceLocation)
        }
        let files = setup.captures.reduce(0) { $0 + $1.files.count }
        #expect(assets.count == files, sourceLocation: sourceLocation)
        #expect(Set(assets.map(\.clientId)).count == assets.count, sourceLocation: sourceLocation)
        let sessions = state.sessions.compactMap(\.clientId)
        #expect(Set(sessions).count == state.sessions.count, sourceLocation: sourceLocation)
        #expect(try await cloud.violations() == [], sourceLocation: sourceLocation)
    }
}
