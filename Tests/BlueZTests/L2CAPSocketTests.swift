import EventLoop
import Glibc
import Testing

@testable import BlueZ

@Suite(.timeLimit(.minutes(5))) struct L2CAPSocketTests {
    /// A channel over an ordinary stream socket, and its other end.
    private func pair(on loop: EventLoop) throws -> (L2CAPSocket, Int32) {
        var ends: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return (try L2CAPSocket(socket: OwnedFD(ends[0]), loop: loop), ends[1])
    }

    @Test func withoutBluetoothSocketsItIsUnsupported() async throws {
        guard !L2CAPSocket.isSupported else { return }
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let address = try #require(DeviceAddress("AA:BB:CC:DD:EE:FF"))
        let endpoint = L2CAPSocket.Endpoint(local: address, .public, remote: address, .random, psm: 0x25)
        let result = await code { () async throws(BlueZError) in
            _ = try await L2CAPSocket.connect(to: endpoint, timeout: .seconds(10), on: loop)
        }
        #expect(result == .unsupported)
    }

    @Test func bytesComeAndThenTheEnd() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let (channel, peer) = try pair(on: loop)
        #expect(await channel.hasUnreadBytes() == false)
        async let first = channel.read(upTo: 4, stall: .seconds(30))
        #expect(write(peer, [1, 2, 3, 4, 5, 6] as [UInt8], 6) == 6)
        #expect(try await first == [1, 2, 3, 4])
        #expect(await channel.hasUnreadBytes())
        #expect(try await channel.read(upTo: 4, stall: .seconds(30)) == [5, 6])
        Glibc.close(peer)
        #expect(try await channel.read(upTo: 4, stall: .seconds(30)) == [])
    }

    @Test func silenceClosingAndCancellingEndARead() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let (channel, peer) = try pair(on: loop)
        defer { Glibc.close(peer) }
        @Sendable func read(_ stall: Duration) async -> BlueZError.Code? {
            await code { () async throws(BlueZError) in _ = try await channel.read(upTo: 1, stall: stall) }
        }
        #expect(await read(.milliseconds(20)) == .stalled)
        let cancelled = Task { await read(.seconds(30)) }
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        let closed = Task { await read(.seconds(30)) }
        await channel.close()
        #expect(await closed.value == .closed)
        #expect(await read(.seconds(30)) == .closed)
    }

    @Test func writesGoInPartsAndWaitForRoomWhileReadsGoOn() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let (channel, peer) = try pair(on: loop)
        defer { Glibc.close(peer) }
        let sent = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        async let writing: Void = channel.write(sent, stall: .seconds(30))
        async let echo = channel.read(upTo: 2, stall: .seconds(30))
        var received: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while received.count < sent.count {
            let count = Glibc.read(peer, &chunk, chunk.count)
            if count > 0 { received += chunk[..<count] } else { await Task.yield() }
        }
        #expect(received == sent)
        #expect(Glibc.write(peer, [7, 8] as [UInt8], 2) == 2)
        try await writing
        #expect(try await echo == [7, 8])
    }

    @Test func aWriteEndsWhenNothingIsTakenOrThePeerGoes() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let (channel, peer) = try pair(on: loop)
        let bytes = [UInt8](repeating: 1, count: 4_000_000)
        @Sendable func write(_ stall: Duration) async -> BlueZError.Code? {
            await code { () async throws(BlueZError) in try await channel.write(bytes, stall: stall) }
        }
        #expect(await write(.milliseconds(20)) == .stalled)
        let cancelled = Task { await write(.seconds(30)) }
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        Glibc.close(peer)
        #expect(await write(.seconds(30)) == .linkLost)
        await channel.close()
        #expect(await write(.seconds(30)) == .closed)
    }

    /// A listener on an ordinary stream socket, and its address.
    private func listener(on loop: EventLoop) throws -> (L2CAPListener, sockaddr_un) {
        let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
        try #require(fd >= 0)
        // An abstract name of the kernel's choice.
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var length = socklen_t(MemoryLayout<sa_family_t>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                try #require(bind(fd, address, length) == 0 && listen(fd, 4) == 0)
                length = socklen_t(MemoryLayout<sockaddr_un>.size)
                try #require(getsockname(fd, address, &length) == 0)
            }
        }
        return (L2CAPListener(socket: OwnedFD(fd), loop: loop), address)
    }

    private func connect(to address: sockaddr_un) throws -> Int32 {
        let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = address
        // The family, a NUL and five digits (unix(7), autobind).
        let length = socklen_t(MemoryLayout<sa_family_t>.size + 6)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.connect(fd, $0, length) }
        }
        try #require(status == 0)
        return fd
    }

    @Test func aListenerRefusesWhoIsNotWelcomeAndTakesTheNext() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let (listener, address) = try listener(on: loop)
        let asked = Locked(0)
        let accepting = Task {
            try await listener.accept {
                asked.withLock {
                    $0 += 1
                    return $0
                } == 2
            }
        }
        let peers = [try connect(to: address), try connect(to: address)]
        defer { for peer in peers { Glibc.close(peer) } }
        let channel = try await accepting.value
        try await channel.write([1, 2, 3], stall: .seconds(30))
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(Glibc.read(peers[0], &bytes, 8) == 0)
        #expect(Glibc.read(peers[1], &bytes, 8) == 3)
    }

    @Test func closingAndCancellingEndAnAccept() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let (listener, _) = try listener(on: loop)
        @Sendable func accept() async -> BlueZError.Code? {
            await code { () async throws(BlueZError) in _ = try await listener.accept { true } }
        }
        let cancelled = Task { await accept() }
        cancelled.cancel()
        #expect(await cancelled.value == .cancelled)
        let closed = Task { await accept() }
        await listener.close()
        #expect(await closed.value == .closed)
        #expect(await accept() == .closed)
    }
}
