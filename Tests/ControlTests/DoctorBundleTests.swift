import Control
import Foundation
import Gateway
import TestSupport
import Testing

@testable import celestiad

@Suite(.timeLimit(.minutes(5))) struct DoctorBundleTests {
    /// Planted in every source; none may be in the bundle.
    private static let secrets = [
        "ada@example.com", "Ada Lovelace", "adalove", "CR1-0042", "Küche", "REC 0001 about Bob.wav",
        "about Bob",
        "C0:FF:EE:00:00:42", "C0_FF_EE_00_00_42", "eyJhbGciOiJIUzI1NiJ9", "s3cr3t-passw0rd", "/home/ada",
        "/srv/private",
        "My Diary", "bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "0123456789abcdef0123456789abcdef", "+49 170 1234567",
        "dGhpcyBpcyBhIHNlY3JldCBrZXkx", "Holiday with Eve.jpg", "mueller", "192.168.7.20",
    ]

    private func sources() throws -> BundleSources {
        let facts = DoctorFacts.sound.folder("/srv/private", .absent)
        var recorder = Fixtures.recorder
        (recorder.id, recorder.name, recorder.ownName) = ("CR1-0042", "Küche", "Ada Lovelace's recorder")
        recorder.address = "C0:FF:EE:00:00:42"
        recorder.lastError = "REC 0001 about Bob.wav could not be read from C0:FF:EE:00:00:42"
        var status = Fixtures.status
        status.account.name = "adalove"
        status.account.action = "Bearer eyJhbGciOiJIUzI1NiJ9.x.y"
        status.recorders = [recorder]
        status.transfers = Fixtures.transfers.map {
            var transfer = $0
            transfer.name = "REC 0001 about Bob.wav"
            transfer.session = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"
            return transfer
        }
        status.health = [
            HealthItem(
                code: "x", severity: "warning", text: "Küche: battery at 9 %", hint: "mail ada@example.com")
        ]
        var storage = Fixtures.storage
        storage.misfit = "My Diary is too large"
        storage.refused = [
            RefusedFileDocument(
                path: "/srv/private/My Diary.pages", reason: "My Diary.pages is no sound", since: Fixtures.now
            )
        ]
        let cloud = CloudStatusDocument(
            time: Fixtures.now, host: "api.example.com", state: "unwell",
            message: "no such user +49 170 1234567",
            account: status.account)
        let settings = [
            ConfigurationSetting(
                section: "Cloud", name: "Identifier", value: "+49 170 1234567", origin: "/home/ada/c.conf:3",
                isPrivate: true),
            ConfigurationSetting(
                section: "Import", name: "WatchedFolder", value: "/srv/private", origin: "CELESTIAD_X",
                isPrivate: true),
            ConfigurationSetting(
                section: "Cloud", name: "PinnedPublicKey", value: "sha256//dGhpcyBpcyBhIHNlY3JldCBrZXkx",
                origin: "CELESTIAD_Y", isPrivate: false),
            ConfigurationSetting(
                section: "Cloud", name: "URL", value: "https://cloud.mueller.example:8443/api",
                origin: "/etc/c.conf:2", isPrivate: true),
            ConfigurationSetting(
                section: "MQTT", name: "Host", value: "nas.mueller.example", origin: "/etc/c.conf:3",
                isPrivate: true),
        ]
        let lines = [
            "watched folder: Holiday with Eve.jpg is not taken", "recorder CR1-0042: connected",
            "password: s3cr3t-passw0rd", "org.bluez at /org/bluez/hci0/dev_C0_FF_EE_00_00_42 is gone",
            "session 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed: sha256 0123456789abcdef0123456789abcdef",
            "no connection to cloud.mueller.example:8443 (192.168.7.20)",
            "nas.mueller.example is not reached",
            "cannot read \"/home/ada/notes\": Permission denied", "Authorization: Bearer s3cr3t-passw0rd",
        ]
        return BundleSources(
            doctor: DoctorDocument(time: Fixtures.now, version: "1", findings: DoctorRules.findings(facts)),
            user: "ada",
            daemon: DaemonFacts(status: .success(status), storage: .success(storage), cloud: .success(cloud)),
            settings: .found(settings), versions: BundleVersions(program: "0.1.0", kernel: "Linux 6.12"),
            journal: .found(lines.map { JournalLine(time: Fixtures.now, priority: 6, message: $0) }))
    }

    @Test func nothingOfAPersonIsInABundle() throws {
        let files = DoctorBundle.files(try sources(), redacts: true)
        let text = String(
            decoding: try #require(DoctorBundle.archive(files, time: Fixtures.now, isCompressed: false)),
            as: UTF8.self)
        for secret in Self.secrets { #expect(!text.contains(secret), "\(secret)") }
        // What helps is still there, and the same thing is called the same everywhere.
        for needed in [
            "<address-2> is gone", "recorder <recorder-1>: connected", "\"id\" : \"<recorder-1>\"",
            "<recorder-1>: battery at 9 %",
            "watched folder: <file> is not taken", "session 1b9d6bcd…: sha256 01234567…",
            "[Cloud] Identifier=<Identifier>",
            "password: <secret>", "Authorization: Bearer <secret>", "Permission denied",
            "\"name\" : \"hci0\"",
        ] {
            let found = files.contains { $0.text.contains(needed) }
            #expect(found, "\(needed)\n\(files.map(\.text).joined())")
        }
        #expect(
            files.map(\.name) == [
                "README", "doctor.json", "versions.json", "status.json", "storage.json", "cloud.json",
                "configuration", "journal",
            ])
        for file in files where file.name.hasSuffix(".json") {
            #expect((try? JSONSerialization.jsonObject(with: Data(file.text.utf8))) != nil, "\(file.name)")
        }
    }

    /// The log of a daemon that does not answer any more names recorders that nobody else tells.
    @Test func theLogOfASilentDaemonNamesNoRecorder() throws {
        var sources = try sources()
        let silent = ControlError(.notRunning, "celestiad is not running")
        sources.daemon = DaemonFacts(
            status: .failure(silent), storage: .failure(silent), cloud: .failure(silent))
        let text = DoctorBundle.files(sources, redacts: true).map(\.text).joined()
        #expect(!text.contains("CR1-0042") && text.contains("recorder <recorder-1>: connected"))
    }

    @Test func everythingIsInItOnRequest() throws {
        let files = DoctorBundle.files(try sources(), redacts: false)
        let text = files.map(\.text).joined()
        for told in [
            "ada@example.com", "CR1-0042", "C0:FF:EE:00:00:42", "/srv/private", "about Bob",
            "NOTHING WAS TAKEN OUT",
        ] {
            #expect(text.contains(told), "\(told)")
        }
    }

    @Test(
        arguments: [
            ("all is well", "all is well"), ("mail a.b@c.de, now", "mail <e-mail>, now"),
            (
                "C0:FF:EE:00:00:42 and 00:11:22:33:44:55 and C0:FF:EE:00:00:42",
                "<address-1> and <address-2> and <address-1>"
            ),
            ("dev_C0_FF_EE_00_00_42/service0010", "dev_<address-1>/service0010"),
            ("/var/lib/celestiad/queue.db", "/var/lib/celestiad/queue.db"), ("in /mnt/card/x", "in <path>"),
            ("a: b.WAV: c", "a: <file>: c"), ("\"one two.jpeg\" is no", "\"<file>\" is no"),
            ("celestiad.conf:3: wrong", "celestiad.conf:3: wrong"),
            ("life.ccdw.Celestia1.Manager", "life.ccdw.Celestia1.Manager"),
            ("x.wavelength", "x.wavelength"), ("token: abc", "token: <secret>"), ("", ""), ("AB", "AB"),
            ("192.168.7.20:1883 and 10.0.0.1: x", "<ip>:1883 and <ip>: x"),
            ("[fd00::17]:443, fe80::1", "[<ip>]:443, <ip>"),
            ("127.0.0.1:80 [::1]:80 5.66.1", "127.0.0.1:80 [::1]:80 5.66.1"),
            ("key QWxhZGRpbjpvcGVuIHNlc2FtZTEy", "key <token>"), ("12:34:56", "12:34:56"),
            ("the cloud answered 507", "the cloud answered 507"), ("“Bob and I.m4a”", "“<file>”"),
        ])
    func textIsRedacted(_ text: String, _ expected: String) {
        var redactor = Redactor()
        #expect(redactor.text(text) == expected)
    }

    @Test func aShortNameIsTakenWhereItStandsAlone() {
        var redactor = Redactor()
        redactor.know("R1", as: "<name>")
        redactor.know("", as: "<nothing>")
        redactor.know("  ", as: "<nothing>")
        #expect(redactor.text("R1: CR12 R1 R1's xR1") == "<name>: CR12 <name> <name>'s xR1")
    }

    @Test func theFileIsNewAndItsOwnersOnly() async throws {
        try await Harness.with { harness in
            let folder = TemporaryDirectory()
            let environment = ["CELESTIAD_CLOUD_URL": "http://127.0.0.1:9/v1"]
            for (name, magic) in [("a.tar.gz", [0x1F, 0x8B]), ("b.tar", Array("ce".utf8))]
                as [(String, [UInt8])]
            {
                let path = folder.path + "/" + name
                let result = await harness.run(["doctor", "--bundle", path], environment: environment)
                #expect(result.code == .success || result.code == .unhealthy, "\(result)")
                #expect(result.errors.contains("look at it before you send it"))
                let data = try Data(contentsOf: URL(filePath: path))
                #expect(data.starts(with: magic))
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                #expect(attributes[.posixPermissions] as? Int == 0o600)
                let again = await harness.run(["doctor", "--bundle", path], environment: environment)
                #expect(again.code == .failure)
                #expect(again.errors.contains("name another file"))
                #expect(try Data(contentsOf: URL(filePath: path)) == data)
            }
            let target = folder.path + "/c.tar"
            try FileManager.default.createSymbolicLink(
                atPath: target, withDestinationPath: folder.path + "/elsewhere")
            #expect(
                await harness.run(["doctor", "--bundle", target], environment: environment).code == .failure)
            #expect(await harness.run(["doctor", "--bundle", folder.path + "/d.zip"]).code == .usage)
            #expect(await harness.run(["doctor", "--no-redact"]).code == .usage)
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/elsewhere"))
        }
    }
}
