import Control
import Foundation
import Testing

@testable import CaptureQueue
@testable import celestiad

/// What the cloud cannot be told is in the session's document, and so in every export.
@Suite struct ProvenanceDocumentTests {
    @Test func everyFieldIsInTheDocument() throws {
        let origin = OriginDocument(
            originDeviceId: "hub", deviceName: "EOS", deviceModel: "R5", appSurface: "watched_folder",
            sourcePathHint: "/media/card/1.jpg", imageProvenance: ["photographer": "Ada"],
            captureStartedAt: "2026-11-30T07:00:00+01:00", captureCompletedAt: "2026-11-30T07:10:00+01:00",
            idempotencyScope: "scope", targetLibraryId: "library", parentDocumentId: "folder")
        var session = Fixtures.session
        session.origin = origin
        let json = try DocumentCoding.json(session)
        for text in [
            "\"app_surface\":\"watched_folder\"", "\"capture_started_at\":\"2026-11-30T07:00:00+01:00\"",
            "\"device_model\":\"R5\"", "\"idempotency_scope\":\"scope\"", "\"photographer\":\"Ada\"",
            "\"parent_document_id\":\"folder\"", "\"source_path_hint\":\"/media/card/1.jpg\"",
            "\"target_library_id\":\"library\"",
        ] {
            #expect(json.contains(text), "\(text) in \(json)")
        }
    }

    /// No hint of the queue leaves out whose it is.
    @Test(arguments: HoldReason.allCases) func hintsNameTheSession(_ reason: HoldReason) {
        #expect(!reason.clearedBy(session: "1b9d6bcd").contains("ID"))
        #expect(!reason.clearedBy.contains("ID"))
        if reason.needsUser { #expect(reason.clearedBy(session: "1b9d6bcd").contains("1b9d6bcd")) }
    }

    @Test func everyHoldOfASessionIsInItsReason() throws {
        let id = try #require(SessionID("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"))
        func hold(_ reason: HoldReason, _ detail: String? = nil) -> Hold {
            Hold(reason: reason, since: Fixtures.now, until: nil, requiredBytes: nil, detail: detail)
        }
        #expect(SessionDocument.holdReason([], id) == nil)
        #expect(
            SessionDocument.holdReason([hold(.auth, "expired")], id)
                == "auth: expired; cleared by celestiad login")
        #expect(
            SessionDocument.holdReason([hold(.auth), hold(.otherAccount), hold(.quota)], id)
                == "auth; cleared by celestiad login; it waits for more than that: other account, quota")
    }

    @Test func removedIsNotUploaded() throws {
        var session = Fixtures.session
        session.assets = [
            AssetDocument(
                id: "a", name: "a.wav", kind: "audio", state: "removed", bytes: 1, pulledBytes: 1,
                uploadedBytes: 0)
        ]
        let lines = SessionView(Layout(width: 160, now: Fixtures.now)).lines(session).joined(separator: "\n")
        #expect(lines.contains("removed, not uploaded") && !lines.contains("uploaded, local copy removed"))
    }
}
