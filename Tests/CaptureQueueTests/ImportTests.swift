import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// Files that come from elsewhere than a recorder.
@Suite struct ImportTests {
    static func file(_ name: String = "IMG_1.JPG") -> ImportedFile {
        ImportedFile(
            sourceKind: .dslrImport, name: name, pathHint: "/media/card/\(name)", kind: .photo,
            mimeType: "image/jpeg", modified: QueueFixture.start, modifiedText: "2027-01-15T08:00:00Z",
            surface: "celestiad_import", targetHost: QueueFixture.host, step: ["step": "copied from a card"])
    }

    static func take(_ bytes: [UInt8], _ queue: CaptureQueue, _ file: ImportedFile = file()) async throws
        -> ImportOutcome
    {
        let number = try await queue.beginImport(size: Int64(bytes.count))
        try await queue.append(Array(bytes.prefix(1000)), toImport: number)
        try await queue.append(Array(bytes.dropFirst(1000)), toImport: number)
        return try await queue.finishImport(number, file)
    }

    @Test func aFileBecomesASessionWithItsProvenance() async throws {
        let fixture = try await QueueFixture()
        let outcome = try await Self.take(Sample.bytes(2500), fixture.queue)
        #expect(outcome.isNew)
        let after = try await QueueFixture(try fixture.snapshot())
        let detail = try #require(try await after.queue.session(outcome.session))
        let session = detail.summary.session
        #expect(session.state == .queuedOffline && session.sourceKind == .dslrImport)
        #expect(session.targetHost == QueueFixture.host && session.title == "IMG_1.JPG")
        #expect(try await after.queue.hubID() == session.originDeviceID)
        #expect(session.provenance.sourcePathHint == "/media/card/IMG_1.JPG")
        #expect(session.provenance.image == ["capture_date": "2027-01-15T08:00:00Z"])
        #expect(detail.provenanceChain == [["step": "copied from a card"]])
        #expect(detail.assets.map(\.sha256) == [SHA256.digest(of: Sample.bytes(2500))])
        _ = try await after.queue.openForUpload(detail.assets[0].id, verifying: true)
    }

    @Test func theSameContentIsTakenOnce() async throws {
        let fixture = try await QueueFixture()
        let first = try await Self.take(Sample.bytes(2500), fixture.queue)
        let again = try await Self.take(Sample.bytes(2500), fixture.queue, Self.file("copy.jpg"))
        #expect(again == ImportOutcome(session: first.session, isNew: false))
        let recorded = try await fixture.stored(Sample.id(3), sizes: [3000])
        #expect(try await Self.take(Sample.bytes(3000), fixture.queue).session == recorded)
        let digest = SHA256.digest(of: Sample.bytes(2500))
        #expect(try await fixture.queue.session(content: digest, size: 2500) == first.session)
        #expect(try await fixture.queue.session(content: digest, size: 2499) == nil)
        #expect(try await fixture.queue.counts().sessions == [.queuedOffline: 2])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.state + "/spool").allSatisfy {
                !$0.hasPrefix(".")
            })
    }

    /// Whoever offers a file again that he discarded before wants it now; it is another session.
    @Test func aDiscardedFileCanBeImportedAgain() async throws {
        let fixture = try await QueueFixture()
        let first = try await Self.take(Sample.bytes(2500), fixture.queue).session
        try await fixture.queue.cancel(first)
        let second = try await Self.take(Sample.bytes(2500), fixture.queue)
        #expect(second.isNew && second.session != first)
        #expect(try await fixture.state(of: first) == .cancelled)
        #expect(try await Self.take(Sample.bytes(2500), fixture.queue).session == second.session)
    }

    @Test func aFileThatChangesWhileItIsReadIsNotTaken() async throws {
        let fixture = try await QueueFixture()
        let number = try await fixture.queue.beginImport(size: 10)
        try await fixture.queue.append(Sample.bytes(9), toImport: number)
        #expect(await code { _ = try await fixture.queue.finishImport(number, Self.file()) } == .sizeMismatch)
        #expect(
            await code { try await fixture.queue.append(Sample.bytes(2), toImport: number) } == .sizeMismatch)
        await fixture.queue.abandonImport(number)
        await fixture.queue.abandonImport(number)
        #expect(await code { _ = try await fixture.queue.finishImport(number, Self.file()) } == .notFound)
        #expect(await code { _ = try await fixture.queue.beginImport(size: 0) } == .invalidInput)
        #expect(try await fixture.queue.counts().sessions.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.state + "/spool").isEmpty)
    }

    @Test func aKillLeavesTheFileWholeOrNotAtAll() async throws {
        let fixture = try await QueueFixture()
        let number = try await fixture.queue.beginImport(size: 2500)
        try await fixture.queue.append(Sample.bytes(2500), toImport: number)
        let early = try await QueueFixture(try fixture.snapshot())
        #expect(try await early.queue.counts().sessions.isEmpty)
        #expect(early.report.foreign.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: early.state + "/spool").isEmpty)
        // Between the rename and the COMMIT.
        let before = try fixture.snapshot()
        let session = try await fixture.queue.finishImport(number, Self.file()).session
        let late = try await QueueFixture(try fixture.snapshot(databaseOf: before))
        #expect(late.report.adoptedSessions == [session])
        #expect(try await late.state(of: session) == .queuedOffline)
        #expect(try await Self.take(Sample.bytes(2500), late.queue).isNew == false)
    }

    @Test func aTakenFileIsKnownUntilItChanges() async throws {
        let fixture = try await QueueFixture()
        var file = TakenFile(path: "/srv/in/a.wav", size: 5, modified: 7, inode: 9)
        #expect(try await !fixture.queue.isTaken(file))
        try await fixture.queue.noteTaken(file, session: nil, refusal: "no sound")
        #expect(try await fixture.queue.isTaken(file))
        file.modified = 8
        #expect(try await !fixture.queue.isTaken(file))
        let session = try await Self.take(Sample.bytes(2500), fixture.queue).session
        try await fixture.queue.noteTaken(file, session: session)
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(try await after.queue.isTaken(file))
        // Its session has lost it: it is wanted again.
        try flip(after.path(session, try #require(try await after.asset(of: session)).text))
        _ = await code { _ = try await after.openFirst(session) }
        #expect(try await !after.queue.isTaken(file))
        // No session, no file.
        try await after.queue.noteTaken(file, session: SessionID(Sample.captureID))
        #expect(try await !after.queue.isTaken(file))
    }

    @Test func refusalsAreListedUntilTheFileIsGone() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        for (path, refusal) in [
            ("/srv/in/a.wav", "it is empty"), ("/srv/in/b/c.wav", "it is a pipe"), ("/srv/into.wav", "x"),
        ] {
            try await queue.noteTaken(
                TakenFile(path: path, size: 1, modified: 1, inode: 1), session: nil, refusal: refusal)
            fixture.advance(1)
        }
        #expect(try await queue.refusedFiles().map(\.refusal) == ["x", "it is a pipe", "it is empty"])
        #expect(try await queue.storageReport().troubles.refusedFiles == 3)
        try await queue.forgetTaken(below: "/srv/in", but: ["/srv/in/a.wav"])
        #expect(try await queue.refusedFiles().map(\.path) == ["/srv/into.wav", "/srv/in/a.wav"])
        #expect(try await queue.troubles().lastRefusal?.refusal == "x")
    }
}
