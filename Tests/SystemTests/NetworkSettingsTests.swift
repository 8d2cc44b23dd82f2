import Control
import Foundation
import TestSupport
import Testing

extension SystemTests {
    @Suite struct NetworkSettingsTests {
        @Test func theLimitIsTheConfiguredOne() async throws {
            try await Laboratory.run(
                try Captures("first", ["one.wav": 100_001]),
                environment: ["CELESTIAD_UPLOAD_RATE_LIMIT": "64K"]
            ) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                #expect(lab.log().contains("uploads are held to 64 KiB/s"))
            }
        }

        /// Pulled, kept and said why; uploaded when the network costs nothing any more.
        @Test func filesWaitForANetworkThatCostsNothing() async throws {
            try await Laboratory.run(try Captures("first", ["one.wav": 200_001])) { lab in
                let manager = try await FakeNetworkManager(lab.bus.address, metered: 1)
                try await lab.logIn()
                try await lab.waitForStatus("the hold") {
                    $0.queue.holds?.contains { $0.reason == "metered" } == true
                }
                try await lab.pair()
                try await lab.waitUntilQueued()
                let status = try await lab.cli("status")
                #expect(status.output.contains("metered"), "\(status)")
                #expect(try await lab.cloud.state().sessions.isEmpty)
                try await manager.change(to: 2)
                try await lab.waitUntilUploaded()
                try await lab.verify()
                await manager.stop()
            }
        }

        @Test func aUserMayNotCare() async throws {
            try await Laboratory.run(
                try Captures("first", ["one.wav": 200_001]),
                environment: ["CELESTIAD_UPLOAD_METERED": "ignore"]
            ) { lab in
                let manager = try await FakeNetworkManager(lab.bus.address, metered: 1)
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                await manager.stop()
            }
        }
    }
}
