import Dates
import Foundation
import ObjectTransfer
import TestSupport
import Testing

@testable import Recorder

@Suite struct ManifestTests {
    static let text = """
        {"version":1,"captureId":"0B2C4E1A-7d53-4c41-8b1d-5e0f6d2a9b37","title":"Stand-up \\u00fc",
        "startedAt":"2026-11-30T05:59:00.5+01:00","endedAt":"2026-11-30T06:00:00Z","durationMs":60000,
        "extra":{"deep":[1,2]},"files":[
        {"objectId":"000000000100","kind":"AUDIO","name":"a.opus","mimeType":"audio/ogg","sizeBytes":4294967295,
        "sha256":"ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef0123456789","new":true},
        {"objectId":"0123456789ab","kind":"PHOTO","name":"p.jpg","mimeType":"image/jpeg","sizeBytes":0}],
        "events":[{"id":"11111111-1111-4111-8111-111111111111","relativeTimeMs":5,"type":"VOICE","text":"hi",
        "objectId":"000000000100","voiceStartOffsetMs":1,"voiceEndOffsetMs":2}]}
        """

    private func decode(_ text: String) throws -> Manifest {
        try Manifest(json: Array(text.utf8))
    }

    @Test func decodesAll() throws {
        let manifest = try decode(Self.text)
        #expect(manifest.captureID == "0B2C4E1A-7d53-4c41-8b1d-5e0f6d2a9b37")
        #expect(manifest.title == "Stand-up ü")
        #expect(manifest.startedAt.text == "2026-11-30T05:59:00.5+01:00")
        #expect(manifest.endedAt?.timestamp.secondsSince1970 == 1_796_018_400)
        #expect(manifest.files.map(\.objectID.value) == [0x100, 0x0123_4567_89AB])
        #expect(manifest.files.map(\.sizeBytes) == [.max, 0])
        #expect(manifest.files[0].sha256?.hasPrefix("abcdef") == true)
        #expect(manifest.events.first?.kind == .voice && manifest.events.first?.voiceEndOffsetMs == 2)
        #expect(manifest.problems.isEmpty)
        #expect(try Manifest(json: manifest.json) == manifest)
    }

    static let rejected: [(String, String, String)] = [
        ("not JSON", "{", "["), ("version", "\"version\":1", "\"version\":2"),
        ("no version", "\"version\":1,", ""), ("captureId", "0B2C4E1A-", "0B2C4E1A_"),
        ("captureId path", "0B2C4E1A-7d53-4c41-8b1d-5e0f6d2a9b37", "../../../../../../../../etc/passwd00"),
        ("startedAt", "2026-11-30T05", "2026-11-31T05"), ("negative duration", "60000", "-1"),
        ("fraction", "60000", "1.5"), ("overflow", "60000", "99999999999999999999"),
        ("text for number", "60000", "\"60000\""), ("no files", "\"files\"", "\"Files\""),
    ]

    @Test(arguments: rejected)
    func rejects(name: String, part: String, replacement: String) {
        let text = Self.text.replacingOccurrences(of: part, with: replacement)
        let error = #expect(throws: RecorderError.self) { try decode(text) }
        #expect(error?.code == .malformedManifest)
    }

    static let tolerated: [(String, String, String, Int, Int)] = [
        ("file kind", "\"AUDIO\"", "\"MOVIE\"", 1, 1),
        ("file id", "\"0123456789ab\"", "\"0123456789abc\"", 1, 1),
        ("reserved id", "\"0123456789ab\"", "\"0000000000ff\"", 1, 1),
        ("file size", "4294967295", "4294967296", 1, 1), ("negative size", "4294967295", "-1", 1, 1),
        ("same object twice", "0123456789ab", "000000000100", 1, 1),
        ("digest", "ABCDEF01", "ABCDEFXX", 2, 1), ("media type", "audio/ogg", "audio/ogg\\r\\nX: y", 2, 1),
        ("event type", "\"VOICE\"", "\"DANCE\"", 2, 0), ("event id", "11111111-1111-4111", "x", 2, 0),
        ("event time", "\"relativeTimeMs\":5", "\"relativeTimeMs\":-5", 2, 0),
        ("endedAt", "2026-11-30T06:00:00Z", "now", 2, 1),
    ]

    @Test(arguments: tolerated)
    func namesWhatItLeavesOut(name: String, part: String, with: String, files: Int, events: Int) throws {
        let manifest = try decode(Self.text.replacingOccurrences(of: part, with: with))
        #expect(manifest.files.count == files)
        #expect(manifest.events.count == events)
        #expect(manifest.problems.count == 1)
    }

    @Test func boundsAreChecked() {
        let large = [UInt8](repeating: 0x20, count: RecorderProfile.maximumManifestBytes + 1)
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: RecorderError.self) { try Manifest(json: large) }
        #expect(throws: RecorderError.self) { try decode(deep) }
        #expect(throws: RecorderError.self) { try Manifest(json: []) }
        #expect(throws: RecorderError.self) { try Manifest(json: [0xFF, 0xFE, 0x00]) }
    }

    @Test(arguments: 0..<40)
    func noBytesTrapTheDecoder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            var bytes = Array(Self.text.utf8)
            for _ in 0..<Int.random(in: 1...5, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = random.bytes(1)[0]
            }
            bytes.removeLast(Int.random(in: 0...3, using: &random))
            if let manifest = try? Manifest(json: bytes) {
                #expect(manifest.files.count <= 2)
            }
        }
    }
}
