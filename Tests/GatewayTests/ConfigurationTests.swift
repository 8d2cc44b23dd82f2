import Foundation
import Gateway
import Recorder
import Testing

@Suite struct ConfigurationTests {
    private struct Files: ConfigurationFiles {
        let texts: [String: String?]

        init(_ texts: [String: String?]) {
            self.texts = texts
        }

        func text(of path: String) throws(GatewayError) -> String? { texts[path] ?? nil }

        func names(in folder: String) throws(GatewayError) -> [String] {
            texts.keys.filter { $0.hasPrefix(folder + "/") }.map { String($0.dropFirst(folder.count + 1)) }
        }
    }

    @Test func dropInsGoBeforeTheFileInTheOrderOfTheirNames() throws {
        let files = Files([
            "/c": "[Recorder]\nDelete=never\nSyncInterval=2min",
            "/c.d/20-b.conf": "[Queue]\nReservedMiB=20",
            "/c.d/10-a.conf": "[Queue]\nReservedMiB=10\nReservedPercent=1",
            "/c.d/30.conf~": "nonsense",
        ])
        let loaded = try Configuration.load(
            path: "/c", environment: ["CELESTIAD_RECORDER_SYNC_INTERVAL": "3min"], files: files)
        #expect(loaded.configuration.reservedMiB == 20)
        #expect(loaded.configuration.reservedPercent == 1)
        #expect(loaded.configuration.deletePolicy == .never)
        #expect(loaded.configuration.syncInterval == .seconds(180))
        let origins = Dictionary(
            uniqueKeysWithValues: loaded.settings.map { ("\($0.section) \($0.name)", $0.origin) })
        #expect(origins["Queue ReservedMiB"] == "/c.d/20-b.conf:2")
        #expect(origins["Queue ReservedPercent"] == "/c.d/10-a.conf:3")
        #expect(origins["Recorder Delete"] == "/c:2")
        #expect(origins["Recorder SyncInterval"] == "CELESTIAD_RECORDER_SYNC_INTERVAL")
        #expect(origins["Upload Parallel"] == .some(nil))
        #expect(loaded.settings.count == ConfigurationKey.all.count)
    }

