import Dates
import Foundation
import Testing

@testable import Cloud
@testable import HTTP

@Suite struct DecodingTests {
    private static let digest = String(repeating: "aB", count: 32)

    private func envelope(_ data: String) -> Envelope? {
        Envelope(Array("{\"code\":0,\"message\":\"ok\",\"data\":\(data)}".utf8))
    }

    private func asset(_ more: String = "") -> String {
        """
        {"id":"a1","clientId":"c1","kind":"AUDIO","fileName":"f","mimeType":"m","sizeBytes":5,
         "sha256":"\(Self.digest)"\(more)}
        """
    }

    @Test(arguments: ["", "<html>", "[]", "{}", "{\"code\":\"0\"}", "{\"code\":1.5}", "{\"code\":0", "\u{0}"])
    func otherTextsAreNoEnvelope(text: String) {
        #expect(Envelope(Array(text.utf8)) == nil)
    }

    @Test(arguments: [
        "{\"code\":404,\"message\":null}", "{\"code\":404,\"data\":\"text\"}",
        "{\"code\":404,\"data\":[1],\"x\":{}}",
        "{\"code\":404,\"message\":7}",
    ])
    func anErrorsEnvelopeIsReadWhateverItsDataIs(text: String) {
        #expect(Envelope(Array(text.utf8))?.code == 404)
    }

    @Test func theServersWordsAreCleanedAndShortened() {
        let long = String(repeating: "x", count: 1000)
        let envelope = Envelope(Array("{\"code\":1,\"message\":\"a\\u001b[31m\\n\\u202e\(long)\"}".utf8))
        #expect(envelope?.message.hasPrefix("a [31m  x") == true)
        #expect(envelope?.message.count == 300)
    }

