import DBus
import FakeBlueZ
import RecorderModel
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct DiscoveryTests {
    @Test func discoveryFindsRecordersForAsLongAsItsCallerWants() async throws {
        try await Hub.run(recorders: 2) { hub in
            #expect(try await hub.objects().keys.sorted().map(\.text) == ["/org/bluez", "/org/bluez/hci0"])
            try await hub.discover()
            let device = try #require(try await hub.objects()[Hub.device]?["org.bluez.Device1"])
            #expect(device["Name"] == .string("Celestia T-1"))
            #expect(device["Address"] == .string("C0:FF:EE:00:00:01"))
            #expect(device["Paired"] == .boolean(false))
            #expect(device["UUIDs"]?.asStrings == ["00001825-0000-1000-8000-00805f9b34fb"])
            // Discovery is over, and with it the signal strength.
            #expect(device["RSSI"] == nil)
            #expect(try await hub.property(Hub.adapter, "Adapter1", "Discovering") == .boolean(false))
        }
    }

    @Test func discoveryErrorsAreThoseOfBluetoothd() async throws {
        try await Hub.run { hub in
            let adapter = Hub.adapter
            #expect(
                await hub.failure(adapter, "Adapter1", "StopDiscovery") == "Failed: No discovery started")
            try await hub.call(adapter, "Adapter1", "StartDiscovery")
            #expect(await hub.failure(adapter, "Adapter1", "StartDiscovery") == "InProgress: In Progress")
            let invalid = "InvalidArguments: Invalid arguments in method call"
            let filters: [[String: DBusValue]] = [
                ["Nonsense": .string("")], ["UUIDs": .string("1825")], ["Transport": .string("wire")],
                ["RSSI": .int16(-80), "Pathloss": .uint16(3)], ["UUIDs": .strings(["no uuid"])],
            ]
            for filter in filters {
                #expect(
                    await hub.failure(adapter, "Adapter1", "SetDiscoveryFilter", [.properties(filter)])
                        == invalid)
            }
            #expect(
                await hub.failure(adapter, "Adapter1", "RemoveDevice", [.objectPath(.root)])
                    == "DoesNotExist: Does Not Exist")
            try await setPowered(hub, false)
            #expect(
                await hub.failure(adapter, "Adapter1", "StartDiscovery") == "NotReady: Resource Not Ready")
            #expect(try await hub.property(adapter, "Adapter1", "Discovering") == .boolean(false))
            await hub.blueZ.setBlocked("hci0", true)
            await #expect { try await setPowered(hub, true) } throws: {
                ($0 as? DBusError)?.name == "org.bluez.Error.Blocked"
            }
        }
    }

    private func setPowered(_ hub: Hub, _ isOn: Bool) async throws {
        _ = try await hub.client.call(
            MethodCall(
                "org.bluez", Hub.adapter, "org.freedesktop.DBus.Properties", "Set",
                [.string("org.bluez.Adapter1"), .string("Powered"), .variant(.boolean(isOn))]))
    }

    @Test func filtersOfAllClientsAreMerged() async throws {
        try await Hub.run { hub in
            let other = try await Connection.open(hub.bus.address, on: hub.loop)
            try await hub.call(
                Hub.adapter, "Adapter1", "SetDiscoveryFilter",
                [.properties(["UUIDs": .strings(["180d"]), "Transport": .string("le")])])
            try await hub.call(Hub.adapter, "Adapter1", "StartDiscovery")
            // Somebody else's filter lets the recorder through.
            for (member, arguments) in [
                ("SetDiscoveryFilter", [DBusValue.properties(["UUIDs": .strings(["1825"])])]),
                ("StartDiscovery", []),
            ] {
                _ = try await other.call(
                    MethodCall("org.bluez", Hub.adapter, "org.bluez.Adapter1", member, arguments))
            }
            try await hub.wait { $0[Hub.device] != nil }
            // A session ends with its client; ours goes on.
            await other.close()
            try await hub.call(Hub.adapter, "Adapter1", "StopDiscovery")
            try await hub.wait(for: Hub.adapter, "Adapter1", "Discovering", .boolean(false))
        }
    }

    @Test func aDeviceThatNobodyUsedIsForgotten() async throws {
        try await Hub.run { configuration in
            configuration.timing.temporary = .milliseconds(30)
        } _: { hub in
            try await hub.discover()
            try await hub.wait { $0[Hub.device] == nil }
            #expect(
                await hub.failure(Hub.device, "Device1", "Connect").hasPrefix(
                    "org.freedesktop.DBus.Error.UnknownObject"))
        }
    }

    @Test func anAdapterComesBackUnderAnotherName() async throws {
        try await Hub.run { hub in
            try await hub.pairAndConnect()
            await hub.blueZ.removeAdapter("hci0")
            #expect(try await hub.objects().keys.map(\.text) == ["/org/bluez"])
            await hub.blueZ.addAdapter(.init(name: "hci10", address: "00:00:00:00:00:00"))
            let device = ObjectPath(trusted: "/org/bluez/hci10/dev_C0_FF_EE_00_00_01")
            #expect(try await hub.property(device, "Device1", "Paired") == .boolean(true))
            try await hub.connect(device)
        }
    }

    @Test func aRestartedBluetoothdKeepsBondsAndNothingElse() async throws {
        try await Hub.run { hub in
            try await hub.pairAndConnect()
            var events = try await hub.client.events(of: "org.bluez").makeAsyncIterator()
            await hub.blueZ.stop()
            await #expect(throws: DBusError.self) { try await hub.objects() }
            try await hub.blueZ.start()
            var owners: [Bool] = []
            while owners.suffix(2) != [false, true], let event = await events.next() {
                if case .owner(let owner) = event { owners.append(owner != nil) }
            }
            #expect(owners == [true, false, true])
            #expect(
                try await hub.objects().keys.sorted() == [
                    ObjectPath(trusted: "/org/bluez"), Hub.adapter, Hub.device,
                ])
            #expect(try await hub.property(Hub.device, "Device1", "Paired") == .boolean(true))
            #expect(try await hub.property(Hub.device, "Device1", "Connected") == .boolean(false))
            #expect(
                await hub.failure(
                    ObjectPath(trusted: "/org/bluez"), "AgentManager1", "UnregisterAgent",
                    [.objectPath(ObjectPath(trusted: "/agent"))]) == "DoesNotExist: Does Not Exist")
            try await hub.connect()
        }
    }

    @Test func severalAdaptersHearSeveralRecorders() async throws {
        try await Hub.run(adapters: 2, recorders: 2) { hub in
            for number in 0...1 {
                let adapter = ObjectPath(trusted: "/org/bluez/hci\(number)")
                try await hub.call(adapter, "Adapter1", "StartDiscovery")
            }
            try await hub.wait { objects in
                objects.values.filter { $0["org.bluez.Device1"] != nil }.count == 4
            }
            let second = ObjectPath(trusted: "/org/bluez/hci1/dev_C0_FF_EE_00_00_02")
            try await hub.connect(Hub.device)
            try await hub.connect(second)
            // A recorder that has a link does not advertise, so nobody else reaches it.
            let other = ObjectPath(trusted: "/org/bluez/hci1/dev_C0_FF_EE_00_00_01")
            #expect(
                await hub.failure(other, "Device1", "Connect") == "Failed: le-connection-abort-by-local")
        }
    }
}
