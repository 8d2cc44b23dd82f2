import EventLoop
import Glibc
import Testing

@testable import BlueZ

@Suite(.timeLimit(.minutes(1))) struct L2CAPSocketTests {
    /// A channel over an ordinary stream socket, and its other end.
    private func pair(on loop: EventLoop) throws -> (L2CAPSocket, Int32) {
        var ends: [Int32] = [0, 0]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return (L2CAPSocket(socket: OwnedFD(ends[0]), loop: loop), ends[1])
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
}
