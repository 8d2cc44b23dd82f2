import EventLoop
import Foundation
import TestSupport
import Testing

@testable import HTTP

/// One limit for all requests that are paced.
@Suite(.serialized, .timeLimit(.minutes(5))) struct PacingTests {
    private func upload(_ server: MisbehavingServer, _ size: Int) throws -> HTTPRequest {
        var request = try server.request(.post, "/echo")
        request.body = .bytes([UInt8](repeating: 7, count: size), type: "application/octet-stream")
        request.deadlines.total = .seconds(300)
        request.isPaced = true
        return request
    }

    @Test func theLimitIsForAllTogether() async throws {
        let server = try MisbehavingServer()
        await server.client.limitSending(to: 512 << 10)
        let request = try upload(server, 512 << 10)
        let started = ContinuousClock.now
        async let first = server.echo(request).length
        async let second = server.echo(request).length
        #expect(try await [first, second] == [512 << 10, 512 << 10])
        let time = ContinuousClock.now - started
        // 1 MiB at 512 KiB/s, less what libcurl sends ahead at the start of each.
        #expect(time > .milliseconds(900))
    }

    @Test func aHigherLimitHoldsForWhatIsUnderWay() async throws {
        let server = try MisbehavingServer()
        await server.client.limitSending(to: 16 << 10)
        // At this rate it would take four minutes.
        var request = try upload(server, 4 << 20)
        let (started, begun) = AsyncStream.makeStream(of: Void.self)
        request.onProgress = { _ in begun.yield() }
        let sent = request
        async let length = server.echo(sent).length
        for await _ in started { break }
        await server.client.limitSending(to: nil)
        #expect(try await length == 4 << 20)
    }

    @Test func whatIsNotPacedIsNotLimited() async throws {
        let server = try MisbehavingServer()
        await server.client.limitSending(to: 16 << 10)
        var request = try upload(server, 8 << 20)
        request.isPaced = false
        #expect(try await server.echo(request).length == 8 << 20)
    }

    /// A fall from no limit is left to the next request: made up for, it would be a silence of minutes.
    @Test func aFallFromNoLimitDoesNotStrikeWhatIsUnderWay() async throws {
        let server = try MisbehavingServer()
        var request = try upload(server, 48 << 20)
        let (started, begun) = AsyncStream.makeStream(of: Void.self)
        request.onProgress = { _ in begun.yield() }
        let sent = request
        async let length = server.echo(sent).length
        for await _ in started { break }
        await server.client.limitSending(to: 16 << 10)
        #expect(try await length == 48 << 20)
    }
}
