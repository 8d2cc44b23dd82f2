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
                #expect(refused.status == 15)
                #expect(refused.errors.contains("127.0.0.1"), "\(refused)")
                try await lab.pair()
                try await lab.waitUntilQueued()
                lab.cloud = try CloudSimulator(["--port", String(port)])
                try await lab.logIn()
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        /// Whatever the cloud has against a session: it is said, in the status, by the exit code, in the log, and to whoever
        /// waits for a sync, who does not wait in vain.
        @Test(arguments: [
            (
                "quota",
                #"{"route": "uploadAsset", "action": "status", "status": 413, "data": {"totalBytes": 10, "usedBytes": 5, "remainingBytes": 5, "requiredBytes": 77}, "always": true}"#
            ),
            ("conflict", #"{"route": "upsertSession", "action": "status", "status": 409, "always": true}"#),
            ("conflict", #"{"route": "*", "action": "wrong_sha256", "persist": true, "always": true}"#),
            ("rejected", #"{"route": "uploadAsset", "action": "status", "status": 422, "always": true}"#),
            (
                "retry",
                #"{"route": "uploadAsset", "action": "status", "status": 429, "headers": {"Retry-After": "7200"}, "always": true}"#
            ),
        ])
        func whatTheCloudHasAgainstASessionIsSaid(_ cause: String, _ fault: String) async throws {
            try await Laboratory.run(try Captures("first", ["one.wav": 200_001])) { lab in
                try await lab.logIn()
                try await lab.cloud.addFaults("[\(fault)]")
                try await lab.pair()
                try await lab.waitForHealth("sessions_wait_\(cause)")
                let status = try await lab.cli("status")
                #expect(status.status == 14, "\(status)")
                let sync = try await lab.cli("sync", "--wait", "60")
                #expect(sync.says(10, ["1 session waits", "→ "]), "\(sync)")
                if cause != "retry" {
                    #expect(lab.log().contains("warning: session "), "\(lab.log(lines: 20))")
                }
                #expect(try await lab.deletedObjects() == [])
                #expect(try await lab.client.sessions(SessionQuery()).sessions.first?.state != "imported")
            }
        }

        /// It goes while the daemon is logged in: the status says why files wait, and nothing is sent twice.
        @Test(arguments: [
            ("drop_before_commit", ["try again later"]),
            ("html", ["answered 502 with a body of type text/html", "try again later"]),
            ("not_json", ["answered 200 with a body", "→ "]),
        ])
        func aCloudThatAnswersNonsense(_ action: String, _ texts: [String]) async throws {
            try await Laboratory.run(try captures()) { lab in
                try await lab.logIn()
                try await lab.cloud.addFaults(
                    #"[{"route": "*", "always": true, "action": "\#(action)"}]"#)
                let file = lab.folder.path + "/password"
                let refused = try await lab.cli("login", "ada", "--password-file", file)
                #expect(refused.says(15, texts + ["127.0.0.1:"]), "\(refused)")
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
