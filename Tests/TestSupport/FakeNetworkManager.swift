import DBus
import EventLoop

/// As much of org.freedesktop.NetworkManager as says whether the network is metered.
package final class FakeNetworkManager: Sendable {
    private static let name = "org.freedesktop.NetworkManager"
    private static let path = ObjectPath(trusted: "/org/freedesktop/NetworkManager")

    private let connection: Connection
    private let metered: Locked<UInt32>
    private let task: Task<Void, Never>

    package init(_ address: String, metered value: UInt32) async throws {
        connection = try await Connection.open(address, on: EventLoop.start(name: "network-manager"))
        metered = Locked(value)
        let (connection, metered) = (connection, metered)
        try await connection.export(
            ExportedObject(
                Self.path,
                [
                    ExportedInterface(
                        Self.name,
                        properties: [
                            ExportedProperty("Metered", .uint32) { .uint32(metered.withLock { $0 }) }
                        ])
                ]))
        task = Task { await connection.serve() }
        try await connection.requestName(Self.name)
    }

    /// As NetworkManager tells a change.
    package func change(to value: UInt32) async throws {
        metered.withLock { $0 = value }
        try await connection.emitPropertiesChanged(Self.path, Self.name, ["Metered": .uint32(value)])
    }

    package func changeSomethingElse() async throws {
        try await connection.emitPropertiesChanged(Self.path, Self.name, ["State": .uint32(70)])
    }

    /// It goes from the bus.
    package func stop() async {
        task.cancel()
        await connection.close()
    }
}