    @Test func aMistakeInADropInIsFoundThere() {
        let files = Files(["/c": "", "/c.d/x.conf": "[Queue]\n\nReservedMib=1"])
        #expect {
            try Configuration.load(path: "/c", environment: [:], files: files)
        } throws: { error in
            let error = error as? GatewayError
            return error?.message.hasPrefix("/c.d/x.conf:3:") == true
                && error?.hint == "Did you mean [Queue] ReservedMiB?"
        }
    }

    @Test func everyMistakeIsFound() {
        let files = Files([
            "/c": "[Queue]\nReservedMib=1\nnonsense\nReservedMiB=9\n[Recorder]\nDelete=maybe\n",
            "/c.d/a.conf": nil, "/c.d/b.conf": "[Upload]\nParallel=9",
        ])
        let problems = Configuration.problems(
            path: "/c", environment: ["CELESTIAD_UPLOAD_PARALEL": "1"], files: files)
        #expect(
            problems.map { $0.message.split(separator: " ").first } == [
                "/c:3:", "/c:2:", "/c:6:", "/c.d/a.conf", "/c.d/b.conf:2:", "there",
            ])
        #expect(
            Configuration.problems(path: "/none", environment: [:], files: Files([:])).map(\.message) == [
                "the configuration file /none does not exist"
            ])
    }

    private func load(_ text: String?, _ environment: [String: String] = [:]) throws(GatewayError)
        -> Configuration
    {
        try Configuration.load(
            path: nil, environment: environment, files: Files([Configuration.defaultPath: text])
        ).configuration
    }

    @Test func nothingGivesTheDefaults() throws {
        #expect(try load(nil) == Configuration())
    }

    @Test func everyKeyTakesItsOwnDefault() throws {
        let text = ConfigurationKey.all.map { "[\($0.section)]\n\($0.name)=\($0.standard)\n" }.joined()
        #expect(try load(text) == Configuration())
    }

    @Test func theFileIsReadAndTheEnvironmentGoesBeforeIt() throws {
        let text = """
            # a comment
            ; another

            [Cloud]
              URL = https://one.example/v1
            [Recorder]
            Delete=never
            SyncInterval=2min
            """
        var expected = Configuration()
        expected.cloudURL = "https://two.example/v1"
        expected.deletePolicy = .never
        expected.syncInterval = .seconds(120)
        expected.busAddress = "unix:path=/tmp/bus"
        let environment = [
            "CELESTIAD_CLOUD_URL": "https://two.example/v1", "CELESTIAD_BUS": "unix:path=/tmp/bus",
        ]
        #expect(try load(text, environment) == expected)
    }

    @Test func systemdsStateDirectoryCountsUnlessAnotherIsNamed() throws {
        let systemd = ["STATE_DIRECTORY": "/var/lib/one"]
        #expect(try load(nil, systemd).stateDirectory == "/var/lib/one")
        #expect(try load("[General]\nStateDirectory=/var/lib/two", systemd).stateDirectory == "/var/lib/two")
    }

    @Test(arguments: [
        ("[Cloud]\nUrl=https://x/", ":2", "[Cloud] URL"),
        ("[Cloud]\nURL=ftp://x/", ":2", "https"),
        ("Delete=never", ":1", "[Section]"),
        ("[Recorder]\n\nDelete=sometimes", ":3", "after-upload, after-queue or never"),
        ("[Recorder\nDelete=never", ":1", "[Name]"),
        ("[Recorder]\nDelete", ":2", "Key=Value"),
        ("[Queue]\nReservedPercent=91", ":2", "0 to 90"),
        ("[Queue]\nKeepAfterUpload=soon", ":2", "30d"),
        ("[Upload]\nParallel=0", ":2", "1 to 4"),
        ("[General]\nLogLevel=loud", ":2", "debug"),
        ("[Wibble]\nWobble=1", ":2", "The keys are"),
        ("[Cloud]\nURL=http://example.com/api", ":2", "http only to this machine"),
        ("[Cloud]\nURL=https://ada:countess@example.com/", ":2", "an https URL"),
        ("[Cloud]\nURL=https://x/v1?a=b", ":2", "an https URL"),
        ("[Cloud]\nCAFile=/nope", ":2", "certificates in PEM form"),
        ("[Cloud]\nCAFile=/dev/null", ":2", "certificates in PEM form"),
        ("[Cloud]\nCAFile=relative", ":2", "absolute path"),
        ("[Cloud]\nPinnedPublicKey=sha256//abc", ":2", "BASE64"),
        ("[Cloud]\nPinnedPublicKey=\(goodPin);", ":2", "BASE64"),
        ("[Bluetooth]\nAdapter=a:b:c:d:e:f", ":2", "00:1A:7D:DA:71:13"),
        ("[Recorder]\nSyncInterval=0", ":2", "from 1s to 30d"),
        ("[Queue]\nReservedMiB=-1", ":2", "from 0 to 1073741824"),
        ("[Upload]\nRateLimit=1K", ":2", "from 16K"),
        ("[Upload]\nRateLimit=25:00,1M", ":2", "08:00,256K"),
        ("[Upload]\nMetered=perhaps", ":2", "hold or ignore"),
        ("[Upload]\nParallel=1\n[Upload]\nParallel=1", ":4", "Remove one of the two lines"),
    ])
    func whatIsNotUnderstoodIsNamedWithItsPlaceAndWhatIsAllowed(text: String, place: String, allowed: String)
    {
        #expect {
            try load(text)
        } throws: { error in
            let error = error as? GatewayError
            return error?.code == .configuration
                && error?.message.contains("/etc/celestiad/celestiad.conf\(place)") == true
                && error?.hint?.contains(allowed) == true
        }
    }

    private static let goodPin = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    @Test func goodValuesAreTaken() throws {
        let text =
            "\u{FEFF}[Cloud]\nPinnedPublicKey=\(Self.goodPin);\(Self.goodPin)\nURL=http://127.0.0.1:8080/v1"
        #expect(try load(text).cloudPinnedKey == "\(Self.goodPin);\(Self.goodPin)")
    }

    @Test func aPasswordInAnAddressIsNotShown() {
        #expect {
            try load("[Cloud]\nURL=https://ada:countess@example.com/")
        } throws: { error in
            let text = "\(error)"
            return text.contains("…@example.com/") && !text.contains("countess") && !text.contains("ada")
        }
    }

    @Test func aVariableThatIsMisspeltIsNotOverlooked() throws {
        #expect {
            try load(nil, ["CELESTIAD_CLOUD_ULR": "https://x/"])
        } throws: { error in
            let error = error as? GatewayError
            return error?.message.contains("CELESTIAD_CLOUD_ULR") == true
                && error?.hint == "Did you mean CELESTIAD_CLOUD_URL?"
        }
        _ = try load(nil, ["CELESTIAD_PROGRESS_INTERVAL": "1", "CELESTIADX": "y", "PATH": "/"])
    }

    @Test func aNamedFileMustExist() {
        #expect {
            try Configuration.load(path: "/x", environment: [:], files: Files([:]))
        } throws: { ($0 as? GatewayError)?.message.contains("/x") == true }
    }
}

@Suite struct TerminalTests {
    @Test(arguments: [
        ("plain", "plain"), ("größe 🎙", "größe 🎙"), ("a\u{1B}[31mb", "a\u{FFFD}[31mb"),
        ("a\nb", "a\u{FFFD}b"),
        ("a\u{202E}b", "a\u{FFFD}b"), ("a\u{0}b", "a\u{FFFD}b"),
    ])
    func controlCharactersAreReplaced(text: String, shown: String) {
        #expect(Terminal.printable(text) == shown)
    }

    @Test func longTextIsCut() {
        #expect(Terminal.printable(String(repeating: "x", count: 500), limit: 10) == "xxxxxxxxx…")
    }
}

@Suite struct LogTests {
    @Test func repeatsAreCountedAndNotWritten() {
        let lines = Lines()
        let log = Log(level: .info) { _, line in lines.append(line) }
        for _ in 0..<1000 { log.warning("the same") }
        log.debug("not at this level")
        log.info("another")
        let told = ["10", "100", "999"].map { "the same (repeated \($0) times)" }
        #expect(lines.all == ["the same"] + told + ["another"])
    }
}

@Suite struct ConfigurationDocumentTests {
    @Test func everyKeyIsDocumented() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/configuration.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        for key in ConfigurationKey.all {
            let row = "| `\(key.name)` | `\(key.variable)` | \(key.allowed) |"
            #expect(text.contains(row), "\(key.section) \(key.name)")
        }
    }
}
