import Control
import Foundation
import TestSupport
import Testing

extension SystemTests {
    @Suite struct KillTests {
        @Test func killedWhileItPulls() async throws {
            let size = 2 * mib + 99
            let captures = try Captures("interview", ["one.wav": size, "two.jpg": 80_000])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.fault("rate=400000")
                try await lab.pair()
                let held: Int64 = 900_000
                try await lab.waitForTransfer("device_to_hub", beyond: held)
                #expect(await lab.endDaemon(SIGKILL) == 128 + SIGKILL)
                let before = try await lab.sendings().count
                try await lab.fault("rate=off")
                try await lab.startDaemon()
                #expect(lab.log().contains("the last run did not end in order"))
                try await lab.waitUntilUploaded()
                try await lab.verify()
                // Each window was journalled before the next was asked for.
                let after = [Sending](try await lab.sendings().dropFirst(before)).of(size: size)
                let first = try #require(after.map(\.offset).min())
                #expect(first >= held / CutLinkTests.window * CutLinkTests.window, "resumed at \(first)")
            }
        }

        /// Chunk by chunk: those that the cloud has are not sent again.
        @Test func killedWhileItUploadsChunks() async throws {
            let captures = try Captures("concert", ["long.wav": 16 * mib])
            try await Laboratory.run(captures) { lab in
                try await lab.cloud.addFaults(
                    """
                    [{"route": "initializeChunkedUpload", "action": "chunk_size", "bytes": 2097152},
                     {"route": "uploadChunk", "nth": 4, "action": "stall", "commit": true}]
                    """)
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntil("the cloud has four chunks and is silent") {
                    try await lab.cloud.state().uploads.first?.receivedChunks.count == 4
                }
                #expect(await lab.endDaemon(SIGKILL) == 128 + SIGKILL)
                try await lab.startDaemon()
                try await lab.waitUntilUploaded()
                try await lab.verify()
                let state = try await lab.cloud.state()
                #expect(state.uploads.count == 1)
                #expect(state.requests["initializeChunkedUpload"]?.requests == 1)
                // None again, not even the one whose answer never came.
                #expect((8...9).contains(state.requests["uploadChunk"]?.requests ?? 0))
            }
        }

        /// The cloud has it and has not said so: the next run looks before it sends.
        @Test(arguments: ["upsertSession", "uploadAsset"])
        func killedWhileTheAnswerIsAwaited(_ operation: String) async throws {
            let captures = try Captures("interview", ["one.wav": 600_001, "two.jpg": 50_000])
            try await Laboratory.run(captures) { lab in
                try await lab.cloud.addFaults(
                    #"[{"route": "\#(operation)", "action": "stall", "commit": true}]"#)
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntil("the cloud has taken \(operation) and is silent") {
                    let state = try await lab.cloud.state()
                    return operation == "upsertSession"
                        ? !state.sessions.isEmpty : !state.sessions.flatMap(\.assets).isEmpty
                }
                #expect(await lab.endDaemon(SIGKILL) == 128 + SIGKILL)
                try await lab.startDaemon()
                try await lab.waitUntilUploaded()
                try await lab.verify()
                #expect(try await lab.cloud.state().sessions.count == 1)
            }
        }

        /// At any moment: while it starts, pulls, uploads, refreshes its token. `CELESTIAD_SYSTEM_KILLS=1000` for a night.
        @Test func killedAgainAndAgain() async throws {
            let environment = ProcessInfo.processInfo.environment
            let kills = environment["CELESTIAD_SYSTEM_KILLS"].flatMap { Int($0) } ?? 8
            let seed =
                environment["CELESTIAD_SYSTEM_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...99_999)
            var generator = SeededGenerator(seed: seed)
            let captures = try Captures("interview", ["one.wav": 3 * mib + 5, "two.jpg": 80_000])
            try captures.add("concert", ["three.wav": 17 * mib, "four.jpg": 1])
            // So short that nearly each run refreshes.
            try await Laboratory.run(captures, cloudOptions: ["--token-lifetime", "2"]) { lab in
                try await lab.logIn()
                try await lab.fault("rate=6000000")
                try await lab.pair()
                for _ in 0..<kills {
                    try await Task.sleep(for: .milliseconds(Int.random(in: 1...1200, using: &generator)))
                    #expect(await lab.endDaemon(SIGKILL) == 128 + SIGKILL, "seed \(seed)")
                    try await lab.startDaemon()
                    // A rotation whose answer was lost may cost the login, visibly; never the files.
                    if try await lab.client.status().account.state != "logged_in" { try await lab.logIn() }
                }
                try await lab.fault("rate=off")
                try await lab.waitUntil("all is uploaded, seed \(seed)") {
                    let status = try? await lab.client.status()
                    if status?.account.state == "expired" { try await lab.logIn() }
                    let files = captures.files.count
                    return try await lab.cloud.state().sessions.flatMap(\.assets).count >= files
                }
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        @Test func asksToEndAndBeginsAgainInOrder() async throws {
            let size = 2 * mib + 7
            let captures = try Captures("interview", ["one.wav": size])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.fault("rate=200000")
                try await lab.pair()
                try await lab.waitForTransfer("device_to_hub", beyond: 300_000)
                #expect(await lab.endDaemon(SIGTERM) == 0)
                #expect(lab.log().hasSuffix("notice: celestiad ends\n"))
                // It did not wait for the file's end.
                #expect(try await lab.sendings().bytes < Int64(size))
                try await lab.fault("rate=off")
                try await lab.startDaemon()
                #expect(!lab.log().contains("did not end in order"))
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        /// A call that comes while the daemon puts everything down must neither wait for ever nor keep it from ending.
        @Test func endsInOrderWhileItIsAsked() async throws {
            try await Laboratory.run(Captures("interview", ["one.wav": 1])) { lab in
                let client = lab.client
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<20 {
                        group.addTask { while (try? await client.sessions(SessionQuery())) != nil {} }
                    }
                    #expect(await lab.endDaemon(SIGTERM) == 0)
                }
            }
        }

        @Test func endsInOrderWhileTheCloudIsSilent() async throws {
            let captures = try Captures("interview", ["one.wav": 300_001])
            try await Laboratory.run(captures) { lab in
                try await lab.cloud.addFaults(#"[{"route": "uploadAsset", "action": "stall"}]"#)
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitForTransfer("hub_to_cloud", beyond: 300_000)
                #expect(await lab.endDaemon(SIGTERM) == 0)
                try await lab.startDaemon()
                #expect(!lab.log().contains("did not end in order"))
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }
    }
}
