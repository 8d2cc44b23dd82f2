import DBus
import FakeBlueZ
import Glibc
import ObjectTransfer
import Recorder
import RecorderModel
import SimulatorControl
import Testing

@Suite(.timeLimit(.minutes(5))) struct LinkTests {
    @Test(arguments: BlueZVersion.allCases)
    func everyAttributeIsThereWhenServicesAreResolved(version: BlueZVersion) async throws {
        try await Hub.run(version: version) { hub in
            try await hub.discover()
            try await hub.connect()
            let objects = try await hub.objects()
            let services = objects.values.compactMap { $0["org.bluez.GattService1"]?["UUID"]?.asString }
            #expect(Set(services) == Set(AttributeTable.services.map(\.uuid.description)))
            let characteristics = objects.values.compactMap { $0["org.bluez.GattCharacteristic1"] }
            #expect(
                Set(characteristics.compactMap { $0["UUID"]?.asString })
                    == Set(
                        AttributeTable.services.flatMap(\.characteristics).map(
                            \.id.characteristic.description)))
            #expect(characteristics.allSatisfy { $0["MTU"] == .uint16(247) })
            #expect(characteristics.allSatisfy { ($0["Handle"] != nil) == (version == .debian13) })
            let point = try #require(
                objects[try await hub.path(of: Hub.actions)]?["org.bluez.GattCharacteristic1"])
            #expect(point["Flags"]?.asStrings == ["write", "indicate"])
            #expect((point["NotifyAcquired"] != nil) == (version == .debian13))
            let descriptors = objects.values.compactMap { $0["org.bluez.GattDescriptor1"]?["UUID"]?.asString }
            #expect(descriptors == Array(repeating: "00002902-0000-1000-8000-00805f9b34fb", count: 6))
            try await hub.wait(for: Hub.device, "Battery1", "Percentage", .byte(87))
            try await hub.blueZ.setBattery(12, of: "T-1")
            try await hub.wait(for: Hub.device, "Battery1", "Percentage", .byte(12))
        }
    }

    @Test func attributesOfAStrangerGoWithTheLink() async throws {
        try await Hub.run { hub in
            try await hub.discover()
            try await hub.connect()
            try await hub.wait(for: Hub.device, "Battery1", "Percentage", .byte(87))
            try await hub.call(Hub.device, "Device1", "Disconnect")
            try await hub.wait { objects in
                objects.count == 3 && objects[Hub.device]?["org.bluez.Battery1"] == nil
            }
            #expect(await hub.failure(Hub.device, "Device1", "Disconnect") == "NotConnected: Not Connected")
        }
    }

    @Test(arguments: [
        (BlueZVersion.debian12, "Failed: Operation already in progress"),
        (.debian13, "InProgress: In Progress"),
    ]) func aSecondConnectIsRefusedAndDisconnectEndsTheFirst(version: BlueZVersion, error: String)
        async throws
    {
        try await Hub.run(version: version) { configuration in
            configuration.timing.connectTimeout = .seconds(3600)
        } _: { hub in
            try await hub.discover()
            try await hub.blueZ.setInRange(false, "T-1")
            await withTaskGroup(of: String.self) { group in
                for _ in 1...2 { group.addTask { await hub.failure(Hub.device, "Device1", "Connect") } }
                #expect(await group.next() == error)
                #expect(await hub.failure(Hub.device, "Device1", "Disconnect") == "no error")
                #expect(await group.next() == "Failed: br-connection-canceled")
            }
        }
    }

    @Test func connectFailsAsBluetoothdDoes() async throws {
        try await Hub.run { hub in
            try await hub.discover()
            try await hub.blueZ.setInRange(false, "T-1")
            #expect(
                await hub.failure(Hub.device, "Device1", "Connect") == "Failed: le-connection-abort-by-local")
            await hub.blueZ.setBlocked("hci0", true)
            #expect(
                await hub.failure(Hub.device, "Device1", "Connect")
                    == "NotReady: br-connection-adapter-not-powered")
        }
    }

    @Test(arguments: [
        (BlueZVersion.debian12, "Failed: le-connection-abort-by-local"),
        (.debian13, "Failed: le-connection-key-missing"),
    ]) func aRecorderThatLostItsBondEndsEveryLink(version: BlueZVersion, error: String) async throws {
        try await Hub.run(version: version) { hub in
            try await hub.pairAndConnect()
            try await hub.blueZ.loseBonds(of: "T-1")
            #expect(await hub.failure(Hub.device, "Device1", "Connect") == error)
            // The hub still thinks that it is paired.
            #expect(try await hub.property(Hub.device, "Device1", "Paired") == .boolean(true))
            #expect(try await hub.property(Hub.device, "Device1", "Connected") == .boolean(false))
            try await hub.call(Hub.adapter, "Adapter1", "RemoveDevice", [.objectPath(Hub.device)])
            try await hub.discover()
            try await hub.call(Hub.device, "Device1", "Pair")
        }
    }

    @Test func attributeErrorsHaveTheTextsOfBluetoothd() async throws {
        try await Hub.run { hub in
            try await hub.discover()
            try await hub.connect()
            let options = [DBusValue.properties([:])]
            let lists = try await hub.path(of: Hub.lists)
            let data = try await hub.path(of: RecorderProfile.objectData)
            let serial = try await hub.path(of: RecorderProfile.serialNumber)
            let clock = try await hub.path(of: RecorderProfile.clock)
            let name = try await hub.path(of: ObjectTransferService.objectName)
            func fails(_ path: ObjectPath, _ member: String, _ arguments: [DBusValue] = []) async -> String {
                await hub.failure(path, "GattCharacteristic1", member, arguments)
            }
            let unpaired = "NotPermitted: Not paired"
            #expect(await fails(name, "ReadValue", options) == unpaired)
            #expect(await fails(clock, "WriteValue", [.bytes([1])] + options) == unpaired)
            #expect(await fails(lists, "StartNotify") == unpaired)
            #expect(await fails(data, "AcquireNotify", options) == unpaired)
            #expect(await fails(serial, "StartNotify") == "NotSupported: Operation is not supported")
            try await hub.registerAgent("DisplayYesNo") { _ in [] }
            try await hub.call(Hub.device, "Device1", "Pair")
            #expect(
                await fails(name, "ReadValue", options) == "Failed: Operation failed with ATT error: 0x81")
            #expect(
                await fails(lists, "WriteValue", [.bytes([1])] + options)
                    == "Failed: Operation failed with ATT error: 0xfd")
            #expect(
                await fails(clock, "WriteValue", [.bytes([1])] + options)
                    == "InvalidArguments: Invalid Length")
            #expect(await fails(clock, "ReadValue", options) == "NotPermitted: Read not permitted")
            #expect(
                await fails(name, "WriteValue", [.bytes([1])] + options)
                    == "NotPermitted: Write not permitted")
            #expect(
                await fails(serial, "ReadValue", [.properties(["offset": .uint16(99)])])
                    == "InvalidArguments: Invalid offset")
            #expect(await fails(lists, "StopNotify") == "Failed: No notify session started")
            #expect(
                await fails(lists, "AcquireNotify", options) == "NotSupported: Operation is not supported")
            try await hub.call(data, "GattCharacteristic1", "StartNotify")
            #expect(await fails(data, "AcquireNotify", options) == "InProgress: In Progress")
            try await hub.call(data, "GattCharacteristic1", "StopNotify")
            let reply = try await hub.call(data, "GattCharacteristic1", "AcquireNotify", options)
            #expect(reply.last == .uint16(247))
            #expect(await fails(data, "AcquireNotify", options) == "NotPermitted: Notify acquired")
            #expect(await fails(data, "StartNotify") == "NotPermitted: Notify acquired")
            await hub.blueZ.cutLink("T-1")
            #expect(await fails(serial, "ReadValue", options) == "Failed: Not connected")
            // Without a link StartNotify pretends to work.
            try await hub.call(data, "GattCharacteristic1", "StartNotify")
            #expect(await fails(data, "AcquireNotify", options) == "Failed: Not connected")
        }
    }
}
