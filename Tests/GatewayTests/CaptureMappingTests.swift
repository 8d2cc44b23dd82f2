import CaptureQueue
import Foundation
import ObjectTransfer
import Testing

@testable import Gateway
@testable import Recorder

/// What a recorder's manifest becomes.
@Suite struct CaptureMappingTests {
    private static let now = Date(timeIntervalSince1970: 1_796_040_000)  // 2026-11-30T12:00:00Z

    private func registration(startedAt: String, endedAt: String? = nil) throws -> CaptureRegistration {
        let manifest = Manifest(
            captureID: "6f0f3f0e-9d1f-4f55-8f7e-2a4d1c3b5a69", title: "two",
            startedAt: try #require(WrittenTime(startedAt)), endedAt: endedAt.flatMap(WrittenTime.init),
            durationMs: 1000, files: [])
        let object = ObjectMetadata(
            id: try #require(ObjectID(0x100)), name: "manifest", type: RecorderProfile.manifestType,
            currentSize: 10)
        let capture = RecorderCapture(
            origin: .manifest(manifest, object), storageGeneration: 7, assets: [], missing: [])
        let mapping = CaptureMapping(targetHost: "https://api.example/v1", now: Self.now)
        let registration = mapping.registration(of: capture, from: RecorderIdentity(serial: "CEL-1"))
        return try #require(registration)
    }

    /// The recorder's words → the session's start, and whether the provenance says that its clock was not set.
    @Test(arguments: [
        ("2026-11-30T10:00:00Z", "2026-11-30T10:00:00Z", false),
        ("2026-11-30T10:00:00.250+01:00", "2026-11-30T10:00:00.250+01:00", false),
        ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", false),
        ("2019-12-31T23:59:59Z", "2026-11-30T12:00:00Z", true),
        ("2000-01-01T00:03:12Z", "2026-11-30T12:00:00Z", true),
        ("1970-01-01T00:00:00Z", "2026-11-30T12:00:00Z", true),
    ])
    func aClockThatWasNeverSetIsNotBelieved(_ told: String, _ start: String, _ isUnset: Bool) throws {
        let session = try registration(startedAt: told, endedAt: told)
        #expect(session.startedAt.text == start)
        #expect(session.endedAt?.text == start)
        let note = session.provenance.chain.first?["clock"]
        #expect((note?.contains(told) == true) == isUnset)
    }
}
