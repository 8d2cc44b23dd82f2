import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

@Suite struct ReconcileTests {
    @Test func aFileWithoutItsCommitIsAdopted() async throws {
        let fixture = try await QueueFixture()
        let asset = try await fixture.register().added[0]
        _ = try await fixture.queue.beginPull(asset)
        _ = try await fixture.queue.append(Sample.bytes(2500), to: asset, at: 0)
        let before = try fixture.snapshot()
        _ = try await fixture.queue.finishPull(asset, crc32: 5)
        let after = try await QueueFixture(try fixture.snapshot(databaseOf: before))
        #expect(after.report.adoptedAssets == [asset])
        let record = try #require(try await after.queue.asset(asset))
        #expect(record.pullState == .stored && record.crc32 == 5)
        #expect(record.sha256 == SHA256.digest(of: Sample.bytes(2500)))
        #expect(try await after.state(of: record.sessionID) == .queuedOffline)
    }

    @Test func aFileThatIsNotWhatItsSidecarSaysIsPulledAgain() async throws {
        let fixture = try await QueueFixture()
        let asset = try await fixture.register().added[0]
        let before = try fixture.snapshot()
        _ = try await fixture.queue.beginPull(asset)
        _ = try await fixture.queue.append(Sample.bytes(2500), to: asset, at: 0)
        _ = try await fixture.queue.finishPull(asset)
        let session = try #require(try await fixture.queue.asset(asset)).sessionID
        try flip(fixture.path(session, asset.text))
        let after = try await QueueFixture(try fixture.snapshot(databaseOf: before))
        #expect(after.report.adoptedAssets.isEmpty)
        #expect(try await after.queue.asset(asset)?.pullState == .wanted)
        #expect(after.exists(session, "\(asset).damaged-1"))
        #expect(try await after.queue.beginPull(asset) == 0)
    }

