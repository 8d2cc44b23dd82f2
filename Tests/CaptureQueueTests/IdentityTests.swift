import Testing

@testable import CaptureQueue

@Suite struct IdentityTests {
    static let session = "0b8f4b1e-6f0a-4c56-9f3b-0a1b2c3d4e5f"

    // RFC 9562 appendix A.4.
    @Test func uuid5OfTheStandard() {
        let name = Array("www.example.com".utf8)
        let id = Identity.uuid5(namespace: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", name: name)
        #expect(id == "2ed6657d-e927-568b-95e1-2665a8aea6a2")
    }

    // Computed with Python's uuid.uuid5 over the same netstrings: the cloud knows captures by these.
    @Test func frozenIdentities() throws {
        let asset = Identity.asset(serial: "CR1-000042", storageGeneration: 7, objectID: "0000000001AB")
        let session = try #require(SessionID(Self.session))
        #expect(asset.text == "d8f7a5a9-d645-509c-99bc-af46cab68e0f")
        #expect(Identity.idempotencyScope(session: session) == "cb308688-cd0d-5df4-9476-fb355291dccb")
        #expect(
            Identity.idempotencyKey(session: session, asset: asset, operation: .complete)
                == "d6a17b90-7b1b-5d36-95c7-cccf707c391f")
        #expect(
            Identity.idempotencyKey(session: session, asset: nil, operation: .upsert)
                == "6a83550a-ef90-5dab-80c2-bac7e0af56d3")
        #expect(
            Identity.salvageSession(serial: "CR1-000042", storageGeneration: 7, objectID: "0000000001ab")
                == "c0b1c01a-f854-566f-bd85-aa9d7e9e0987")
        #expect(
            Identity.asset(session: session, sourceKey: "IMG_1.jpg").text
                == "615599eb-b708-59b8-b246-f00bec03ca24")
        #expect(Identity.replacement(of: asset, attempt: 1) == "1c4c163a-96fc-5251-b90e-2fa805211fd3")
    }

    @Test func everyInputMattersAndFieldsDoNotRunTogether() {
        let ids = [
            Identity.asset(serial: "A", storageGeneration: 11, objectID: "1"),
            Identity.asset(serial: "A", storageGeneration: 1, objectID: "11"),
            Identity.asset(serial: "A1", storageGeneration: 1, objectID: "1"),
            Identity.asset(serial: "A", storageGeneration: 1, objectID: "1"),
        ]
        #expect(Set(ids).count == ids.count)
    }

    @Test func keysDifferByOperation() throws {
        let session = try #require(SessionID(Self.session))
        let keys = UploadOperation.allCases.map {
            Identity.idempotencyKey(session: session, asset: nil, operation: $0)
        }
        #expect(Set(keys).count == UploadOperation.allCases.count)
    }

    @Test(arguments: [
        "", "0b8f4b1e6f0a4c569f3b0a1b2c3d4e5f", "../../../../etc/passwd-aaaa-bbbb-cccc",
        "0b8f4b1e-6f0a-4c56-9f3b-0a1b2c3d4e5", "{b8f4b1e-6f0a-4c56-9f3b-0a1b2c3d4e5f",
        "0b8f4b1e-6f0a-4c56-9f3b-0a1b2c3d4e5/",
    ])
    func onlyUUIDsAreIdentities(_ text: String) {
        #expect(SessionID(text) == nil)
        #expect(AssetID(text) == nil)
    }

    // FIPS 180-4 examples.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func sha256(_ text: String, _ hex: String) {
        #expect(SHA256.digest(of: Array(text.utf8)).hex == hex)
        #expect(SHA256Digest(hex: hex.uppercased())?.hex == hex)
    }

    @Test func hashingGoesOnAfterADigest() {
        let hasher = SHA256()
        Array("a".utf8).withUnsafeBytes(hasher.update)
        _ = hasher.digest()
        Array("bc".utf8).withUnsafeBytes(hasher.update)
        #expect(hasher.digest() == SHA256.digest(of: Array("abc".utf8)))
    }
}

@Suite struct WireNameTests {
    static let asset = Identity.asset(serial: "A", storageGeneration: 1, objectID: "1")

    @Test(arguments: [
        ("voice.wav", "voice.wav"), ("../../etc/passwd", "etcpasswd"), ("a\"b\\c/d.wav", "abcd.wav"),
        ("  .hidden. ", "hidden"), ("tab\tnul\u{0}cr\r.jpg", "tabnulcr.jpg"), ("日記 1.m4a", "日記 1.m4a"),
        ("\u{202E}gpj.exe", "gpj.exe"),
    ])
    func names(_ original: String, _ wire: String) {
        #expect(WireName.from(original, asset: Self.asset) == wire)
    }

    @Test(arguments: ["", "///", "..", "\u{0}\u{1}"])
    func nothingLeftFallsBackToTheIdentity(_ original: String) {
        #expect(WireName.from(original, asset: Self.asset) == Self.asset.text)
    }

    @Test func longNamesAreCutBetweenScalarsBeforeTheExtension() {
        let name = WireName.from(String(repeating: "😀", count: 120) + ".jpeg", asset: Self.asset)
        #expect(name.utf8.count <= 200)
        #expect(name.hasSuffix("😀.jpeg"))
    }
}
