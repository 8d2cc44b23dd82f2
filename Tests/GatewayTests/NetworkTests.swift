import DBus
import EventLoop
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Gateway

/// What the kernel says, byte for byte as Linux 6.18 said it to iproute2's doings.
@Suite struct NetlinkMessagesTests {
    private static let address =
        "4c00000014000000f2880d6b2a2a0000021880000100000008000100c000020108000200c0000201070003006c6f0000"
        + "080008008000000014000600ffffffffffffffff2920270029202700"
    private static let tentative =
        "480000001400000000000000000000000a40c000010000001400010020010db8000000000000000000000001"
        + "14000600ffffffffffffffff8e2027008e20270008000800c0000000"
    private static let usable =
        "480000001400000000000000000000000a408000010000001400010020010db8000000000000000000000001"
        + "14000600ffffffffffffffff8e2027008e2027000800080080000000"
    private static let loopbackAddress =
        "4c000000140000000000000000000000020880fe01000000080001007f000001080002007f000001070003006c6f0000"
        + "080008008000000014000600ffffffffffffffffc41f2700c41f2700"
    private static let defaultRoute =
        "3400000018000006f9880d6b9c2a000002000000fe0300010000000008000f00fe00000008000500c0000202"
        + "0800040001000000"
    private static let localRoute =
        "3c00000018000006000000000000000002200000ff02fe020000000008000f00ff000000080001007f000001"
        + "080007007f0000010800040001000000"

    /// struct ifinfomsg without its attributes.
    private static func link(_ type: String, index: String, flags: String) -> String {
        "20000000" + type + "0000" + "0000000000000000" + "00000100" + index + flags + "00000000"
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).map { start in
            let from = hex.index(hex.startIndex, offsetBy: start)
            return UInt8(hex[from..<hex.index(from, offsetBy: 2)], radix: 16) ?? 0
        }
    }

    @Test(
        arguments: [
            (address, [.address]), (tentative, []), (usable, [.address]), (loopbackAddress, []),
            (defaultRoute, [.route]), (localRoute, []),
            (link("1000", index: "03000000", flags: "43100100"), [.link(index: 3, isRunning: true)]),
            (link("1000", index: "03000000", flags: "03100000"), [.link(index: 3, isRunning: false)]),
            (link("1100", index: "03000000", flags: "43100100"), [.link(index: 3, isRunning: false)]),
            (link("1000", index: "01000000", flags: "49000100"), []),
            // Several in one datagram, as a burst comes; with one that is not aligned in between.
            (tentative + address + defaultRoute, [.address, .route]),
            ("1100000002000000000000000000000000000000" + address, [.address]),
            ("10000000040000000000000000000000", [.overrun]),
        ] as [(String, [NetworkChange])])
    func whatItSaysIsUnderstood(_ hex: String, _ changes: [NetworkChange]) {
        #expect(NetlinkMessages.changes(in: Self.bytes(hex)) == changes)
    }

    /// Nothing is read beyond what came, whatever a length says.
    @Test func whatIsCutOrLiesEndsTheReading() {
        let whole = Self.bytes(Self.address)
        for count in 0..<whole.count {
            #expect(NetlinkMessages.changes(in: Array(whole.prefix(count))) == [])
        }
        for length: UInt8 in [0, 1, 15, 0x4d, 0xff] {
            #expect(NetlinkMessages.changes(in: [length] + whole.dropFirst()) == [])
        }
        // A header alone says nothing of a link, an address or a route.
        for type: UInt8 in [16, 17, 20, 24] {
            for body in 0..<8 {
                let message = [UInt8(16 + body), 0, 0, 0, type] + [UInt8](repeating: 0, count: 11 + body)
                #expect(NetlinkMessages.changes(in: message) == [])
            }
        }
        var random = SeededGenerator(seed: 3)
        for _ in 0..<2000 {
            _ = NetlinkMessages.changes(in: random.bytes(Int.random(in: 0...80, using: &random)))
        }
    }
}

@Suite struct NetworkReturnMachineTests {
    private static let start = ContinuousClock.now

    @Test func whatComesUpTogetherIsToldOnceAndNotTooOften() {
        var machine = NetworkReturnMachine()
        let due = Self.start + NetworkReturnMachine.settling
        #expect(machine.heard(.link(index: 2, isRunning: true), at: Self.start) == due)
        #expect(machine.heard(.address, at: Self.start + .milliseconds(10)) == nil)
        #expect(machine.heard(.route, at: Self.start + .milliseconds(20)) == nil)
        machine.told(at: due)
        #expect(machine.heard(.address, at: due + .seconds(1)) == due + NetworkReturnMachine.spacing)
        #expect(machine.heard(.overrun, at: due + .seconds(2)) == nil)
        machine.told(at: due + NetworkReturnMachine.spacing)
        let later = due + .seconds(60)
        #expect(machine.heard(.route, at: later) == later + NetworkReturnMachine.settling)
    }