    @Test func aLostDatabaseIsRebuiltFromTheSpool() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored(sizes: [2500, 40])
        let draft = try await fixture.register(Sample.id(2)).sessionID
        let before = try #require(try await fixture.queue.session(session))
        let copy = try fixture.snapshot()
        for name in ["queue.db", "queue.db-wal"] {
            try FileManager.default.removeItem(atPath: "\(copy.path)/state/\(name)")
        }
        let after = try await QueueFixture(copy)
        #expect(Set(after.report.adoptedSessions) == [session, draft])
        #expect(after.report.adoptedAssets.count == 2)
        let detail = try #require(try await after.queue.session(session))
        #expect(detail.summary.session.state == .queuedOffline)
        #expect(detail.assets.map(\.sha256) == before.assets.map(\.sha256))
        #expect(detail.assets.map(\.clientID) == before.assets.map(\.clientID))
        #expect(detail.events == before.events && detail.provenanceChain == before.provenanceChain)
        #expect(detail.summary.session.clientID == Sample.captureID)
        #expect(try await after.state(of: draft) == .draft)
    }

    @Test func partsOfNothingAreRemovedAndStrangersAreLeftAlone() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let unknown = "deadbeef-0000-4000-8000-000000000000"
        for name in [".\(unknown).part", ".session.json.tmp", unknown, "notes.txt"] {
            try Data("x".utf8).write(to: URL(filePath: fixture.path(session, name)))
        }
        try Data().write(to: URL(filePath: fixture.state + "/spool/README"))
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(after.report.removedParts == 1)
        #expect(Set(after.report.foreign) == ["README", "\(session)/notes.txt", "\(session)/\(unknown)"])
        #expect(!after.exists(session, ".\(unknown).part") && !after.exists(session, ".session.json.tmp"))
        #expect(after.exists(session, unknown) && after.exists(session, "notes.txt"))
    }

    @Test(arguments: [true, false], [true, false])
    func aLostFileIsReadAgainOrShown(_ isMissing: Bool, _ isOnRecorder: Bool) async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        if !isOnRecorder { try await fixture.queue.settleDelete(.asset(asset), .deleted) }
        if isMissing {
            try FileManager.default.removeItem(atPath: fixture.path(session, asset.text))
        } else {
            truncate(fixture.path(session, asset.text), 2499)
        }
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(after.report.lostAssets == [asset])
        let detail = try #require(try await after.queue.session(session))
        #expect(detail.assets[0].pullState == (isOnRecorder ? .wanted : .damaged))
        // What is gone may be in the cloud: that is asked before it is called lost.
        let isAsked = isMissing && !isOnRecorder
        #expect(detail.summary.isAmbiguous == isAsked)
        #expect(detail.summary.session.state == (isAsked ? .queuedOffline : .failedTerminal))
        #expect(
            detail.summary.session.terminalReason
                == (isAsked ? nil : isMissing ? .assetMissing : .assetCorrupt))
        #expect(try await after.queue.sessions(.attention).sessions.count == 1)
        #expect(after.exists(session, "\(asset).damaged-1") == !isMissing)
        guard isOnRecorder else { return }
        _ = try await after.queue.beginPull(asset)
        _ = try await after.queue.append(Sample.bytes(2500), to: asset, at: 0)
        #expect(try await after.queue.finishPull(asset).isSessionSealed)
        #expect(try await after.state(of: session) == .queuedOffline)
    }

    @Test(arguments: ["flipped", "shortened", "missing"])
    func bitRotIsFoundBeforeUpload(_ damage: String) async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.beginUpload(session).pending.first)
        let file = try await fixture.queue.openForUpload(asset.id, verifying: true)
        #expect(try file.bytes(at: 2400, count: 500) == Array(Sample.bytes(2500)[2400...]))
        let path = fixture.path(session, asset.id.text)
        switch damage {
        case "flipped": try flip(path)
        case "shortened": truncate(path, 10)
        default: try FileManager.default.removeItem(atPath: path)
        }
        let expected: QueueError.Code = damage == "missing" ? .assetMissing : .assetCorrupt
        #expect(
            await code { _ = try await fixture.queue.openForUpload(asset.id, verifying: true) } == expected)
        #expect(try await fixture.state(of: session) == .failedTerminal)
        // A file that was handed out stays readable, whatever happened to its name.
        #expect(file.size == 2500)
    }

    @Test func aKillBetweenReceiptAndUnlinkOnlyUnlinks() async throws {
        let fixture = try await QueueFixture { $0.keepAfterUpload = .seconds(10) }
        let session = try await fixture.imported()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        let copy = try fixture.snapshot()
        let after = try await QueueFixture(copy) { configuration in
            configuration.now = { QueueFixture.start + 11 }
        }
        #expect(!after.exists(session, asset.text))
        #expect(try await after.queue.asset(asset)?.pullState == .released)
        #expect(try await after.state(of: session) == .imported)
    }

    @Test func aKillBetweenUnlinkAndCommitIsNoLoss() async throws {
        let fixture = try await QueueFixture { $0.keepAfterUpload = .seconds(10) }
        let session = try await fixture.imported()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        try FileManager.default.removeItem(atPath: fixture.path(session, asset.text))
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(after.report.lostAssets.isEmpty)
        #expect(try await after.queue.asset(asset)?.pullState == .released)
        #expect(try await after.state(of: session) == .imported)
    }

    @Test(arguments: [true, false], [true, false])
    func damageToWhatIsOverNeverKeepsTheQueueShut(_ isImported: Bool, _ isMissing: Bool) async throws {
        let fixture = try await QueueFixture { $0.keepAfterUpload = .seconds(1000) }
        let session = try await isImported ? fixture.imported() : fixture.stored()
        if !isImported { try await fixture.queue.cancel(session) }
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        let path = fixture.path(session, asset.text)
        if isMissing { try FileManager.default.removeItem(atPath: path) } else { truncate(path, 3) }
        let after = try await QueueFixture(try fixture.snapshot())
        let expected: PullState = isImported && isMissing ? .released : .damaged
        #expect(try await after.queue.asset(asset)?.pullState == expected)
        #expect(try await after.state(of: session) == (isImported ? .imported : .cancelled))
    }

    /// A kill between the directory and its description; the recorder is not told of anything yet.
    @Test func aDirectoryWithNothingInItIsRemoved() async throws {
        let fixture = try await QueueFixture()
        let session = try #require(SessionID(Sample.captureID))
        try FileManager.default.createDirectory(
            atPath: fixture.path(session, ""), withIntermediateDirectories: false)
        try Data("half".utf8).write(to: URL(filePath: fixture.path(session, ".session.json.tmp")))
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(after.report.foreign.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: after.path(session, "")))
        #expect(try await after.register().isNew)
    }

    @Test func aDescriptionThatLiesIsLeftAlone() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let other = fixture.state + "/spool/" + Sample.id(7)
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
        try FileManager.default.copyItem(
            atPath: fixture.path(session, "session.json"), toPath: other + "/session.json")
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(after.report.foreign == [Sample.id(7)] && after.report.adoptedSessions.isEmpty)
        #expect(try await after.queue.sessions().sessions.count == 1)
    }

    @Test func symbolicLinksAreNotFollowed() async throws {
        let fixture = try await QueueFixture()
        let capture = try await fixture.register()
        let target = fixture.directory.path + "/target"
        try Data(Sample.bytes(2500)).write(to: URL(filePath: target))
        try FileManager.default.createSymbolicLink(
            atPath: fixture.path(capture.sessionID, ".\(capture.added[0]).part"), withDestinationPath: target)
        #expect(await code { _ = try await fixture.queue.beginPull(capture.added[0]) } == .io)
        #expect(FileManager.default.contents(atPath: target)?.count == 2500)
    }
}
