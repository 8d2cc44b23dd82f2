import CaptureQueue
import Cloud
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Many sessions through a server and a network that fail at random, by a seed that is printed.
@Suite(.serialized) struct UploadSoakTests {
    /// `CELESTIAD_SOAK_SEED` repeats a run or tries another one.
    static let seed =
        ProcessInfo.processInfo.environment["CELESTIAD_SOAK_SEED"].flatMap(Int.init) ?? 20_261_130

    static let everyKind = [
        "status", "refusal", "gateway_limit", "over_quota", "html", "not_json", "delay_before", "delay_after",
        "stall", "drop_before_commit", "drop_after_commit", "reset_at", "truncated_body", "trickle",
        "chunk_size", "expire_upload", "expire_token", "short_count",
    ]
    static let everyRoute = [
        "getHealth", "refreshAccessToken", "listSessions", "upsertSession", "uploadAsset",
        "initializeChunkedUpload", "uploadChunk", "completeChunkedUpload", "getStorageQuota",
        "recordSyncCheckpoint",
    ]

    static var configuration: UploadConfiguration {
        var configuration = UploadFixture.quick
        configuration.quotaProbe = .milliseconds(20)...(.milliseconds(200))
        configuration.parallelUploads = 4
        return configuration
    }

    /// One answer in five fails; in the end every asset is there once with its SHA-256, every session at its revision,
    /// the one login still good, and no rule of the contract broken.
    @Test(.timeLimit(.minutes(15))) func aServerThatFailsOneAnswerInFive() async throws {
        print("soak: CELESTIAD_SOAK_SEED=\(Self.seed)")
        let fixture = try await UploadFixture(["--chunk-size", "2097152"], Self.configuration)
        var ids: [SessionID] = []
        var assets = 0
        for number in 1...200 {
            var sizes = (0..<(2 + number % 3)).map { 300 + number * 37 + $0 * 1000 }
            if number % 50 == 0 { sizes.append((16 << 20) + number) }
            ids.append(try await fixture.capture(number, sizes: sizes))
            assets += sizes.count
        }
        let faults = try JSONSerialization.data(withJSONObject: [
            "seed": Self.seed, "oneIn": 5, "actions": Self.everyKind, "routes": Self.everyRoute,
        ])
        try await fixture.cloud.post("faults/random", String(decoding: faults, as: UTF8.self))
        fixture.start()
        try await fixture.untilImported(ids)
        try await fixture.until(30, "the checkpoint") {
            try await fixture.queue.checkpointDue(host: fixture.api.base.description) == nil
        }
        let struck = try await Self.struck(fixture.cloud)
        try await fixture.cloud.clearFaults()
        try await fixture.stop()
        print("soak: \(struck.values.reduce(0, +)) answers failed: \(struck.sorted { $0.key < $1.key })")
        #expect(Set(struck.keys) == Set(Self.everyKind))
        // A file that a gateway finds too large goes by the chunked route, whatever its size.
        try await fixture.expectCloud(holds: ids, assets: assets, advice: false)
        #expect(try await fixture.queue.sessions(.attention).sessions.isEmpty)
        // No token was lost: the login of the start is good for another call, and for another rotation.
        _ = try await fixture.api.profile()
        try await fixture.cloud.post("expire-tokens")
        _ = try await fixture.api.profile()
        let tokens = try #require(try await fixture.cloud.state().users.first?.tokens)
        #expect(tokens.logins == 1)
        #expect(tokens.refreshes > 1)
    }

    private static func struck(_ cloud: CloudSimulator) async throws -> [String: Int] {
        struct Answer: Decodable {
            struct Random: Decodable { let struck: [String: Int] }
            let random: Random
        }
        return try JSONDecoder().decode(Answer.self, from: Data(try await cloud.get("faults"))).random.struck
    }

    /// The network cuts connections at any byte of either direction, in order and by resets.
    @Test(.timeLimit(.minutes(15))) func aNetworkThatCutsAtAnyByte() async throws {
        print("soak: CELESTIAD_SOAK_SEED=\(Self.seed)")
        let fixture = try await UploadFixture(
            ["--chunk-size", "2097152"], Self.configuration, throughProxy: true)
        let proxy = try #require(fixture.proxy)
        var ids: [SessionID] = []
        for number in 1...12 {
            let large = number % 6 == 0 ? [(16 << 20) + number] : []
            ids.append(try await fixture.capture(number, sizes: [5000, 70_000] + large))
        }
        var random = SeededGenerator(seed: UInt64(Self.seed))
        let cuts = (0..<60).map { _ -> String in
            let isUp = Bool.random(using: &random)
            let after = Int.random(in: 0...(isUp ? 100_000 : 900), using: &random)
            let how = Bool.random(using: &random) ? "rst" : "fin"
            return #"{"direction":"\#(isUp ? "up" : "down")","after":\#(after),"how":"\#(how)"}"#
        }
        try await proxy.tell("{\"cut\":[\(cuts.joined(separator: ","))],\"dropAll\":\"rst\"}")
        fixture.start()
        try await fixture.untilImported(ids)
        try await fixture.stop()
        #expect(try await proxy.state().cut > 30)
        try await fixture.expectCloud(holds: ids, assets: 26)
        #expect(try await fixture.cloud.state().users.first?.tokens.logins == 1)
    }

    /// A disconnect costs at most the chunk that it strikes: what was acknowledged is never sent again.
    @Test func aDisconnectWastesAtMostOneChunk() async throws {
        let fixture = try await UploadFixture(
            ["--chunk-size", "2097152"], UploadFixture.quick, throughProxy: true)
        let proxy = try #require(fixture.proxy)
        let size = (16 << 20) + 1
        let id = try await fixture.capture(1, sizes: [size])
        let before = try await proxy.state().bytesUp
        let cuts = [1, 3_000_000, 5_900_000, 4_100_000].map { #"{"direction":"up","after":\#($0)}"# }
        try await proxy.tell("{\"cut\":[\(cuts.joined(separator: ","))],\"dropAll\":\"rst\"}")
        fixture.start()
        try await fixture.untilImported([id])
        try await fixture.stop()
        let state = try await proxy.state()
        #expect(state.cut == 4)
        let wasted = state.bytesUp - before - Int64(size)
        // Requests other than chunks are a few kilobytes.
        #expect(wasted <= 4 * (2 << 20) + 64_000, "\(wasted) bytes")
        try await fixture.expectCloud(holds: [id], assets: 1)
    }
}
