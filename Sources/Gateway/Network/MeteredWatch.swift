package import DBus

/// What NetworkManager thinks of the price of the network (NM_METERED_*, its D-Bus property `Metered`).
package enum NetworkPrice: UInt32, Sendable, Equatable {
    case unknown, metered, unmetered, perhapsMetered, perhapsUnmetered

    /// A guess counts, as it does for NetworkManager's other clients: a phone's hotspot is only ever guessed.
    package var isMetered: Bool { self == .metered || self == .perhapsMetered }
}

/// Follows NetworkManager's opinion; `unknown` wherever there is no NetworkManager.
package struct MeteredWatch: Sendable {
    private static let service = "org.freedesktop.NetworkManager"
    private static let path = ObjectPath(trusted: "/org/freedesktop/NetworkManager")
    private static let properties = "org.freedesktop.DBus.Properties"

    let connection: Connection
    let tell: @Sendable (NetworkPrice) async -> Void

    /// `tell` is told at the start and of each change.
    package init(connection: Connection, tell: @escaping @Sendable (NetworkPrice) async -> Void) {
        self.connection = connection
        self.tell = tell
    }

    /// Until the task is cancelled or the connection closes. Throws when the bus does not let it listen.
    package func run() async throws(DBusError) {
        let events = try await connection.events(of: Self.service)
        var last: NetworkPrice?
        for await event in events {
            guard let price = await price(after: event), price != last else { continue }
            last = price
            await tell(price)
        }
    }

    /// nil: it says nothing of it.
    private func price(after event: NameEvent) async -> NetworkPrice? {
        switch event {
        case .owner(nil): return .unknown
        case .owner(let owner?): return await ask(owner)
        case .signal(let signal):
            guard signal.path == Self.path, signal.interface == Self.properties,
                signal.member == "PropertiesChanged", signal.arguments.first?.asString == Self.service,
                signal.arguments.count > 1
            else { return nil }
            return signal.arguments[1].asProperties?["Metered"].map(Self.price)
        }
    }

    private func ask(_ owner: String) async -> NetworkPrice {
        let call = MethodCall(
            owner, Self.path, Self.properties, "Get", [.string(Self.service), .string("Metered")])
        // One that does not answer has no opinion.
        guard let reply = try? await connection.call(call).first else { return .unknown }
        return Self.price(reply)
    }

    private static func price(_ value: DBusValue) -> NetworkPrice {
        value.unwrapped.asUInt32.flatMap(NetworkPrice.init) ?? .unknown
    }
}
