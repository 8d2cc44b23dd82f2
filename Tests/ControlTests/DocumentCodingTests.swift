import DBus
import Foundation
import Testing

@testable import Control

@Suite struct DocumentCodingTests {
    @Test func documentsComeBackAsTheyWere() throws {
        let status: StatusDocument = try DocumentCoding.document(
            from: try DocumentCoding.value(Fixtures.status))
        #expect(status == Fixtures.status)
        let session: SessionDocument = try DocumentCoding.document(
            from: try DocumentCoding.value(Fixtures.session))
        #expect(session == Fixtures.session)
        let job = JobDocument(
            id: "/x", kind: "pair", state: "failed",
            prompt: PromptDocument(serial: 1, kind: "confirm", passkey: "000042"),
            found: [Fixtures.scanResult], error: ErrorDocument(code: "Failed", message: "m"),
            startedAt: Fixtures.now)
        let copy: JobDocument = try DocumentCoding.document(from: try DocumentCoding.value(job))
        #expect(copy == job)
    }

    @Test func theBusFormIsNative() throws {
        let value = try #require(try DocumentCoding.value(Fixtures.status).asProperties)
        #expect(value["schema_version"] == .int64(1))
        #expect(value["time"] == .string("2026-11-30T12:00:00Z"))
        #expect(value["recorders"]?.type?.signature == "aa{sv}")
        let recorder = value["recorders"]?.asArray?.first?.asProperties
        #expect(recorder?["recording"] == .boolean(false))
        #expect(recorder?["last_error"] == nil)
        #expect(recorder?["storage"]?.asProperties?["free_bytes"] == .int64(12_884_901_888))
    }

    @Test func jsonIsSortedAndInSnakeCase() throws {
        let json = try DocumentCoding.json(Fixtures.recorder.battery)
        #expect(json == #"{"measured_at":"2026-11-30T11:58:00Z","percent":81}"#)
    }

    @Test(arguments: [
        (DBusValue.properties([:]), "version is missing"),
        (.properties(["version": .int64(1)]), "version is not as it should be"),
        (.properties(["version": .structure([.byte(1)])]), "a type that no document has"),
        (.string("x"), "is not as it should be"),
        (.properties(["version": .double(1.5)]), "a type that no document has"),
    ])
    func whatIsNoDocumentIsAnError(_ value: DBusValue, _ message: String) {
        #expect {
            let _: VersionDocument = try DocumentCoding.document(from: value)
        } throws: { ($0 as? ControlError)?.message.contains(message) == true }
    }

    @Test func unknownKeysAreIgnoredAndNULIsReplaced() throws {
        let value = DBusValue.properties([
            "version": .string("1"), "api_version": .uint32(7), "news": .array(of: .variant, []),
        ])
        let version: VersionDocument = try DocumentCoding.document(from: value)
        #expect(version == VersionDocument(version: "1", apiVersion: 7))
        #expect(try DocumentCoding.value(["a": "x\0y"]).asProperties?["a"] == .string("x\u{FFFD}y"))
    }

    @Test(arguments: [
        (1_780_000_000, "2026-05-28T20:26:40Z"), (1_780_000_000.25, "2026-05-28T20:26:40.250Z"),
    ])
    func timesKeepTheirMilliseconds(_ seconds: Double, _ text: String) throws {
        var status = Fixtures.status
        status.time = Date(timeIntervalSince1970: seconds)
        #expect(try DocumentCoding.json(status).contains("\"time\":\"\(text)\""))
        let read: StatusDocument = try DocumentCoding.document(from: try DocumentCoding.value(status))
        #expect(read.time == status.time)
    }
}