    @Test func aLinkIsNewsWhenItComesUpAndWasNot() {
        var machine = NetworkReturnMachine()
        #expect(machine.heard(.link(index: 2, isRunning: false), at: Self.start) == nil)
        #expect(machine.heard(.link(index: 2, isRunning: true), at: Self.start) != nil)
        machine.told(at: Self.start)
        #expect(machine.heard(.link(index: 2, isRunning: true), at: Self.start + .seconds(60)) == nil)
        #expect(machine.heard(.link(index: 2, isRunning: false), at: Self.start + .seconds(61)) == nil)
        #expect(machine.heard(.link(index: 2, isRunning: true), at: Self.start + .seconds(62)) != nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct NetworkWatchTests {
    @Test func whatComesBySocketIsTold() async throws {
        var ends: [Int32] = [0, 0]
        try #require(
            socketpair(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        defer { close(ends[1]) }
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        let watch = NetworkWatch(loop: try EventLoop.start(name: "net"), socket: OwnedFD(ends[0])) {
            tell.yield()
        }
        try await watch.start()
        // Nonsense first: it is read and forgotten.
        for message in [
            [1, 2, 3], [255, 255, 255, 255, 20, 0], [16, 0, 0, 0, 4, 0] + [UInt8](repeating: 0, count: 10),
        ] {
            #expect(send(ends[1], message, message.count, 0) == message.count)
        }
        for await _ in told { break }
        await watch.stop()
    }

    /// The kernel itself, in a network namespace that only this test's thread is in.
    @Test(
        .enabled(if: geteuid() == 0, "making a network namespace takes root"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/ip"), "it takes iproute2"))
    func theKernelsWordIsHeard() async throws {
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        let loop = try EventLoop.start(name: "net")
        let go = DispatchSemaphore(value: 0)
        let descriptor = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            Thread.detachNewThread {
                do {
                    // Glibc's Swift module does not have it.
                    typealias Unshare = @convention(c) (Int32) -> Int32
                    let unshare = try #require(dlsym(nil, "unshare"))
                    let newNetwork: Int32 = 0x4000_0000
                    try #require(unsafeBitCast(unshare, to: Unshare.self)(newNetwork) == 0)
                    continuation.resume(returning: try NetworkWatch.open().release())
                } catch {
                    continuation.resume(throwing: error)
                    return
                }
                go.wait()
                for command in [
                    "link set lo up", "addr add 192.0.2.1/24 dev lo", "route add default via 192.0.2.2",
                ] {
                    // posix_spawn's child is where its parent's thread is.
                    let words = ["/usr/sbin/ip"] + command.split(separator: " ").map(String.init)
                    var arguments = words.map { strdup($0) } + [nil]
                    var child: pid_t = 0
                    guard posix_spawn(&child, words[0], nil, nil, &arguments, environ) == 0 else { continue }
                    waitpid(child, nil, 0)
                    for argument in arguments { free(argument) }
                }
            }
        }
        let watch = NetworkWatch(loop: loop, socket: OwnedFD(descriptor)) { tell.yield() }
        try await watch.start()
        go.signal()
        for await _ in told { break }
        await watch.stop()
    }
}

/// NetworkManager's opinion, from one of its name on a bus of the test's own.
@Suite(.timeLimit(.minutes(5))) struct MeteredWatchTests {
    @Test func theOpinionIsFollowed() async throws {
        let bus = try TestBus()
        let (told, tell) = AsyncStream.makeStream(of: NetworkPrice.self)
        let own = try await Connection.open(bus.address, on: EventLoop.start(name: "own"))
        let watch = Task {
            do throws(DBusError) {
                try await MeteredWatch(connection: own) { tell.yield($0) }.run()
            } catch {
                Issue.record(error)
            }
        }
        var prices = told.makeAsyncIterator()
        // Without NetworkManager there is no opinion.
        #expect(await prices.next() == .unknown)
        let manager = try await FakeNetworkManager(bus.address, metered: 3)
        #expect(await prices.next() == .perhapsMetered)
        try await manager.change(to: 2)
        #expect(await prices.next() == .unmetered)
        try await manager.change(to: 1)
        #expect(await prices.next() == .metered)
        // Another property, the same value again, and a number from a later version.
        try await manager.changeSomethingElse()
        try await manager.change(to: 1)
        try await manager.change(to: 77)
        #expect(await prices.next() == .unknown)
        try await manager.change(to: 4)
        #expect(await prices.next() == .perhapsUnmetered)
        await manager.stop()
        #expect(await prices.next() == .unknown)
        // It comes back with another opinion.
        let next = try await FakeNetworkManager(bus.address, metered: 1)
        #expect(await prices.next() == .metered)
        await next.stop()
        watch.cancel()
        await watch.value
        await own.close()
    }

    @Test func aGuessCounts() {
        let metered = (0...4).compactMap { NetworkPrice(rawValue: $0) }.filter(\.isMetered)
        #expect(metered == [.metered, .perhapsMetered])
    }
}
