import Control
import Foundation
import TestSupport
import Testing

extension SystemTests {
    /// What users do with their account and with what it holds, against the simulated cloud.
    @Suite struct CloudVerbTests {
        private func file(_ text: String, _ name: String, _ lab: Laboratory) throws -> String {
            let path = "\(lab.folder.path)/\(name)"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            chmod(path, 0o600)
            return path
        }

        @Test func anAccountFromItsMakingToItsNewPassword() async throws {
            try await Laboratory.run(Laboratory.Setup()) { lab in
                let (old, new) = (try file("first-one\n", "old", lab), try file("second\n", "new", lab))
                let out = try await lab.cli("cloud", "status")
                #expect(out.status == ExitCode.notLoggedIn.rawValue && out.output.contains("ok, answered in"))
                func register() async throws -> Ending {
                    try await lab.cli(
                        "account", "register", "grace", "grace@example.com", "--password-file", old)
                }
                #expect(try await register().status == 0)
                let again = try await register()
                #expect(again.status == ExitCode.busy.rawValue && again.errors.contains("celestiad logout"))
                let edit = try await lab.cli("account", "edit", "--phone", "+49301234567", "--json")
                #expect(edit.output.contains("\"phone_number\":\"+49301234567\""), "\(edit)")
                let taken = try await lab.cli("account", "edit", "--username", "ada")
                #expect(taken.status == 1 && taken.errors.contains("nothing was changed"), "\(taken)")
                let wrong = try await lab.cli(
                    "account", "password", "--password-file", new, "--new-password-file", new)
                #expect(wrong.status != 0 && wrong.errors.contains("old password is wrong"), "\(wrong)")
                let change = try await lab.cli(
                    "account", "password", "--password-file", old, "--new-password-file", new)
                #expect(change.status == 0, "\(change)")
                // What is queued must not go to another account unasked.
                let other = try await lab.cli(
                    "login", "ada", "--password-file", lab.folder.path + "/password")
                #expect(other.status == ExitCode.busy.rawValue && other.errors.contains("celestiad logout"))
                #expect(try await lab.cli("logout").status == 0)
                #expect(try await lab.cli("login", "grace", "--password-file", old).status == 7)
                #expect(try await lab.cli("login", "grace", "--password-file", new).status == 0)
                let status = try await lab.cli("cloud", "status")
                #expect(status.status == 0 && status.output.contains(" left"), "\(status)")
                #expect(try await lab.cloud.violations() == [])
                for secret in ["first-one", "second\n"] { #expect(!lab.log().contains(secret)) }
            }
        }

        /// With a credential of the service; never after the user's own logout, and a wrong password once.
        @Test(arguments: [Laboratory.password, "wrong-password"])
        func aHubLogsInByItself(_ password: String) async throws {
            let credentials = TemporaryDirectory()
            try Data((password + "\n").utf8).write(
                to: URL(fileURLWithPath: credentials.path + "/celestiad.password"))
            let environment = [
                "CELESTIAD_CLOUD_IDENTIFIER": "ada", "CREDENTIALS_DIRECTORY": credentials.path,
            ]
            try await Laboratory.run(Laboratory.Setup(environment: environment)) { lab in
                guard password == Laboratory.password else {
                    try await lab.waitUntil("it is given up") { lab.log().contains("is given up") }
                    #expect(try await lab.cloud.state().requests["login"]?.requests == 1)
                    #expect(!lab.log().contains(password))
                    return
                }
                try await lab.waitForStatus("it is logged in") { $0.account.state == "logged_in" }
                // The login ends elsewhere, and is found out at the next request.
                try await lab.cloud.post("expire-tokens", #"{"refresh": true}"#)
                #expect(try await lab.cli("account", "show").status != 0)
                try await lab.waitForStatus("it is logged in again") { $0.account.state == "logged_in" }
                #expect(try await lab.cli("account", "show").status == 0)
                #expect(try await lab.cli("logout").status == 0)
                #expect(try await lab.cli("account", "show").status == ExitCode.notLoggedIn.rawValue)
                #expect(try await lab.cloud.state().users.first?.tokens.logins == 2)
            }
        }

        /// The cloud dies in the middle of a file and does not continue: the bytes are right in the end all the same.
        @Test(arguments: [
            "", #"{"action":"truncated_body","bytes":100000,"times":2}"#,
            #"{"action":"status","status":503}"#,
            #"{"action":"html","status":200}"#,
        ])
        func whatWentUpComesDownTheSame(_ fault: String) async throws {
            try await Laboratory.run(Laboratory.Setup()) { lab in
                var generator = SeededGenerator(seed: 7)
                let bytes = generator.bytes(300_001)
                let sound = "\(lab.folder.path)/two.wav"
                try Data(bytes).write(to: URL(fileURLWithPath: sound))
                #expect(try await lab.cli("import", sound).status == 0)
                try await lab.logIn()
                try await lab.waitUntil("it is in the cloud") {
                    try await lab.client.sessions(SessionQuery(state: "imported")).total == 1
                }
                let page = try await lab.client.cloudSessions(CloudSessionQuery())
                let session = try #require(page.sessions.first)
                let ours = try await lab.client.sessions(SessionQuery()).sessions.first?.id
                #expect(session.session == ours)
                if !fault.isEmpty {
                    try await lab.cloud.addFaults(
                        "[\(fault.replacing("{", with: "{\"route\":\"downloadAsset\",\"nth\":1,"))]")
                }
                let target = "\(lab.folder.path)/out"
                let download = try await lab.cli(
                    "cloud", "download", String(session.id.prefix(8)), "--to", target)
                if fault.contains("html") {
                    #expect(
                        download.status == 15 && download.errors.contains("sign-in of its own"), "\(download)"
                    )
                    return
                }
                #expect(download.status == 0, "\(download)")
                #expect(FileManager.default.contents(atPath: "\(target)/001-two.wav") == Data(bytes))
                #expect(try FileManager.default.contentsOfDirectory(atPath: target).count == 1)
            }
        }

        /// Removed from the account it is not read and not bound again, also after a restart; then it is both.
        @Test func aRecorderOutsideTheAccountIsLeftAlone() async throws {
            let captures = try Captures("a", ["a.wav": 50_000])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntil("it is bound") { try await lab.cloud.state().devices.count == 1 }
                let serial = try #require(try await lab.client.recorders().first?.id)
                #expect(try await lab.cli("device", "rename", serial, "Kitchen").status == 0)
                try await lab.waitUntil("the account knows its name") {
                    try await lab.cloud.state().devices.first?.name == "Kitchen"
                }
                #expect(try await lab.cli("device", "unbind", serial, "--yes").status == 0)
                #expect(try await lab.cloud.state().devices.isEmpty)
                _ = await lab.endDaemon(SIGTERM)
                try await lab.startDaemon()
                let sync = try await lab.cli("sync", serial)
                #expect(sync.status != 0 && sync.errors.contains("celestiad device bind"), "\(sync)")
                let recorder = try await lab.client.recorder(serial)
                #expect(recorder.account == "unbound" && recorder.name == "Kitchen")
                #expect(try await lab.cloud.state().devices.isEmpty)
                #expect(try await lab.cli("device", "bind", serial).status == 0)
                try await lab.waitUntil("it is bound again and read") {
                    guard try await lab.cloud.state().devices.first?.name == "Kitchen" else { return false }
                    return try await lab.client.recorder(serial).lastSync != nil
                }
            }
        }
    }
}