    @Test func anUploadsAnswerIsReadInBothShapes() throws {
        let full = try #require(
            envelope("{\"asset\":\(asset()),\"sessionRevision\":9}")?.data(AssetReceipt.self))
        #expect(full.sessionRevision == 9)
        #expect(full.asset.holds(sizeBytes: 5, sha256: Self.digest.uppercased()))
        #expect(!full.asset.holds(sizeBytes: 6, sha256: Self.digest))
        let bare = try #require(envelope(asset())?.data(AssetReceipt.self))
        #expect(bare.sessionRevision == nil)
        #expect(bare.asset == full.asset)
        let half = envelope("{\"asset\":\(asset())}")?.data(AssetReceipt.self)
        #expect(half?.sessionRevision == nil && half?.asset == full.asset)
    }

    @Test(arguments: [
        "\"sha256\":\"zz\"", "\"sha256\":null", "\"sizeBytes\":null", "\"sizeBytes\":5.5", "\"id\":null",
    ])
    func anAssetWithoutWhatProvesItIsNone(field: String) {
        #expect(envelope(asset(",\(field)").replacingFirst(field))?.data(AssetReceipt.self) == nil)
    }

    /// However the answer is cut on its way.
    @Test(arguments: [1, 7, 4096]) func oneUnreadableSessionDoesNotCostTheOthers(_ piece: Int) throws {
        let list = try #require(
            sessions(
                """
                [{"id":"s1","clientId":null,"title":"t","startTime":"2026-01-01T00:00:00Z","durationMs":1,"revision":1,
                  "events":[{"id":"e1","clientId":null,"relativeTimeMs":5,"eventType":"HOLOGRAM"}, 7, {"id":"e2"}],
                  "assets":[\(asset()), {"id":"broken"}], "unknown":{"a":[1]}},
                 {"id":"s2"}, null, "x",
                 {"id":"s3","clientId":"k3","title":null,"startTime":"soon","endTime":null,"durationMs":null,
                  "revision":9223372036854775807,"deletedAt":"once"}]
                """, pieces: piece))
        #expect(list.sessions.map(\.id) == ["s1", "s3"])
        #expect(list.unreadableCount == 3)
        let first = list.sessions[0]
        #expect(first.events.map(\.eventType.rawValue) == ["HOLOGRAM"])
        #expect(first.assets.count == 1)
        #expect(first.unreadableCount == 3)
        #expect(list.sessions[1].deletedAt != nil, "an unreadable deletion is a deletion")
        #expect(list.sessions[1].revision == .max)
        #expect(list.findAsset(clientId: "c1")?.session.id == "s1")
        #expect(list.session(clientId: "k3")?.id == "s3")
    }

    /// The answer with this data, read as it comes in pieces of so many bytes.
    private func sessions(_ data: String, pieces: Int) -> SessionList? {
        let reader = SessionListReader { _ in true }
        feed("{\"code\":0,\"data\":\(data),\"message\":\"]\\\"data\"}", in: pieces) { reader.feed($0) }
        #expect(Envelope(reader.head)?.message == "]\"data")
        return reader.list
    }

    private func feed(_ text: String, in pieces: Int, _ take: (UnsafeRawBufferPointer) -> Void) {
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            bytes[start..<min(bytes.count, start + pieces)].withUnsafeBytes(take)
        }
    }

    /// Answer → its elements, what is left of it, and whether it has a list.
    @Test(
        arguments: [
            (#"{"code":0,"data":[]}"#, [], #"{"code":0,"data":[]}"#, true),
            (
                #"{"data" : [ 1 ,"a,]\"" , [[2],{}] ],"code":0}"#, ["1 ", #""a,]\"" "#, "[[2],{}] "],
                #"{"data" : [],"code":0}"#, true
            ),
            (#"{"code":0,"data":null}"#, [], #"{"code":0,"data":null}"#, false),
            (#"{"code":0,"data":{"data":[1]}}"#, [], #"{"code":0,"data":{"data":[1]}}"#, false),
            (#"{"code":0,"message":"data","x":[1]}"#, [], #"{"code":0,"message":"data","x":[1]}"#, false),
            (#"{"da\"ta":[1],"data":[2]}"#, ["2"], #"{"da\"ta":[1],"data":[]}"#, true),
            (#"[{"data":[1]}]"#, [], #"[{"data":[1]}]"#, false),
            (#"{"data":[{"a":"long"},3]}"#, ["3"], #"{"data":[]}"#, true),
            (#"{"data":[{"#, [], #"{"data":["#, true), ("]]}}\"", [], "]]}}\"", false), ("", [], "", false),
            ("<html>", [], "<html>", false),
        ] as [(String, [String], String, Bool)])
    func aListIsCutIntoItsElements(_ answer: String, _ elements: [String], _ head: String, _ hasList: Bool) {
        for pieces in [1, 3, 100] {
            var scanner = SessionListScanner(elementLimit: 9)
            var found: [String] = []
            feed(answer, in: pieces) {
                scanner.feed($0) { found.append(String(decoding: $0, as: UTF8.self)) }
            }
            #expect(found == elements)
            #expect(String(decoding: scanner.head, as: UTF8.self) == head)
            #expect(scanner.hasList == hasList)
            #expect(scanner.oversizedCount == (answer.contains("long") ? 1 : 0))
        }
    }

    @Test(arguments: ["9223372036854775808", "1.5", "\"1\"", "null", "-1e400"])
    func aRevisionThatIsNoInt64IsNone(number: String) {
        let session = "{\"id\":\"s\",\"title\":\"\",\"durationMs\":0,\"revision\":\(number)}"
        #expect(envelope(session)?.data(RemoteSession.self) == nil)
    }

    @Test func aGrantNeedsItsTokensAndNothingElse() {
        let grant = envelope("{\"token\":\"a\",\"refreshToken\":\"b\",\"expiresAt\":\"?\",\"user\":7}")?
            .data(AuthGrant.self)
        #expect(grant == AuthGrant(user: nil, token: Secret("a"), refreshToken: Secret("b"), expiresAt: nil))
        for text in [
            "{\"token\":\"a\"}", "{\"token\":\"\",\"refreshToken\":\"b\"}",
            "{\"token\":\"a b\",\"refreshToken\":\"b\"}",
        ] {
            #expect(envelope(text)?.data(AuthGrant.self) == nil)
        }
    }

    // MARK: What is sent

    private func json(_ value: some Encodable) throws -> String {
        let request = try HTTPRequest(.post, HTTPURL("https://h/")).json(value)
        guard case .bytes(let bytes, _) = request.body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func anUpsertSendsItsArraysAndLeavesOutWhatIsUnknown() throws {
        let start = Timestamp(millisecondsSince1970: 0)
        let upsert = SessionUpsert(
            clientId: "k", title: "a/b", startTime: start, durationMs: -5,
            events: [EventUpsert(clientId: "e", relativeTimeMs: 3, eventType: .note)],
            deletedEventClientIds: ["e", "f"])
        #expect(
            try json(upsert) == """
                {"clientId":"k","deletedEventClientIds":["f"],"durationMs":0,"events":[{"clientId":"e",\
                "eventType":"NOTE","relativeTimeMs":3}],"startTime":"1970-01-01T00:00:00.000Z","title":"a/b"}
                """)
    }

    @Test func unusableTelemetryIsLeftOut() throws {
        #expect(
            try json(DeviceUpdate(batteryLevel: 255, isConnected: true, freeStorageMB: -1))
                == "{\"isConnected\":true}")
        #expect(
            try json(DeviceBinding(name: "n", peripheralUUID: "u", batteryLevel: 0))
                == "{\"batteryLevel\":0,\"name\":\"n\",\"peripheralUUID\":\"u\"}")
    }

    @Test func anUpsertRecognisesItselfInTheServersSession() throws {
        let upsert = SessionUpsert(
            clientId: "k", title: "t", startTime: Timestamp(millisecondsSince1970: 1_767_225_600_400),
            durationMs: 9,
            events: [EventUpsert(clientId: "e", relativeTimeMs: 3, eventType: .voice, voiceOffsetsMs: 1...2)])
        func remote(_ title: String, _ offset: Int) throws -> RemoteSession {
            try #require(
                envelope(
                    """
                    {"id":"s","clientId":"k","title":"\(title)","startTime":"2026-01-01T00:00:00Z","endTime":null,
                     "durationMs":9,"revision":1,"events":[{"id":"e1","clientId":"e","relativeTimeMs":3,
                     "eventType":"VOICE","voiceStartOffsetMs":\(offset),"voiceEndOffsetMs":2}]}
                    """)?.data(RemoteSession.self))
        }
        #expect(upsert.matches(try remote("t", 1)))
        #expect(!upsert.matches(try remote("u", 1)))
        #expect(!upsert.matches(try remote("t", 0)))
    }
}

extension String {
    /// The same JSON object in which an appended field takes the place of its earlier namesake.
    fileprivate func replacingFirst(_ field: String) -> String {
        let name = String(field.prefix { $0 != ":" })
        guard let range = range(of: name),
            let end = self[range.upperBound...].firstIndex(where: { ",}".contains($0) })
        else { return self }
        let rest = self[end...].drop { $0 == "," }
        return String(self[..<range.lowerBound]) + rest
    }
}
