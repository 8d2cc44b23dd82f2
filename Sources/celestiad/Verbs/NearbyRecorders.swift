import Control
import DBus
import EventLoop
import Recorder

/// The recorders that bluetoothd knows of now, for completions: it may be asked by every user, and nothing is looked for.
enum NearbyRecorders {
    private static let patience = Duration.seconds(5)

    /// Their addresses; none where bluetoothd does not answer.
    static func addresses(_ busAddress: String) async -> [String] {
        guard let loop = try? EventLoop.start(name: "nearby"),
            let connection = try? await Connection.open(busAddress, on: loop, timeout: patience)
        else { return [] }
        let call = MethodCall("org.bluez", .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        let reply = try? await connection.call(call, timeout: patience)
        await connection.close()
        return addresses(in: reply?.first?.asDictionary ?? [:])
    }

    /// Of BlueZ's objects those that say they are recorders.
    static func addresses(in objects: [DBusValue: DBusValue]) -> [String] {
        objects.values.compactMap { interfaces in
            guard let device = interfaces.asProperties?["org.bluez.Device1"]?.asProperties,
                RecorderProfile.isOffered(by: device["UUIDs"]?.asStrings ?? [])
            else { return nil }
            return device["Address"]?.asString
        }
    }
}
