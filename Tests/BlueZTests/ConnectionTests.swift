import DBus
import EventLoop
import TestSupport
import Testing

@testable import BlueZ

@Suite(.timeLimit(.minutes(2))) struct ConnectionTests {
    private let generous = BlueZFixture.generous

    // MARK: The life of bluetoothd

    @Test func aRestartFailsWhatIsUnderWayAndStartsAfresh() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            let values = try await bluez.subscribe(to: Recorder.control, on: link)
            await fixture.bluetoothd.on("ReadValue") { _, _ throws(DBusError) in
                try? await Task.sleep(for: .seconds(3600))
                return []
            }
            await fixture.bluetoothd.waitForCall("RegisterAgent")
            async let reading = code { () async throws(BlueZError) in
                _ = try await bluez.read(Recorder.control, on: link)
            }
            await fixture.bluetoothd.waitForCall("ReadValue")
            let generation = await bluez.busGeneration
            await fixture.bluetoothd.stop()
            #expect(await reading == .bluetoothdGone)
            for await _ in values {}
            #expect(
                await code { () async throws(BlueZError) in _ = try await bluez.connect(Recorder.path) }
                    == .bluetoothdGone)

            let next = try await ScriptedBluetoothd.start(fixture.bus.address, on: fixture.loop)
            try await next.add(
                ObjectPath(trusted: "/org/bluez/hci1"),
                [ScriptedBluetoothd.adapter: ["Address": .string("00:11:22:33:44:55")]])
            try await next.takeName()
            try await bluez.waitUntilReady(timeout: generous)
            await next.waitForCall("RegisterAgent")
            #expect(await bluez.busGeneration > generation)
            #expect(await bluez.devices.isEmpty)
            #expect(await bluez.adapter(address: "00:11:22:33:44:55")?.path.name == "hci1")
            await next.stop()
        }
    }

    @Test func theBusGoesAndEverythingEnds() async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let bluez = BlueZ(connection: try await Connection.open(bus.address, on: loop))
        async let running = code { () async throws(BlueZError) in try await bluez.run() }
        // Nobody owns org.bluez, and nobody is to be started.
        #expect(
            await code { () async throws(BlueZError) in _ = try await bluez.connect(Recorder.path) }
                == .bluetoothdGone)
        async let waiting = code { () async throws(BlueZError) in
            try await bluez.waitUntilReady(timeout: generous)
        }
        bus.stop()
        #expect(await running == .busGone)
        #expect(await waiting == .busGone)
    }

    @Test func theAgentTakesThePlaceOfAnEarlierOne() async throws {
        func refuseASecondAgent(_ bluetoothd: ScriptedBluetoothd) async {
            await bluetoothd.on("RegisterAgent") { _, bluetoothd throws(DBusError) in
                guard await bluetoothd.count(of: "UnregisterAgent") > 0 else {
                    throw .remote("org.bluez.Error.AlreadyExists", "Already Exists")
                }
                return []
            }
        }
        try await BlueZFixture.run(preparedBy: refuseASecondAgent) { fixture in
            await fixture.bluetoothd.waitForCall("RegisterAgent", count: 2)
            let calls = await fixture.bluetoothd.calls
            #expect(calls.map(\.member) == ["RegisterAgent", "UnregisterAgent", "RegisterAgent"])
            #expect(calls.first?.arguments.last == .string("KeyboardDisplay"))
            // The default agent is the desktop's.
            try await fixture.bluez.pair(Recorder.path) { _ in .reject }
            #expect(await fixture.bluetoothd.count(of: "RequestDefaultAgent") == 0)
        }
    }

    @Test func changesAreToldAndCoalesced() async throws {
        try await BlueZFixture.run { fixture in
            var changes = await fixture.bluez.changes().makeAsyncIterator()
            #expect(await changes.next() != nil)
            for rssi in -70..<(-60) { try await fixture.setDevice(["RSSI": .int16(Int16(rssi))]) }
            while await fixture.bluez.device(Recorder.path)?.rssi != -61 { _ = await changes.next() }
        }
    }

    // MARK: Connect

    @Test(arguments: [
        ("org.bluez.Error.Failed", "Operation already in progress"),
        ("org.bluez.Error.InProgress", "In Progress"),
    ])
    func aConnectUnderWayIsWaitedFor(name: String, text: String) async throws {
        try await BlueZFixture.run { fixture in
            await fixture.bluetoothd.on("Connect") { _, _ throws(DBusError) in throw .remote(name, text) }
            async let link = fixture.bluez.connect(Recorder.path)
            await fixture.bluetoothd.waitForCall("Connect")
            try await fixture.setDevice(["Connected": .boolean(true)])
            #expect(try await link.device == Recorder.path)
        }
    }

    @Test func aLinkThatBlueZDoesNotAnnounceIsSeenByItsServices() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.on("Connect") { _, _ throws(DBusError) in [] }
            async let link = bluez.connect(Recorder.path)
            await fixture.bluetoothd.waitForCall("Connect")
            try await fixture.setDevice(["ServicesResolved": .boolean(true)])
            #expect(try await link.device == Recorder.path)
            try await fixture.setDevice(["ServicesResolved": .boolean(false)])
            try await fixture.setDevice(["Connected": .boolean(false)])
            try await fixture.wait("the link's end") { $0.link(to: Recorder.path) == nil }
            // What was known of the services before says nothing about the next link.
            try await fixture.setDevice(["Connected": .boolean(false), "ServicesResolved": .boolean(true)])
            try await fixture.wait("the last change") {
                $0.device(Recorder.path)?.areServicesResolved == true
            }
            #expect(await bluez.link(to: Recorder.path) == nil)
        }
    }

    @Test func aLinkThatBlueZDoesNotAnnounceIsAskedFor() async throws {
        try await BlueZFixture.run(deadlines: [\.lateAnnouncement: .milliseconds(1)]) { fixture in
            await fixture.bluetoothd.on("Connect") { _, bluetoothd throws(DBusError) in
                await bluetoothd.setSilently(
                    Recorder.path, ScriptedBluetoothd.device, "Connected", .boolean(true))
                return []
            }
            let link = try await fixture.bluez.connect(Recorder.path)
            #expect(link.device == Recorder.path)
        }
    }

    @Test func aLinkThatEndsUnannouncedIsLostAtOnce() async throws {
        try await BlueZFixture.run(deadlines: [\.lateAnnouncement: .milliseconds(1)]) { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.on("Connect") { _, _ throws(DBusError) in [] }
            #expect(
                await code { () async throws(BlueZError) in _ = try await bluez.connect(Recorder.path) }
                    == .linkLost)
        }
    }

    @Test func aConnectThatNeverEndsIsGivenUp() async throws {
        try await BlueZFixture.run(deadlines: [\.connect: .milliseconds(100)]) { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.fail("Connect", "InProgress")
            #expect(
                await code { () async throws(BlueZError) in _ = try await bluez.connect(Recorder.path) }
                    == .timedOut)
            await fixture.bluetoothd.waitForCall("Disconnect")
        }
    }

    @Test(arguments: [true, false])
    func aLinkThatEndsAtOnceIsNotTakenForADeviceOutOfReach(isLate: Bool) async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.on("Connect") { _, bluetoothd throws(DBusError) in
                let isDown = ["Connected": DBusValue.boolean(false)]
                if isLate {
                    Task { try await bluetoothd.set(Recorder.path, ScriptedBluetoothd.device, isDown) }
                } else {
                    try await bluetoothd.set(Recorder.path, ScriptedBluetoothd.device, isDown)
                }
                throw .remote("org.bluez.Error.Failed", "le-connection-abort-by-local")
            }
            #expect(
                await code { () async throws(BlueZError) in _ = try await bluez.connect(Recorder.path) }
                    == .linkLost)
        }
    }

    @Test func connectFailuresAreTold() async throws {
        try await BlueZFixture.run(deadlines: [\.lateAnnouncement: .milliseconds(1)]) { fixture in
            let bluez = fixture.bluez
            func connect() async -> BlueZError.Code? {
                await code { () async throws(BlueZError) in _ = try await bluez.connect(Recorder.path) }
            }
            await fixture.bluetoothd.fail("Connect", "Failed", "le-connection-abort-by-local")
            #expect(await connect() == .connectFailed(.abortByLocal))
            await fixture.bluetoothd.on("Connect") { _, _ throws(DBusError) in
                throw .remote(DBusErrorName.unknownObject, "Method \"Connect\" doesn't exist")
            }
            #expect(await connect() == .deviceGone)
            try await fixture.bluetoothd.set(
                ScriptedBluetoothd.hci0, ScriptedBluetoothd.adapter, ["Powered": .boolean(false)])
            try await fixture.wait("power off") { $0.adapters.first?.isPowered == false }
            #expect(await connect() == .adapterOff)
            try await fixture.bluetoothd.remove(Recorder.path)
            try await fixture.wait("removal") { $0.devices.isEmpty }
            #expect(await connect() == .deviceGone)
        }
    }

    @Test func aDeviceThatGoesWhileItIsConnectedFailsAtOnce() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            await fixture.bluetoothd.on("Connect") { _, _ throws(DBusError) in
                try? await Task.sleep(for: .seconds(3600))
                return []
            }
            async let result = code { () async throws(BlueZError) in
                _ = try await bluez.connect(Recorder.path)
            }
            await fixture.bluetoothd.waitForCall("Connect")
            try await fixture.bluetoothd.remove(ScriptedBluetoothd.hci0)
            #expect(await result == .deviceGone)
        }
    }

    @Test func aConnectedDeviceIsAdopted() async throws {
        func connect(_ bluetoothd: ScriptedBluetoothd) async throws {
            try await bluetoothd.set(Recorder.path, ScriptedBluetoothd.device, ["Connected": .boolean(true)])
        }
        try await BlueZFixture.run(preparedBy: connect) { fixture in
            let link = try await fixture.bluez.connect(Recorder.path)
            #expect(await fixture.bluez.link(to: Recorder.path) == link)
            #expect(await fixture.bluetoothd.count(of: "Connect") == 0)
            try await fixture.bluez.disconnect(Recorder.path)
            #expect(await fixture.bluez.link(to: Recorder.path) == nil)
            let next = try await fixture.bluez.connect(Recorder.path)
            #expect(next.generation > link.generation)
        }
    }

    @Test func connectsOnOneAdapterComeOneAfterTheOther() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let other = ScriptedBluetoothd.hci0.appending("dev_00_00_00_00_00_01")
            try await fixture.bluetoothd.add(
                other, [ScriptedBluetoothd.device: ["Connected": .boolean(false)]])
            try await fixture.wait("the other device") { $0.device(other) != nil }
            await fixture.bluetoothd.on("Connect") { _, _ throws(DBusError) in [] }
            async let first = bluez.connect(Recorder.path)
            await fixture.bluetoothd.waitForCall("Connect")
            async let second = bluez.connect(other)
            // Something that bluetoothd would answer after the second Connect, had it been sent.
            _ = try? await bluez.setPowered(true, adapter: "00:11:22:33:44:55")
            #expect(await fixture.bluetoothd.count(of: "Connect") == 1)
            try await fixture.setDevice(["Connected": .boolean(true)])
            _ = try await first
            await fixture.bluetoothd.waitForCall("Connect", count: 2)
            try await fixture.bluetoothd.set(other, ScriptedBluetoothd.device, ["Connected": .boolean(true)])
            _ = try await second
        }
    }

    // MARK: Services

    @Test func servicesMayBeAnnouncedLate() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await bluez.connect(Recorder.path)
            try await fixture.setDevice(["ServicesResolved": .boolean(true)])
            async let resolved: Void = bluez.waitServicesResolved(on: link, requiring: [Recorder.dataUUID])
            try await fixture.wait("resolution") { $0.device(Recorder.path)?.areServicesResolved == true }
            try await fixture.addServices()
            try await resolved
            #expect(await bluez.offers(Recorder.data, on: link))
            #expect(
                await bluez.characteristics(of: Recorder.path).map(\.path) == [
                    Recorder.controlPath, Recorder.dataPath,
                ])
        }
    }

    @Test func servicesThatWereNeverAnnouncedAreAskedFor() async throws {
        try await BlueZFixture.run(deadlines: [\.lateAnnouncement: .milliseconds(1)]) { fixture in
            let bluez = fixture.bluez
            let link = try await bluez.connect(Recorder.path)
            try await fixture.addServices()
            try await fixture.wait("the services") { $0.characteristics(of: Recorder.path).count == 2 }
            // bluetoothd still has it, but the client does not know.
            try await fixture.bluetoothd.connection.emit(
                .root, "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved",
                [.objectPath(Recorder.dataPath), .strings([ScriptedBluetoothd.characteristic])])
            try await fixture.setDevice(["ServicesResolved": .boolean(true)])
            try await bluez.waitServicesResolved(on: link, requiring: [Recorder.dataUUID])
        }
    }

    @Test func servicesThatNeverComeAreMissed() async throws {
        try await BlueZFixture.run(deadlines: [
            \.lateAnnouncement: .milliseconds(1), \.resolveServices: .milliseconds(200),
        ]) { fixture in
            let bluez = fixture.bluez
            let link = try await bluez.connect(Recorder.path)
            func resolve() async -> BlueZError.Code? {
                await code { () async throws(BlueZError) in
                    try await bluez.waitServicesResolved(on: link, requiring: [Recorder.dataUUID])
                }
            }
            #expect(await resolve() == .timedOut)
            try await fixture.setDevice(["ServicesResolved": .boolean(true)])
            try await fixture.wait("resolution") { $0.device(Recorder.path)?.areServicesResolved == true }
            #expect(await resolve() == .characteristicMissing)
        }
    }

    @Test func aLinkThatGoesWhileServicesAreResolvedFailsAtOnce() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await bluez.connect(Recorder.path)
            async let result = code { () async throws(BlueZError) in
                try await bluez.waitServicesResolved(on: link)
            }
            try await fixture.setDevice(["Connected": .boolean(false)])
            #expect(await result == .linkLost)
        }
    }

    // MARK: Discovery

    @Test func discoveryIsSharedFilteredAndPausedForAConnect() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let bluetoothd = fixture.bluetoothd
            for (member, value) in [("StartDiscovery", true), ("StopDiscovery", false)] {
                await bluetoothd.on(member) { _, bluetoothd throws(DBusError) in
                    try await bluetoothd.set(
                        ScriptedBluetoothd.hci0, ScriptedBluetoothd.adapter, ["Discovering": .boolean(value)])
                    return []
                }
            }
            let scan = await bluez.discover()
            let supervision = await bluez.discover(on: "00:11:22:33:44:55")
            try await fixture.wait("discovery") { $0.adapters.first?.isDiscovering == true }
            let filter = await bluetoothd.calls.first { $0.member == "SetDiscoveryFilter" }
            #expect(
                filter?.arguments.first?.asProperties == [
                    "Transport": .string("le"), "UUIDs": .strings([Recorder.serviceUUID]),
                ])
            _ = try await bluez.connect(Recorder.path)
            await bluetoothd.waitForCall("StartDiscovery", count: 2)
            let order = await bluetoothd.calls.map(\.member).filter {
                ["StopDiscovery", "Connect"].contains($0)
            }
            #expect(order == ["StopDiscovery", "Connect"])
            scan.end()
            supervision.end()
            await bluetoothd.waitForCall("StopDiscovery", count: 2)
        }
    }
}
