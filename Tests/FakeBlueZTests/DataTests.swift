import DBus
import FakeBlueZ
import Glibc
import ObjectTransfer
import Recorder
import RecorderModel
import SimulatorControl
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized) struct DataTests {
    @Test func aFileComesByteForByteThroughTheDescriptor() async throws {
        try await Hub.run { hub in
            try await hub.pairAndConnect()
            try await hub.select(0x100)
            #expect(try await hub.pull(length: Hub.content.count) == Hub.content)
            let actions = try await hub.path(of: Hub.actions)
            try await hub.call(actions, "GattCharacteristic1", "StartNotify")
            let request = ObjectActionRequest.calculateChecksum(offset: 0, length: UInt32(Hub.content.count))
            let answer = try ObjectActionResponse(wire: try await hub.ask(actions, request.wire))
            #expect(answer.checksum == CRC32.checksum(Hub.content))
            #expect(try await hub.blueZ.transfers(of: "T-1").map(\.sent) == [Int64(Hub.content.count)])
            #expect(await hub.blueZ.droppedNotifications == 0)
        }
    }

    @Test func aCutLinkEndsTheDescriptorAndTheRestComesLater() async throws {
        try await Hub.run { configuration in
            try configuration.peripherals[0].recorder.faults.apply("cut-after=100000")
        } _: { hub in
            try await hub.pairAndConnect()
            try await hub.select(0x100)
            let first = try await hub.pull(length: Hub.content.count)
            #expect(first == Array(Hub.content[..<100_000]))
            try await hub.wait(for: Hub.device, "Device1", "Connected", .boolean(false))
            try await hub.connect()
            try await hub.select(0x100)
            #expect(try await hub.pull(length: Hub.content.count) == Hub.content)
        }
    }

    @Test func framesThatNobodyReadsInTimeAreDropped() async throws {
        try await Hub.run { hub in
            try await hub.pairAndConnect()
            try await hub.select(0x100)
            let reply = try await hub.call(
                try await hub.path(of: RecorderProfile.objectData), "GattCharacteristic1", "AcquireNotify",
                [.properties([:])])
            let fd = try #require(reply.first?.asFD)
            let start = ObjectDataControl.start(offset: 0, length: 300_000, credits: 1000)
            try await hub.write(start.wire, to: try await hub.path(of: RecorderProfile.objectDataControl))
            let dropped = await hub.blueZ.droppedNotifications
            #expect(dropped > 0)
            var frames = 0
            var byte: UInt8 = 0
            while recv(fd.rawValue, &byte, 1, Int32(MSG_DONTWAIT)) >= 0 { frames += 1 }
            #expect(frames + dropped == 1000)
        }
    }

    @Test func closingTheDescriptorEndsTheSubscription() async throws {
        try await Hub.run { hub in
            try await hub.pairAndConnect()
            let data = try await hub.path(of: RecorderProfile.objectData)
            try await acquireAndClose(hub, data)
            try await hub.wait(for: data, "GattCharacteristic1", "NotifyAcquired", .boolean(false))
            try await acquireAndClose(hub, data)
        }
    }

    private func acquireAndClose(_ hub: Hub, _ data: ObjectPath) async throws {
        try await hub.call(data, "GattCharacteristic1", "AcquireNotify", [.properties([:])])
    }

    @Test func subscriptionsOfABondedDeviceOutliveTheLink() async throws {
        try await Hub.run { hub in
            try await hub.pairAndConnect()
            try await hub.select(0x100)
            await hub.blueZ.cutLink("T-1")
            try await hub.connect()
            let lists = try await hub.path(of: Hub.lists)
            #expect(try await hub.ask(lists, ObjectListRequest.first.wire) == [0x70, 0x01, 0x01])
        }
    }

    @Test func earlyIndicationsComeBeforeTheAnswerToTheWrite() async throws {
        try await Hub.run { configuration in
            try configuration.peripherals[0].recorder.faults.apply("indications=early")
        } _: { hub in
            try await hub.pairAndConnect()
            try await hub.select(0x100)
        }
    }
}
