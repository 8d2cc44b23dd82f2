package import DBus

/// What the BlueZ client is told by its owner.
package struct BlueZConfiguration: Sendable {
    /// How long each operation may take. The defaults are longer than BlueZ's own limits.
    package struct Deadlines: Sendable {
        package var connect = Duration.seconds(60)
        package var resolveServices = Duration.seconds(30)
        /// How long BlueZ may take to announce what it has said to be there (a link after Connect, characteristics after
        /// ServicesResolved) before it is asked.
        package var lateAnnouncement = Duration.seconds(1)
        package var disconnect = Duration.seconds(10)
        package var pair = Duration.seconds(60)
        /// How long to wait before the one repetition of a Pair that was cancelled right after connecting.
        package var pairAgain = Duration.milliseconds(750)
        /// An attribute operation; BlueZ gives up after 30 s.
        package var attribute = Duration.seconds(35)
        package var acquireNotify = Duration.seconds(10)
        package var startDiscovery = Duration.seconds(15)
        package var stopDiscovery = Duration.seconds(5)
        /// Everything else.
        package var other = Duration.seconds(25)

        package init() {}
    }

    /// Discovery reports devices that advertise one of these services (36-character UUIDs); empty: all LE devices.
    /// The only services that a paired device may use on us, too.
    package var services: Set<String>
    package var deadlines = Deadlines()
    /// Where our agent is on the bus.
    package var agentPath = ObjectPath(trusted: "/life/ccdw/celestia/agent")

    package init(services: Set<String> = []) {
        self.services = Set(services.map { $0.lowercased() })
    }
}
