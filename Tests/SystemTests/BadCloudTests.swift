import Control
import Foundation
import TestSupport
import Testing

extension SystemTests {
    @Suite struct BadCloudTests {
        private func captures() throws -> Captures {
            try Captures("first", ["one.wav": 200_001, "two.jpg": 50_001])
        }

        @Test func aWrongPasswordIsTriedOnce() async throws {
            try await Laboratory.run { lab in
                let file = lab.folder.path + "/wrong"
                try Data("duchess\n".utf8).write(to: URL(fileURLWithPath: file))
                let refused = try await lab.cli("login", "ada", "--password-file", file)
                #expect(refused.says(7, ["does not accept this name and password", "→ "]), "\(refused)")
                #expect(!refused.errors.contains("duchess") && !lab.log().contains("duchess"))
                #expect(try await lab.cloud.state().requests["login"]?.requests == 1)
                #expect(try await lab.client.status().account.state == "logged_out")
                try await lab.logIn()
            }
        }

        /// Everything is pulled meanwhile, and arrives once there is a cloud again.
        @Test func aCloudThatIsNotThere() async throws {
            try await Laboratory.run(try captures()) { lab in
                let port = try #require(URL(string: lab.cloud.address)?.port)
                lab.cloud.stop()
                let file = lab.folder.path + "/password"
                let refused = try await lab.cli("login", "ada", "--password-file", file)
                #expect(refused.status == 1)
                #expect(refused.errors.contains("127.0.0.1"), "\(refused)")
                try await lab.pair()
                try await lab.waitUntilQueued()
                lab.cloud = try CloudSimulator(["--port", String(port)])
                try await lab.logIn()
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        /// It goes while the daemon is logged in: the status says why files wait, and nothing is sent twice.
        @Test(arguments: ["drop_before_commit", "html", "not_json"])
        func aCloudThatAnswersNonsense(_ action: String) async throws {
            try await Laboratory.run(try captures()) { lab in
                try await lab.logIn()
                try await lab.cloud.addFaults(
                    #"[{"route": "*", "always": true, "action": "\#(action)"}]"#)
                let file = lab.folder.path + "/password"
                let refused = try await lab.cli("login", "ada", "--password-file", file)
                #expect(refused.status == 1 && !refused.errors.isEmpty, "\(refused)")
                try await lab.pair()
                try await lab.waitForStatus("the status says why files wait") {
                    $0.queue.pendingAssets == 2 && ($0.queue.nextTry != nil || $0.queue.reason != nil)
                }
                #expect(try await lab.cloud.state().sessions.isEmpty)
                #expect(try await lab.deletedObjects() == [])
                try await lab.cloud.clearFaults()
                // Whatever the failed login left: the user logs in again, which also is what asks for a new try.
                try await lab.logIn()
                _ = try await lab.cli("sync")
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        @Test func anExpiredLoginIsToldAndRenewed() async throws {
            try await Laboratory.run(try captures()) { lab in
                try await lab.logIn()
                try await lab.cloud.post("expire-tokens", #"{"refresh": true}"#)
                try await lab.pair()
                try await lab.waitForHealth("login_expired")
                let status = try await lab.cli("status")
                #expect(status.status == 14)
                #expect(status.output.contains("celestiad login"), "\(status)")
                try await lab.logIn()
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }
    }
}
