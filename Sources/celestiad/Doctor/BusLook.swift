import Control
import DBus

/// Asks the services of the message bus for the doctor; each call has its own deadline.
struct BusLook: Sendable {
    let connection: Connection

    private static let patience = Duration.seconds(5)
    private static let properties = "org.freedesktop.DBus.Properties"
    private static let systemd = "org.freedesktop.systemd1"
    private static let bluez = "org.bluez"

    private func ask(
        _ destination: String, _ path: ObjectPath, _ interface: String, _ member: String,
        _ arguments: [DBusValue] = []
    ) async throws(DBusError) -> [DBusValue] {
        try await connection.call(
            MethodCall(destination, path, interface, member, arguments), timeout: Self.patience)
    }

    // MARK: systemd

    /// What systemd says of a unit.
    func unit(_ name: String) async -> Look<UnitFacts> {
        do throws(DBusError) {
            guard try await connection.owner(of: Self.systemd) != nil else {
                return .blind("systemd is not on this bus")
            }
            let reply = try await ask(
                Self.systemd, ObjectPath(trusted: "/org/freedesktop/systemd1"), Self.systemd + ".Manager",
                "LoadUnit", [.string(name)])
            guard let path = reply.first?.asObjectPath else { return .blind("systemd named no unit") }
            var values: [String: DBusValue] = [:]
            for interface in ["Unit", "Service"] {
                let reply = try await ask(
                    Self.systemd, path, Self.properties, "GetAll", [.string("\(Self.systemd).\(interface)")])
                values.merge(reply.first?.asProperties ?? [:]) { $1 }
            }
            return .found(UnitFacts(values))
        } catch {
            return .blind("systemd does not answer: \(error.message)")
        }
    }

    /// The first of the services that keep a clock by the network that runs.
    func timeKeeper() async -> String? {
        for name in ["systemd-timesyncd", "chrony", "ntpsec", "ntp", "openntpd"] {
            if case .found(let unit) = await unit("\(name).service"), unit.active == "active" { return name }
        }
        return nil
    }

    // MARK: BlueZ

    /// bluetoothd and its adapters, without starting it.
    func bluetooth(version: String?) async -> Look<BlueZFacts> {
        var facts = BlueZFacts(version: version)
        do throws(DBusError) {
            guard try await connection.owner(of: Self.bluez) != nil else {
                facts.isRunning = false
                return .found(facts)
            }
            let reply = try await ask(
                Self.bluez, .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
            for (path, interfaces) in reply.first?.asDictionary ?? [:] {
                guard let path = path.asObjectPath,
                    let values = interfaces.asProperties?["org.bluez.Adapter1"]?.asProperties
                else { continue }
                facts.adapters.append(BlueZFacts.Adapter(path.name, values))
            }
            facts.adapters.sort { $0.name < $1.name }
        } catch {
            facts.refusal = error.message
        }
        return .found(facts)
    }
}

extension BlueZFacts.Adapter {
    init(_ name: String, _ values: [String: DBusValue]) {
        self.init(
            name: name, address: values["Address"]?.asString ?? "00:00:00:00:00:00",
            isPowered: values["Powered"]?.asBool ?? false, powerState: values["PowerState"]?.asString,
            roles: values["Roles"]?.asStrings)
    }
}

extension UnitFacts {
    /// From the properties of org.freedesktop.systemd1.Unit and .Service.
    init(_ values: [String: DBusValue]) {
        func text(_ name: String) -> String { values[name]?.asString ?? "" }
        // (source, destination, whether it may be missing, flags)
        let shown = ["BindPaths", "BindReadOnlyPaths"].flatMap { values[$0]?.asArray ?? [] }
        self.init(
            load: text("LoadState"), active: text("ActiveState"), sub: text("SubState"),
            result: text("Result"),
            file: text("UnitFileState"), restarts: Int(values["NRestarts"]?.asInt64 ?? 0),
            needsReload: values["NeedDaemonReload"]?.asBool ?? false,
            dropIns: values["DropInPaths"]?.asStrings ?? [], restart: text("Restart"),
            exitStatus: Int(values["ExecMainStatus"]?.asInt64 ?? 0),
            protectHome: text("ProtectHome"),
            hidesTemporary: values["PrivateTmp"]?.asBool ?? false,
            shown: shown.compactMap { entry in
                guard case .structure(let fields) = entry.unwrapped, fields.count > 1 else { return nil }
                return fields[1].asString
            },
            conditionsMet: values["ConditionResult"]?.asBool ?? true)
    }
}
