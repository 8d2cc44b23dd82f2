import CaptureQueue
import Cloud
import Dates
import Foundation
import HTTP
import TestSupport
import Testing

@testable import Gateway

/// Answers that a real server, gateway or network can give, each with its right next step.
@Suite(.serialized) struct UploadFaultTests {
    /// C-21, C-65, C-56, C-61, C-5, C-3: the upload goes on and ends well.
    @Test(arguments: [
        #"[{"route":"uploadChunk","action":"expire_upload","nth":2}]"#,
        #"[{"route":"completeChunkedUpload","action":"expire_upload"}]"#,
        #"[{"route":"initializeChunkedUpload","action":"chunk_size","bytes":3000000}]"#,
        #"[{"route":"uploadChunk","action":"short_count","always":true}]"#,
        #"[{"route":"*","action":"status","status":429,"headers":{"Retry-After":"1"},"nth":2,"times":3}]"#,
        #"[{"route":"uploadAsset","action":"html","status":200,"commit":true}]"#,
        #"[{"route":"completeChunkedUpload","action":"html","status":502,"commit":true,"times":2}]"#,
        #"[{"route":"uploadChunk","action":"html","status":413,"times":1}]"#,
        #"[{"route":"uploadAsset","action":"html","status":413,"times":1}]"#,
        #"[{"route":"upsertSession","action":"status","status":503,"commit":true,"times":2}]"#,
        #"[{"route":"upsertSession","action":"truncated_body"}]"#,
        #"[{"route":"uploadChunk","action":"reset_at","bytes":100000}]"#,
        #"[{"route":"completeChunkedUpload","action":"status","status":404}]"#,
        #"[{"route":"completeChunkedUpload","action":"drop_before_commit","times":5}]"#,
    ]) func theUploadGoesOn(_ faults: String) async throws {
        let fixture = try await UploadFixture()
        try await fixture.cloud.addFaults(faults)
        let ids = [
            try await fixture.capture(1, sizes: [900_000, (16 << 20) + 1]),
            try await fixture.capture(2, sizes: [600_000]),
        ]
        fixture.start()
        try await fixture.untilImported(ids)
        try await fixture.stop()
        // A small file goes by the chunked route behind a gateway that refuses it.
        try await fixture.expectCloud(
            holds: ids, assets: 3, advice: !faults.contains(#"uploadAsset","action":"html","status":413"#))
    }

    @Test func anExpiredTokenIsRenewedInTheMiddle() async throws {
        let fixture = try await UploadFixture()
        let ids = [try await fixture.capture(1, sizes: [(16 << 20) + 1])]
        try await fixture.cloud.addFaults(
            #"[{"route":"uploadChunk","action":"delay_before","ms":300,"always":true}]"#)
        fixture.start()
        try await fixture.until(30, "the first chunk") {
            try await fixture.queue.session(ids[0])?.summary.progress.uploadedBytes ?? 0 > 0
        }
        try await fixture.cloud.post("expire-tokens")
        try await fixture.untilImported(ids)
        try await fixture.stop()
        try await fixture.expectCloud(holds: ids, assets: 1)
        #expect(try await fixture.cloud.state().requests["uploadChunk"]?.requests ?? 0 <= 4)
    }

    /// C-75: the large one is parked, smaller ones and other sessions go on; room frees it.
    @Test func quotaParksOnlyWhatDoesNotFit() async throws {
        let fixture = try await UploadFixture(["--quota", "1000000"])
        let parked = try await fixture.capture(1, sizes: [2_000_000, 1000])
        let free = try await fixture.capture(2, sizes: [3000])
        fixture.start()
        try await fixture.untilImported([free])
        try await fixture.until(30, "the hold") { try await fixture.holds(parked) == [.quota] }
        let hold = try #require(try await fixture.queue.session(parked)?.summary.holds.first)
        #expect(hold.requiredBytes == 2_000_000)
        #expect(try await fixture.queue.session(parked)?.summary.progress.uploadedAssets == 1)
        try await fixture.cloud.post("quota", #"{"totalBytes": 10000000}"#)
        await fixture.supervisor.kick()
        try await fixture.untilImported([parked])
        try await fixture.stop()
        try await fixture.expectCloud(holds: [parked, free], assets: 3)
    }

    /// The server's own 413, where it knows better than the quota that it told.
    @Test func aRefusalForQuotaParksToo() async throws {
        let fixture = try await UploadFixture()
        let data = #"{"totalBytes":10,"usedBytes":5,"remainingBytes":5,"requiredBytes":77}"#
        try await fixture.cloud.addFaults(
            #"[{"route":"uploadAsset","action":"status","status":413,"data":\#(data)}]"#)
        let id = try await fixture.capture(1, sizes: [1000])
        fixture.start()
        try await fixture.until(30, "the hold") { try await fixture.holds(id) == [.quota] }
        #expect(try await fixture.state(id) == .queuedOffline)
        await fixture.supervisor.kick()
        try await fixture.untilImported([id])
        try await fixture.stop()
        try await fixture.expectCloud(holds: [id], assets: 1)
    }

    /// C-55, C-70: other bytes at the server are never taken for ours.
    @Test(arguments: [700, (16 << 20) + 1]) func wrongBytesAreAConflict(_ size: Int) async throws {
        let fixture = try await UploadFixture()
        try await fixture.cloud.addFaults(
            #"[{"route":"*","action":"wrong_sha256","persist":true,"always":true}]"#)
        let id = try await fixture.capture(1, sizes: [size])
        fixture.start()
        try await fixture.until(30, "the hold") { try await fixture.holds(id) == [.conflict] }
        try await fixture.stop()
        #expect(try await fixture.state(id) != .imported)
        let asset = try #require(try await fixture.queue.session(id)?.assets.first)
        #expect(asset.pullState == .stored)
        #expect(asset.uploadState != .uploaded)
        #expect(
            fixture.lines.all.contains {
                $0.hasPrefix("warning: session \(id)") && $0.contains("the cloud holds other bytes")
            })
    }

    /// C-38: what was deleted in the cloud is not raised from the dead.
    @Test func aTombstoneStopsTheSession() async throws {
        var configuration = UploadFixture.quick
        configuration.retry.retryAfterCap = .seconds(5)
        let fixture = try await UploadFixture([], configuration)
        try await fixture.cloud.addFaults(
            #"[{"route":"getStorageQuota","action":"status","status":503,"headers":{"Retry-After":"3"},"times":2}]"#
        )
        let id = try await fixture.capture(1, sizes: [1000])
        fixture.start()
        try await fixture.until(30, "the first failure") { try await fixture.state(id) == .failedRetryable }
        try await fixture.cloud.post("tombstone", #"{"clientId": "\#(id.text)"}"#)
        try await fixture.until(30, "the hold") { try await fixture.holds(id) == [.remoteDeleted] }
        // Asked for again, and after another login, it is looked at and held as before: the deletion stands.
        #expect(try await fixture.queue.retry(id))
        try await fixture.until(30, "the second hold") { try await fixture.holds(id) == [.remoteDeleted] }
        let held = try #require(try await fixture.queue.session(id)?.summary.holds.first?.since)
        _ = try await fixture.api.logOut()
        try await fixture.until(30, "the logout") {
            await fixture.supervisor.status().reason == .authRequired
        }
        try await fixture.api.logIn(identifier: "ada", password: Secret("countess"))
        try await fixture.until(30, "the look") {
            try await fixture.queue.session(id)?.summary.holds.contains { $0.since > held } == true
        }
        try await fixture.stop()
        #expect(try await fixture.queue.session(id)?.assets.first?.pullState == .stored)
        #expect(try await fixture.cloud.state().sessions.first?.deletedAt != nil)
        #expect(try await fixture.cloud.violations() == [])
    }

    /// C-32: another client changed title and events meanwhile; ours wins nothing that it did not change.
    @Test func aChangeByOthersIsMerged() async throws {
        let fixture = try await UploadFixture(["--quota", "10"])
        let id = try await fixture.capture(1, sizes: [1000])
        fixture.start()
        try await fixture.until(30, "the hold") { try await fixture.holds(id) == [.quota] }
        let session = try #require(try await fixture.queue.session(id)?.summary.session)
        _ = try await fixture.api.upsertSession(
            SessionUpsert(
                clientId: id.text, title: "Renamed on the phone",
                startTime: Timestamp(millisecondsSince1970: 1_784_888_430_250), durationMs: 600_000,
                events: [EventUpsert(clientId: "phone-1", relativeTimeMs: 9, eventType: .marker)],
                baseRevision: session.revision))
        try await fixture.queue.updateMetadata(id, durationMs: 700_000)
        try await fixture.cloud.post("quota", #"{"totalBytes": 10000000}"#)
        await fixture.supervisor.kick()
        try await fixture.untilImported([id])
        try await fixture.stop()
        let merged = try #require(try await fixture.api.sessions().session(clientId: id.text))
        #expect(merged.title == "Renamed on the phone")
        #expect(merged.durationMs == 700_000)
        #expect(Set(merged.events.compactMap(\.clientId)) == ["E-1", "phone-1"])
        try await fixture.expectCloud(holds: [id], assets: 1)
    }

    /// Without a login everything waits, visibly; a login is enough to go on.
    @Test func loginOpensTheWay() async throws {
        let fixture = try await UploadFixture(logIn: false)
        let host = fixture.api.base.description
        let id = try await fixture.capture(1, sizes: [1000])
        fixture.start()
        try await fixture.until(30, "the hold") {
            try await fixture.queue.queueHolds(host: host).map(\.reason) == [.auth]
        }
        #expect(await fixture.supervisor.status().reason == .authRequired)
        #expect(try await fixture.state(id) == .queuedOffline)
        try await fixture.api.logIn(identifier: "ada", password: Secret("countess"))
        try await fixture.untilImported([id])
        #expect(try await fixture.queue.queueHolds(host: host) == [])
        try await fixture.stop()
        try await fixture.expectCloud(holds: [id], assets: 1)
    }

    /// A certificate that is not trusted holds everything, says why, and costs nothing; one that is opens the way.
    @Test func anUntrustedCertificateHoldsEverything() async throws {
        let authority = try TestAuthority()
        let options = try authority.identity("cloud").options
        let fixture = try await UploadFixture(options, http: HTTPConfiguration(caFile: authority.file))
        try await fixture.crash()
        let stranger = try await UploadFixture(earlier: fixture)
        let id = try await stranger.capture(1, sizes: [1000])
        stranger.start()
        while await stranger.supervisor.status().reason == nil { await Task.yield() }
        let status = await stranger.supervisor.status()
        #expect(status.reason == .tlsUntrusted)
        #expect(status.message?.contains("is not trusted") == true)
        #expect(status.hint == HoldReason.tlsUntrusted.hint)
        #expect(status.nextTry != nil)
        try await stranger.stop()
        #expect(try await stranger.state(id) == .queuedOffline)
        try await stranger.crash()
        let trusting = try await UploadFixture(
            earlier: stranger, http: HTTPConfiguration(caFile: authority.file))
        trusting.start()
        try await trusting.untilImported([id])
        try await trusting.stop()
        try await trusting.expectCloud(holds: [id], assets: 1)
    }

    /// F-8, F-9: queued for another host, never sent to this one.
    @Test func anotherHostsSessionsAreLeftAlone() async throws {
        let fixture = try await UploadFixture()
        let other = "https://elsewhere.example.org/celestia-trace/v1"
        let foreign = try await fixture.capture(1, sizes: [1000], host: other)
        let own = try await fixture.capture(2, sizes: [1000])
        fixture.start()
        try await fixture.untilImported([own])
        try await fixture.stop()
        #expect(try await fixture.state(foreign) == .queuedOffline)
        let hold = try #require(try await fixture.queue.queueHolds(host: other).first)
        #expect(hold.reason == .paused)
        #expect(hold.detail?.contains("elsewhere.example.org") == true)
        try await fixture.expectCloud(holds: [own], assets: 1)
    }

    /// F-19: a damaged file is terminal for its session, and for no other.
    @Test func aDamagedFileEndsItsSessionOnly() async throws {
        let fixture = try await UploadFixture()
        let damaged = try await fixture.capture(1, sizes: [1000])
        let asset = try #require(try await fixture.queue.session(damaged)?.assets.first)
        let path = "\(fixture.directory.path)/state/spool/\(damaged)/\(asset.id)"
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: path))
        let healthy = try await fixture.capture(2, sizes: [1000])
        fixture.start()
        try await fixture.untilImported([healthy])
        try await fixture.stop()
        #expect([SessionState.failedTerminal, .draft].contains(try await fixture.state(damaged)))
        #expect(
            try await fixture.cloud.state().sessions.first { $0.clientId == damaged.text }?.assets.isEmpty
                ?? true)
    }

    /// F-20: a cancel takes the session out of the uploader's hands at once.
    @Test func aCancelledSessionIsNotSentFurther() async throws {
        let fixture = try await UploadFixture()
        try await fixture.cloud.addFaults(
            #"[{"route":"uploadChunk","action":"delay_after","ms":400,"always":true}]"#)
        let id = try await fixture.capture(1, sizes: [(16 << 20) + 1])
        fixture.start()
        try await fixture.until(30, "the upload") { try await fixture.queue.uploadJob(id).uploads.count == 1 }
        try await fixture.queue.cancel(id)
        try await fixture.stop()
        #expect(try await fixture.state(id) == .cancelled)
        #expect(try await fixture.cloud.state().sessions.first?.assets.isEmpty == true)
    }
}

/// Ends in the middle of everything, and a server that fails at random.
@Suite(.serialized) struct UploadSurvivalTests {
    /// Cancelled at whatever moment, reopened, it ends as if nothing had happened.
    @Test func aCrashAtAnyMomentChangesNothing() async throws {
        var fixture = try await UploadFixture()
        try await fixture.cloud.addFaults(#"[{"route":"*","action":"delay_after","ms":30,"always":true}]"#)
        var ids: [SessionID] = []
        for number in 1...3 {
            ids.append(try await fixture.capture(number, sizes: [2000, (16 << 20) + number, 70_000]))
        }
        var random = SeededGenerator(seed: 11)
        for _ in 0..<12 {
            fixture.start()
            try await Task.sleep(for: .milliseconds(Int.random(in: 1...250, using: &random)))
            try await fixture.crash()
            fixture = try await UploadFixture(earlier: fixture)
        }
        fixture.start()
        try await fixture.untilImported(ids)
        try await fixture.stop()
        try await fixture.expectCloud(holds: ids, assets: 9)
    }

    /// A stop lets the request under way end: nothing is in doubt afterwards.
    @Test func aStopLeavesNoDoubt() async throws {
        let fixture = try await UploadFixture()
        try await fixture.cloud.addFaults(
            #"[{"route":"uploadChunk","action":"delay_before","ms":300,"always":true}]"#)
        let id = try await fixture.capture(1, sizes: [(16 << 20) + 1])
        fixture.start()
        try await fixture.until(30, "the first chunk") {
            try await fixture.queue.session(id)?.summary.progress.uploadedBytes ?? 0 > 0
        }
        try await fixture.stop()
        let detail = try #require(try await fixture.queue.session(id))
        #expect(detail.summary.session.state == .queuedOffline)
        #expect(detail.intents.isEmpty)
        #expect(detail.summary.progress.uploadedBytes > 0)
        // What was acknowledged is not sent again.
        try await fixture.crash()
        let next = try await UploadFixture(earlier: fixture)
        next.start()
        try await next.untilImported([id])
        try await next.stop()
        #expect(try await next.cloud.state().requests["uploadChunk"]?.requests == 3)
        try await next.expectCloud(holds: [id], assets: 1)
    }

    /// A cloud that does not answer does not hold up a stop: whatever waits is cancelled, and settled by the next start.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            "upsertSession", "uploadAsset", "initializeChunkedUpload", "uploadChunk", "completeChunkedUpload",
        ])
    func aStopDoesNotWaitForASilentCloud(_ route: String) async throws {
        let fixture = try await UploadFixture()
        try await fixture.cloud.addFaults(
            #"[{"route":"\#(route)","action":"stall","commit":true}]"#)
        let id = try await fixture.capture(
            1, sizes: [["upsertSession", "uploadAsset"].contains(route) ? 1000 : (16 << 20) + 1])
        fixture.start()
        var isTaken = false
        while !isTaken {
            let state = try await fixture.cloud.state()
            isTaken =
                switch route {
                case "upsertSession": !state.sessions.isEmpty
                case "initializeChunkedUpload": !state.uploads.isEmpty
                case "uploadChunk": state.uploads.contains { !$0.receivedChunks.isEmpty }
                default: !state.sessions.flatMap(\.assets).isEmpty
                }
        }
        try await fixture.stop()
        #expect([SessionState.queuedOffline, .awaitingConfirmation].contains(try await fixture.state(id)))
        try await fixture.crash()
        let next = try await UploadFixture(earlier: fixture)
        next.start()
        try await next.untilImported([id])
        try await next.stop()
        try await next.expectCloud(holds: [id], assets: 1)
    }
}
