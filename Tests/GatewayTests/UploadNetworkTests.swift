import CaptureQueue
import Cloud
import EventLoop
import Foundation
import HTTP
import TestSupport
import Testing

@testable import Gateway

/// A network that goes, comes back, or costs money.
@Suite(.serialized, .timeLimit(.minutes(2))) struct UploadNetworkTests {
    /// Whatever is put off is put off for good, unless something happens.
    private static var patient: UploadConfiguration {
        var configuration = UploadFixture.quick
        configuration.retry = RetryPolicy(base: .seconds(100_000), cap: .seconds(100_000))
        return configuration
    }

    /// The delay has full jitter: one that is nearly none would look like a kick.
    private struct Slowest: RandomNumberGenerator, Sendable {
        // With a size: ThreadSanitizer looks at the address of what is passed inout.
        let value: UInt64 = .max

        func next() -> UInt64 { value }
    }

    private func untilShut(_ fixture: UploadFixture, _ reason: HostGate.Reason) async throws {
        try await fixture.until(60, "\(reason)") { await fixture.supervisor.status().reason == reason }
    }

    @Test func theReturnOfTheNetworkIsActedUponAtOnce() async throws {
        let fixture = try await UploadFixture([], Self.patient, throughProxy: true, random: Slowest())
        let proxy = try #require(fixture.proxy)
        try await proxy.tell(#"{"mode":"refuse","dropAll":"rst"}"#)
        let id = try await fixture.capture(1, sizes: [2000])
        fixture.start()
        while await fixture.supervisor.status().reason == nil { await Task.yield() }
        #expect(await fixture.supervisor.status().reason == .unreachable)
        try await proxy.tell(#"{"mode":"pass"}"#)
        await fixture.supervisor.networkReturned()
        try await fixture.untilImported([id])
        try await fixture.stop()
        try await fixture.expectCloud(holds: [id], assets: 1)
    }

    /// A look that began while there was no network ends as if there were none: it is not the last for long.
    @Test func aProbeThatIsOnItsWayIsFollowedByAnother() async throws {
        let fixture = try await UploadFixture([], Self.patient, throughProxy: true, random: Slowest())
        let proxy = try #require(fixture.proxy)
        try await proxy.tell(#"{"mode":"refuse","dropAll":"rst"}"#)
        let id = try await fixture.capture(1, sizes: [2000])
        fixture.start()
        while await fixture.supervisor.status().reason == nil { await Task.yield() }
        // The probe hangs in a hole.
        try await proxy.tell(#"{"mode":"hole"}"#)
        let before = try await proxy.state().accepted
        await fixture.supervisor.networkReturned()
        while try await proxy.state().accepted == before { await Task.yield() }
        await fixture.supervisor.networkReturned()
        try await proxy.tell(#"{"mode":"pass","dropAll":"rst"}"#)
        try await fixture.untilImported([id])
        try await fixture.stop()
        try await fixture.expectCloud(holds: [id], assets: 1)
    }

    /// Has no connection for the first request of a session, and calls back before it says so.
    private struct Unconnected: CloudTransport {
        let client: HTTPClient
        let returned: Locked<(@Sendable () async -> Void)?>

        func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
            if request.url.description.hasSuffix("/sessions"), request.method == .post,
                let call = returned.withLock({ call in
                    defer { call = nil }
                    return call
                })
            {
                await call()
                throw HTTPError(.connect, "no connection")
            }
            return try await client.send(request)
        }

        func download(_ request: HTTPRequest, into sink: HTTPSink) async throws(HTTPError) -> HTTPResponse {
            try await client.download(request, into: sink)
        }
    }

    /// The failure of an upload is heard of when the network is back already.
    @Test func anUploadThatIsOnItsWayIsTriedAnewAtOnce() async throws {
        let returned = Locked<(@Sendable () async -> Void)?>(nil)
        let fixture = try await UploadFixture(
            [], Self.patient, transport: { Unconnected(client: $0, returned: returned) }, random: Slowest())
        let supervisor = fixture.supervisor
        returned.withLock { $0 = { await supervisor.networkReturned() } }
        let id = try await fixture.capture(1, sizes: [2000])
        fixture.start()
        try await fixture.untilImported([id])
        #expect(returned.withLock { $0 == nil })
        try await fixture.stop()
        try await fixture.expectCloud(holds: [id], assets: 1)
    }

    /// A session that broke off is tried again; one that the server put off stays put off.
    @Test func onlyWhatTheNetworkDidIsHurried() async throws {
        let fixture = try await UploadFixture([], Self.patient, random: Slowest())
        try await fixture.cloud.addFaults(
            #"[{"route":"upsertSession","action":"drop_before_commit","times":6,"always":true}]"#)
        let cut = try await fixture.capture(1, sizes: [1000])
        fixture.start()
        try await fixture.until(30, "the first failure") { try await fixture.state(cut) == .failedRetryable }
        try await fixture.cloud.clearFaults()
        try await fixture.cloud.addFaults(
            #"[{"route":"upsertSession","action":"status","status":503,"nth":1}]"#)
        let putOff = try await fixture.capture(2, sizes: [1000])
        try await fixture.until(30, "the second failure") {
            try await fixture.state(putOff) == .failedRetryable
        }
        await fixture.supervisor.networkReturned()
        try await fixture.untilImported([cut])
        #expect(try await fixture.state(putOff) == .failedRetryable)
        await fixture.supervisor.kick()
        try await fixture.untilImported([putOff])
        try await fixture.stop()
        try await fixture.expectCloud(holds: [cut, putOff], assets: 2)
    }

    /// A login that is wanted is nothing that a network brings.
    @Test(arguments: HostGate.Reason.allCases) func whatANetworkMayEnd(_ reason: HostGate.Reason) {
        #expect(reason.mayBeTheNetwork == (reason != .authRequired))
    }

    /// Nothing begins on a metered network, what is on its way stops after the chunk, and all of it is shown.
    @Test func aMeteredNetworkHoldsFiles() async throws {
        let fixture = try await UploadFixture(["--chunk-size", "1048576"], UploadFixture.quick)
        let host = fixture.api.base.description
        try await fixture.cloud.addFaults(
            #"[{"route":"uploadChunk","action":"delay_before","ms":50,"always":true}]"#)
        let large = try await fixture.capture(1, sizes: [(16 << 20) + 1])
        fixture.start()
        try await fixture.until(30, "the first chunk") {
            try await fixture.queue.session(large)?.summary.progress.uploadedBytes ?? 0 > 0
        }
        await fixture.supervisor.networkIsMetered(true)
        let small = try await fixture.capture(2, sizes: [1000])
        try await fixture.until(30, "the rest") { try await fixture.state(large) == .queuedOffline }
        let hold = try #require(try await fixture.queue.queueHolds(host: host).first)
        #expect(hold.reason == .metered)
        #expect(hold.detail?.contains("Metered=ignore") == true)
        #expect(try await fixture.state(small) == .queuedOffline)
        let chunks = try await fixture.cloud.state().requests["uploadChunk"]?.requests
        // A user's kick does not make it cheaper.
        await fixture.supervisor.kick()
        _ = await fixture.supervisor.answer()
        _ = await fixture.supervisor.answer()
        #expect(try await fixture.cloud.state().requests["uploadChunk"]?.requests == chunks)
        await fixture.supervisor.networkIsMetered(false)
        try await fixture.untilImported([large, small])
        #expect(try await fixture.queue.queueHolds(host: host) == [])
        #expect(try await fixture.cloud.state().requests["uploadChunk"]?.requests == 17)
        try await fixture.stop()
        try await fixture.expectCloud(holds: [large, small], assets: 2)
    }

    /// A hold of the last run does not outlive it where nobody says any more that the network is metered.
    @Test func aMeteredHoldIsFoundOutAnew() async throws {
        let fixture = try await UploadFixture()
        try await fixture.queue.holdQueue(.metered, host: fixture.api.base.description)
        let id = try await fixture.capture(1, sizes: [1000])
        fixture.start()
        try await fixture.untilImported([id])
        try await fixture.stop()
    }
}
