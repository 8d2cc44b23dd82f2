import DBus
import EventLoop
import Glibc
import TestSupport
import Testing

@testable import BlueZ

@Suite(.timeLimit(.minutes(2))) struct GATTTests {
    private func notify(_ bytes: [UInt8], _ fixture: BlueZFixture) async throws {
        try await fixture.bluetoothd.set(
            Recorder.controlPath, ScriptedBluetoothd.characteristic, ["Value": .bytes(bytes)])
    }

    private static let hang: ScriptedBluetoothd.Handler = { _, _ throws(DBusError) in
        try? await Task.sleep(for: .seconds(3600))
        return []
    }

    // MARK: Values

    @Test func valuesAreReadAndWritten() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            await fixture.bluetoothd.on("ReadValue") { _, _ throws(DBusError) in [.bytes([1, 2, 3])] }
            #expect(try await bluez.read(Recorder.control, on: link) == [1, 2, 3])
            try await bluez.write([4, 5], to: Recorder.control, on: link)
            let written = await fixture.bluetoothd.calls.last
            #expect(written?.path == Recorder.controlPath)
            #expect(written?.arguments == [.bytes([4, 5]), .properties(["type": .string("request")])])
            #expect(await bluez.mtu(of: Recorder.control, on: link) == 23)
            try await fixture.bluetoothd.set(
                Recorder.controlPath, ScriptedBluetoothd.characteristic, ["MTU": .uint16(247)])
            try await fixture.wait("the MTU") { $0.mtu(of: Recorder.control, on: link) == 247 }
        }
    }

    @Test func refusalsAreTold() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            await fixture.bluetoothd.fail("WriteValue", "Failed", "Operation failed with ATT error: 0x80")
            func write(_ value: [UInt8], to characteristic: CharacteristicAddress = Recorder.control) async
                -> BlueZError.Code?
            {
                await code { () async throws(BlueZError) in
                    try await bluez.write(value, to: characteristic, on: link)
                }
            }
            #expect(await write([1]) == .attribute(ATTError(0x80)))
            #expect(await write(Array(repeating: 0, count: 513)) == .invalidArgument)
            let missing = CharacteristicAddress(service: Recorder.serviceUUID, characteristic: "nothing")
            #expect(await write([1], to: missing) == .characteristicMissing)
            await fixture.bluetoothd.on("ReadValue") { _, _ throws(DBusError) in
                [.bytes(Array(repeating: 0, count: 513))]
            }
            #expect(
                await code { () async throws(BlueZError) in
                    _ = try await bluez.read(Recorder.control, on: link)
                }
                    == .malformed)
        }
    }

    @Test(arguments: [
        ("Connected", BlueZError.Code.linkLost), ("ServicesResolved", .servicesChanged),
    ])
    func whatIsUnderWayFailsWithItsLink(property: String, expected: BlueZError.Code) async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            let values = try await bluez.subscribe(to: Recorder.control, on: link)
            await fixture.bluetoothd.on("ReadValue", Self.hang)
            async let reading = code { () async throws(BlueZError) in
                _ = try await bluez.read(Recorder.control, on: link)
            }
            await fixture.bluetoothd.waitForCall("ReadValue")
            try await fixture.setDevice([property: .boolean(false)])
            #expect(await reading == expected)
            for await _ in values {}
        }
    }

    @Test func anOldLinkIsOfNoUseOnANewOne() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let old = try await fixture.connected()
            try await bluez.disconnect(Recorder.path)
            let new = try await fixture.connected()
            #expect(old != new)
            #expect(
                await code { () async throws(BlueZError) in
                    _ = try await bluez.read(Recorder.control, on: old)
                }
                    == .linkLost)
        }
    }

    @Test func aCancelledReadEndsAtOnce() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            await fixture.bluetoothd.on("ReadValue", Self.hang)
            let reading = Task {
                await code { () async throws(BlueZError) in
                    _ = try await bluez.read(Recorder.control, on: link)
                }
            }
            await fixture.bluetoothd.waitForCall("ReadValue")
            reading.cancel()
            #expect(await reading.value == .cancelled)
        }
    }

    // MARK: Subscriptions

    @Test func notificationsComeInOrderFromTheFirst() async throws {
        try await BlueZFixture.run { fixture in
            let link = try await fixture.connected()
            await fixture.bluetoothd.on("StartNotify") { _, bluetoothd throws(DBusError) in
                // Before the answer.
                try await bluetoothd.set(
                    Recorder.controlPath, ScriptedBluetoothd.characteristic, ["Value": .bytes([0])])
                return []
            }
            let first = try await fixture.bluez.subscribe(to: Recorder.control, on: link)
            let second = try await fixture.bluez.subscribe(to: Recorder.control, on: link)
            #expect(await fixture.bluetoothd.count(of: "StartNotify") == 1)
            for byte in 1...3 { try await notify([UInt8(byte)], fixture) }
            var values = first.makeAsyncIterator()
            for byte in 0...3 { #expect(await values.next() == [UInt8(byte)]) }
            var others = second.makeAsyncIterator()
            for byte in 1...3 { #expect(await others.next() == [UInt8(byte)]) }
        }
    }

    @Test func theLastReaderEndsTheSubscription() async throws {
        try await BlueZFixture.run { fixture in
            let link = try await fixture.connected()
            let values = try await fixture.bluez.subscribe(to: Recorder.control, on: link)
            let reading = Task { for await _ in values {} }
            reading.cancel()
            await reading.value
            await fixture.bluetoothd.waitForCall("StopNotify")
        }
    }

    @Test func aRefusedSubscriptionLeavesNothingBehind() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            await fixture.bluetoothd.fail("StartNotify", "NotSupported")
            let refused = await code { () async throws(BlueZError) in
                _ = try await bluez.subscribe(to: Recorder.control, on: link)
            }
            #expect(refused == .unsupported)
            await fixture.bluetoothd.on("StartNotify") { _, _ throws(DBusError) in [] }
            _ = try await bluez.subscribe(to: Recorder.control, on: link)
        }
    }

    @Test func aSessionThatOutlivedItsLinkIsEndedFirst() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            let values = try await bluez.subscribe(to: Recorder.control, on: link)
            try await fixture.setDevice(["Connected": .boolean(false), "ServicesResolved": .boolean(false)])
            for await _ in values {}
            let next = try await fixture.connected()
            _ = try await bluez.subscribe(to: Recorder.control, on: next)
            let calls = await fixture.bluetoothd.calls.map(\.member).filter { $0.hasSuffix("Notify") }
            #expect(calls.prefix(3) == ["StartNotify", "StopNotify", "StartNotify"])
        }
    }

    // MARK: Notifications by descriptor

    /// The peer's end of the socket that bluetoothd's AcquireNotify hands out.
    private func socketPair(_ fixture: BlueZFixture) async throws -> SharedFD {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
        let ours = SharedFD(ends[1])
        await fixture.bluetoothd.on("AcquireNotify") { _, bluetoothd throws(DBusError) in
            // Given away once: bluetoothd keeps no copy of the reader's end.
            await bluetoothd.on("AcquireNotify", Self.hang)
            return [.unixFD(ours), .uint16(247)]
        }
        return SharedFD(ends[0])
    }

    private func send(_ bytes: [UInt8], to fd: SharedFD) {
        #expect(Glibc.send(fd.rawValue, bytes, bytes.count, 0) == bytes.count)
    }

    @Test func framesKeepTheirBoundsAndEmptyOnesAreNoEnd() async throws {
        try await BlueZFixture.run { fixture in
            let link = try await fixture.connected()
            let peer = try await socketPair(fixture)
            let channel = try await fixture.bluez.acquireNotify(Recorder.data, on: link)
            #expect(channel.mtu == 247)
            let sent: [[UInt8]] = [[1, 2, 3], [], [4], [], Array(repeating: 9, count: 512)]
            for frame in sent { send(frame, to: peer) }
            var received: [[UInt8]] = []
            while received.count < sent.count { received += try await channel.frames() }
            #expect(received == sent)
            // What was sent before the hang-up is not lost with it, empty or not.
            for frame in sent { send(frame, to: peer) }
            shutdown(peer.rawValue, Int32(SHUT_RDWR))
            received = []
            while received.count < sent.count { received += try await channel.frames() }
            #expect(received == sent)
            #expect(await code { () async throws(BlueZError) in _ = try await channel.frames() } == .linkLost)
        }
    }

    @Test func moreThanTheSocketHoldsIsTakenEagerly() async throws {
        try await BlueZFixture.run { fixture in
            let link = try await fixture.connected()
            let peer = try await socketPair(fixture)
            let channel = try await fixture.bluez.acquireNotify(Recorder.data, on: link)
            // Blocks for as long as nobody takes packets out: far more than the socket's own queue.
            let count = 1500
            let frame: [UInt8] = Array(repeating: 7, count: 244)
            for _ in 0..<count { send(frame, to: peer) }
            var received = 0
            while received < count { received += try await channel.frames().count }
            #expect(received == count)
        }
    }

    @Test func aFullBufferWaitsForItsReader() async throws {
        try await BlueZFixture.run { fixture in
            let link = try await fixture.connected()
            let peer = try await socketPair(fixture)
            let channel = try await fixture.bluez.acquireNotify(Recorder.data, on: link)
            let count = 10_000
            let sending = Task.detached {
                for index in 0..<count {
                    var number = UInt32(index)
                    _ = Glibc.send(peer.rawValue, &number, 4, 0)
                }
                shutdown(peer.rawValue, Int32(SHUT_RDWR))
            }
            var received: [[UInt8]] = []
            let ended = await code { () async throws(BlueZError) in
                while true { received += try await channel.frames() }
            }
            await sending.value
            #expect(ended == .linkLost)
            #expect(received.count == count)
            #expect(
                received.enumerated().allSatisfy { index, frame in
                    frame == withUnsafeBytes(of: UInt32(index)) { Array($0) }
                })
        }
    }

    @Test func theEndOfTheLinkEndsTheFrames() async throws {
        try await BlueZFixture.run { fixture in
            let link = try await fixture.connected()
            let peer = try await socketPair(fixture)
            let channel = try await fixture.bluez.acquireNotify(Recorder.data, on: link)
            send([1], to: peer)
            try await fixture.setDevice(["Connected": .boolean(false)])
            try await fixture.wait("the end of the link") { $0.link(to: Recorder.path) == nil }
            #expect(try await channel.frames() == [[1]])
            #expect(await code { () async throws(BlueZError) in _ = try await channel.frames() } == .linkLost)
        }
    }

    @Test func closingAndCancellingWakeTheReader() async throws {
        try await BlueZFixture.run { fixture in
            let link = try await fixture.connected()
            let peer = try await socketPair(fixture)
            let channel = try await fixture.bluez.acquireNotify(Recorder.data, on: link)
            let reading = Task {
                await code { () async throws(BlueZError) in _ = try await channel.frames() }
            }
            reading.cancel()
            #expect(await reading.value == .cancelled)
            send([1], to: peer)
            await channel.close()
            #expect(await code { () async throws(BlueZError) in _ = try await channel.frames() } == .closed)
            #expect(Glibc.send(peer.rawValue, [1], 1, Int32(MSG_NOSIGNAL)) == -1)
        }
    }

    @Test func anAcquireNotifyWithoutAnswerMakesTheLinkUnusable() async throws {
        try await BlueZFixture.run(deadlines: [\.acquireNotify: .milliseconds(50)]) { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            await fixture.bluetoothd.on("AcquireNotify", Self.hang)
            let failed = await code { () async throws(BlueZError) in
                _ = try await bluez.acquireNotify(Recorder.data, on: link)
            }
            #expect(failed == .linkUnusable)
            try await bluez.disconnect(Recorder.path)
            // StopNotify would crash bluetoothd.
            #expect(await fixture.bluetoothd.count(of: "StopNotify") == 0)
        }
    }

    @Test func anAcquireNotifyFailsWithItsLink() async throws {
        try await BlueZFixture.run { fixture in
            let bluez = fixture.bluez
            let link = try await fixture.connected()
            await fixture.bluetoothd.on("AcquireNotify", Self.hang)
            async let result = code { () async throws(BlueZError) in
                _ = try await bluez.acquireNotify(Recorder.data, on: link)
            }
            await fixture.bluetoothd.waitForCall("AcquireNotify")
            try await fixture.setDevice(["Connected": .boolean(false)])
            #expect(await result == .linkLost)
        }
    }
}
