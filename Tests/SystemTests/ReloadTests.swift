import Control
import Foundation
import TestSupport
import Testing

extension SystemTests {
    /// SIGHUP: the configuration is read again, and nothing that is under way ends.
    @Suite struct ReloadTests {
        private func configure(_ lab: Laboratory, _ text: String) throws {
            try Data(text.utf8).write(to: URL(fileURLWithPath: lab.folder.path + "/celestiad.conf"))
        }

        private func reload(_ lab: Laboratory, _ answer: String) async throws {
            let before = lab.log().components(separatedBy: answer).count
            lab.signalDaemon(SIGHUP)
            try await lab.waitUntil("the log says: \(answer)") {
                lab.log().components(separatedBy: answer).count > before
            }
        }

        @Test func aMistakeChangesNothing() async throws {
            try await Laboratory.run { lab in
                try configure(lab, "[Upload]\nParalel=3\n")
                try await reload(lab, "the configuration was not taken, and what was stays")
                #expect(lab.log().contains("Did you mean [Upload] Parallel?"))
                try configure(
                    lab,
                    "[Upload]\nParallel=3\n[Cloud]\nPinnedPublicKey=\n[Bluetooth]\nAdapter=00:11:22:33:44:55\n"
                )
                try await reload(lab, "the configuration was read again; taken: [Upload] Parallel")
                #expect(
                    lab.log().contains(
                        "[Bluetooth] Adapter will count from the next start on: sudo systemctl restart celestiad"
                    ))
                #expect(try await lab.client.status().account.state == "logged_out")
            }
        }

        /// A file on its way at 16 KiB/s would take minutes: without the limit it arrives, in the request that it had begun.
        @Test func anUploadUnderWayGoesOnUnderTheNewLimit() async throws {
            try await Laboratory.run(try Captures("large", ["large.wav": 8 << 20])) { lab in
                try configure(lab, "[Upload]\nRateLimit=16K\n")
                try await reload(lab, "taken: [Upload] RateLimit")
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitForStatus("the upload is under way") {
                    $0.transfers.contains { $0.leg == "hub_to_cloud" && $0.bytes > 0 }
                }
                try configure(lab, "[Upload]\nRateLimit=off\n[General]\nLogLevel=debug\n")
                try await reload(lab, "taken: [General] LogLevel, [Upload] RateLimit")
                try await lab.waitUntilUploaded()
                let state = try await lab.cloud.state()
                #expect(state.requests["uploadAsset"]?.requests == 1)
            }
        }
    }
}
