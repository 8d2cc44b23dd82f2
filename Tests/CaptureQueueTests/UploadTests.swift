import Foundation
import Testing

@testable import CaptureQueue

@Suite struct UploadTests {
    static let host = QueueFixture.host

    @Test func theWholeWay() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored(sizes: [2500, 30])
        #expect(try await queue.nextUploads(host: Self.host).map(\.id) == [session])
        #expect(try await queue.nextUploads(host: "https://other").isEmpty)
        let job = try await queue.beginUpload(session)
        #expect(job.session.state == .uploading && job.session.uploadBeganAt == QueueFixture.start)
        // Small files go before long ones.
        #expect(job.pending.map(\.byteSize) == [30, 2500])
        #expect(job.pendingBytes == 2530 && job.unsettled.isEmpty)
        #expect(try await queue.nextUploads(host: Self.host).isEmpty)
        try await fixture.upsert(session)
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        try await fixture.sendAssets(session)
        #expect(try await fixture.state(of: session) == .awaitingConfirmation)
        try await queue.markImported(session)
        let detail = try #require(try await queue.session(session))
        #expect(detail.summary.session.state == .imported)
        #expect(detail.summary.session.revision == 2)
        #expect(detail.receipts.map(\.remoteID).contains("remote-\(session)") && detail.receipts.count == 3)
        #expect(detail.assets.allSatisfy { $0.pullState == .released && $0.uploadState == .uploaded })
        #expect(detail.summary.progress.uploadedBytes == 2530)
        #expect(!fixture.exists(session, ""))
    }

    @Test func chunks() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored(sizes: [2500])
        let asset = try #require(try await queue.beginUpload(session).pending.first)
        try await fixture.upsert(session)
        _ = try await queue.beginIntent(.initialise, session: session, asset: asset.id, payloadDigest: "i")
        for (size, count) in [(Int64(1000), 2), (0, 3), (1000, 4), (-5, 1)] {
            #expect(
                await code {
                    try await queue.commitInit(
                        asset.id, uploadID: "u", chunkSize: size, totalChunks: count,
                        expiresAt: .distantFuture)
                } == .receiptMismatch)
        }
        try await queue.commitInit(
            asset.id, uploadID: "u1", chunkSize: 1000, totalChunks: 3, expiresAt: QueueFixture.start + 60)
        try await queue.commitChunk(asset.id, uploadID: "u1", index: 2)
        let upload = try await queue.commitChunk(asset.id, uploadID: "u1", index: 0)
        #expect(upload.nextChunk() == 1 && upload.nextChunk(from: 2) == nil && upload.ackedCount == 2)
        #expect(upload.range(of: 2, size: 2500) == (2000, 500))
        #expect(await code { try await queue.commitChunk(asset.id, uploadID: "u1", index: 3) } == .notFound)
        #expect(await code { try await queue.commitChunk(asset.id, uploadID: "u0", index: 0) } == .notFound)

        // Killed after the second chunk: the bitmap and the bytes are there (F-17).
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(try await after.state(of: session) == .queuedOffline)
        let job = try await after.queue.beginUpload(session)
        #expect(job.uploads[asset.id] == upload && job.pendingBytes == 1000)
        #expect(job.pending.first?.uploadedBytes == 1500 && job.pending.first?.remoteReceiptID == "u1")

        // The server forgot it: from the start again, under the same identity.
        try await after.queue.forgetUpload(asset.id)
        let again = try await after.queue.uploadJob(session)
        #expect(again.uploads.isEmpty && again.pendingBytes == 2500)
        #expect(again.pending.first?.clientID == asset.clientID)
        #expect(try await after.queue.uploadStarts(asset.id, since: .distantPast) == 1)
    }

    @Test func anIntentIsOpenUntilItIsSettled() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored()
        _ = try await queue.beginUpload(session)
        let intent = try await queue.beginIntent(
            .upsert, session: session, payloadDigest: "p", baseRevision: nil)
        #expect(
            await code { _ = try await queue.beginIntent(.upsert, session: session, payloadDigest: "p") }
                == .intentPending)
        #expect(try await queue.resendIntent(intent.id).attempts == 2)
        try await queue.withdrawIntent(intent.id)
        _ = try await queue.beginIntent(.upsert, session: session, payloadDigest: "p")

        // Killed before the answer: ambiguous, surfaced, never blindly repeated (F-13).
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(after.report.ambiguous == 1)
        let attention = try await after.queue.sessions(.attention)
        let surfaced = try #require(attention.sessions.first)
        #expect(attention.sessions.count == 1 && surfaced.session.id == session && surfaced.isAmbiguous)
        let job = try await after.queue.beginUpload(session)
        let open = try #require(job.unsettled.first)
        #expect(job.unsettled.count == 1 && open.operation == .upsert)
        #expect(open.idempotencyKey == intent.idempotencyKey)
        #expect(
            await code {
                _ = try await after.queue.beginIntent(.upsert, session: session, payloadDigest: "p")
            }
                == .intentPending)
        try await after.queue.commitUpsert(session: session, remoteID: "r", revision: 4, payloadDigest: "p")
        #expect(try await after.queue.uploadJob(session).unsettled.isEmpty)
    }

    @Test func theLastCompleteAwaitsItsConfirmationAcrossAKill() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.beginUpload(session).pending.first)
        try await fixture.upsert(session)
        try await fixture.queue.commitInit(
            asset.id, uploadID: "u", chunkSize: 2500, totalChunks: 1, expiresAt: .distantFuture)
        try await fixture.queue.commitChunk(asset.id, uploadID: "u", index: 0)
        _ = try await fixture.queue.beginIntent(
            .complete, session: session, asset: asset.id, payloadDigest: "c")
        let after = try await QueueFixture(try fixture.snapshot())
        #expect(try await after.state(of: session) == .awaitingConfirmation)
        let job = try await after.queue.beginUpload(session)
        #expect(job.session.state == .awaitingConfirmation && job.unsettled.map(\.operation) == [.complete])
        #expect(try await after.queue.commitAsset(asset.id, Sample.remote(asset), sessionRevision: nil))
        #expect(try await after.queue.uploadJob(session).session.isBaseStale)
        // Repeating the proof changes nothing.
        #expect(try await after.queue.commitAsset(asset.id, Sample.remote(asset), sessionRevision: 9))
        try await after.queue.markImported(session)
        #expect(try await after.queue.session(session)?.receipts.count == 2)
    }

    @Test func whatTheServerDoesNotHaveIsSentAgain() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.beginUpload(session).pending.first)
        let intent = try await fixture.queue.beginIntent(
            .complete, session: session, asset: asset.id, payloadDigest: "c")
        #expect(try await fixture.state(of: session) == .awaitingConfirmation)
        try await fixture.queue.withdrawIntent(intent.id)
        try await fixture.queue.forgetUpload(asset.id)
        #expect(try await fixture.state(of: session) == .uploading)
    }

    @Test(arguments: [
        (Int64(2499), "", ""), (2500, "00", ""), (2500, "", "other"),
    ])
    func anotherReceiptIsAConflict(_ size: Int64, _ digest: String, _ client: String) async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.beginUpload(session).pending.first)
        let good = Sample.remote(asset)
        let remote = RemoteAsset(
            id: "r", clientID: good.clientID + client, sizeBytes: size,
            sha256: digest.isEmpty ? good.sha256 : String(repeating: digest, count: 32))
        #expect(
            await code { try await fixture.queue.commitAsset(asset.id, remote, sessionRevision: 3) }
                == .receiptMismatch)
        let detail = try #require(try await fixture.queue.session(session))
        #expect(detail.summary.session.state == .queuedOffline)
        #expect(detail.summary.holds.map(\.reason) == [.conflict])
        #expect(detail.assets[0].uploadState != .uploaded && detail.receipts.isEmpty)
        #expect(fixture.exists(session, asset.id.text))
        let clientID = try await fixture.queue.replaceClientID(asset.id)
        #expect(clientID == Identity.replacement(of: asset.id, attempt: 1))
    }

    @Test func nothingIsImportedOnHalfAProof() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        _ = try await fixture.queue.beginUpload(session)
        #expect(await code { try await fixture.queue.markImported(session) } == .illegalTransition)
        try await fixture.upsert(session)
        #expect(await code { try await fixture.queue.markImported(session) } == .illegalTransition)
        #expect(try await fixture.state(of: session) == .uploading)
        #expect(try await fixture.queue.session(session)?.receipts.isEmpty == true)
    }

    @Test func importedIsFinal() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.imported()
        let before = try await fixture.queue.session(session)
        #expect(try await fixture.queue.retry(session) == false)
        try await fixture.queue.markImported(session)
        #expect(await code { try await fixture.queue.cancel(session) } == .illegalTransition)
        #expect(await code { _ = try await fixture.queue.beginUpload(session) } == .illegalTransition)
        #expect(await code { try await fixture.queue.hold(session, .paused) } == .illegalTransition)
        // The recorder offers it again.
        let again = try await fixture.register()
        #expect(again.state == .imported && again.added.isEmpty && again.notTaken.isEmpty)
        #expect(
            try await fixture.queue.wantedAssets(
                recorder: Sample.serial, storageGeneration: Sample.generation
            ).isEmpty)
        #expect(try await fixture.queue.session(session) == before)
    }

    @Test func failuresKeepTheIdentityAndWaitTheirTime() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored()
        let other = try await fixture.stored(Sample.id(2))
        let before = try await queue.session(session)
        for attempt in 1...20 {
            _ = try await queue.beginUpload(session)
            try await queue.fail(session, message: "no route", nextTry: QueueFixture.start + 100)
            #expect(try await queue.session(session)?.summary.session.retryCount == attempt)
        }
        let after = try await queue.session(session)
        #expect(after?.summary.session.idempotencyScope == before?.summary.session.idempotencyScope)
        #expect(after?.assets == before?.assets && after?.summary.session.lastError == "no route")
        #expect(try await queue.nextUploads(host: Self.host).map(\.id) == [other])
        #expect(try await queue.nextUploadTime(host: Self.host) == QueueFixture.start + 100)
        fixture.advance(100)
        #expect(try await queue.nextUploads(host: Self.host).map(\.id) == [session, other])
        #expect(try await queue.retry(session))
        #expect(try await fixture.state(of: session) == .queuedOffline)
    }

    @Test func orderIsByArrivalWhateverTheClockSays() async throws {
        let fixture = try await QueueFixture()
        let first = try await fixture.stored(Sample.id(5))
        fixture.advance(-315_360_000)
        let second = try await fixture.stored(Sample.id(4))
        #expect(try await fixture.queue.nextUploads(host: Self.host).map(\.id) == [first, second])
        #expect(try await fixture.queue.sessions().sessions.map(\.session.id) == [second, first])
    }

    @Test func holdsAreReasonsNotStates() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored()
        _ = try await queue.beginUpload(session)
        try await queue.hold(session, .quota, detail: "full", requiredBytes: 2500)
        try await queue.hold(session, .paused, until: QueueFixture.start + 10)
        #expect(try await fixture.state(of: session) == .queuedOffline)
        #expect(try await queue.nextUploads(host: Self.host).isEmpty)
        #expect(await code { _ = try await queue.beginUpload(session) } == .illegalTransition)
        #expect(try await queue.nextUploadTime(host: Self.host) == QueueFixture.start + 10)
        try await queue.releaseQuotaHolds(host: Self.host, remaining: 2499)
        fixture.advance(10)
        #expect(try await queue.nextUploads(host: Self.host).isEmpty)
        #expect(try await queue.session(session)?.summary.holds.map(\.reason) == [.quota])
        try await queue.releaseQuotaHolds(host: Self.host, remaining: 2500)
        #expect(try await queue.nextUploads(host: Self.host).map(\.id) == [session])
    }

    @Test func theWholeQueueCanBeHeld() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let session = try await fixture.stored()
        try await queue.holdQueue(.auth, host: Self.host, detail: "log in")
        try await queue.holdQueue(.lowDisk)
        #expect(try await queue.nextUploads(host: Self.host).isEmpty)
        #expect(Set(try await queue.queueHolds(host: Self.host).map(\.reason)) == [.auth, .lowDisk])
        try await queue.releaseQueueHold(.auth, host: Self.host)
        #expect(try await queue.nextUploads(host: Self.host).map(\.id) == [session])
    }

    @Test func cancelledBytesStayUntilPurged() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first)
        #expect(await code { try await fixture.queue.purge(session) } == .illegalTransition)
        try await fixture.queue.cancel(session)
        #expect(fixture.exists(session, asset.id.text))
        try await fixture.queue.purge(session)
        #expect(!fixture.exists(session, asset.id.text))
        #expect(try await fixture.state(of: session) == .cancelled)
    }

    @Test func bytesAreKeptAsLongAsConfigured() async throws {
        let fixture = try await QueueFixture { $0.keepAfterUpload = .seconds(3600) }
        let session = try await fixture.imported()
        let asset = try #require(try await fixture.queue.session(session)?.assets.first)
        fixture.advance(3599)
        try await fixture.queue.releaseDueBytes()
        #expect(fixture.exists(session, asset.id.text))
        fixture.advance(1)
        try await fixture.queue.releaseDueBytes()
        #expect(!fixture.exists(session, asset.id.text))
    }

    @Test func theCheckpointWaitsForEverything() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        let second = try await fixture.stored(Sample.id(2))
        _ = try await fixture.imported()
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        try await queue.cancel(second)
        let ticket = try #require(try await queue.checkpointDue(host: Self.host))
        // Another session is imported while the trigger is under way: it stays due.
        _ = try await fixture.imported(Sample.id(3))
        try await queue.checkpointDone(host: Self.host, ticket: ticket, syncedAt: "2026-11-30T08:00:00Z")
        let next = try #require(try await queue.checkpointDue(host: Self.host))
        try await queue.checkpointDone(host: Self.host, ticket: next, syncedAt: "2026-11-30T08:00:01Z")
        #expect(try await queue.checkpointDue(host: Self.host) == nil)
        #expect(try await queue.lastCheckpoint(host: Self.host) == "2026-11-30T08:00:01Z")
    }

    @Test func objectsAreDeletedByPolicyFilesBeforeTheirManifest() async throws {
        let fixture = try await QueueFixture()
        let queue = fixture.queue
        func deletable(_ policy: RecorderDeletePolicy) async throws -> [DeletableObject.Subject] {
            let objects = try await queue.deletableObjects(
                recorder: Sample.serial, storageGeneration: Sample.generation, policy: policy)
            let count = try await queue.deletableCount(
                recorder: Sample.serial, storageGeneration: Sample.generation, policy: policy)
            #expect(count == objects.count)
            // Asked for one by one, they are the same.
            let known = try await queue.knownObjects(
                recorder: Sample.serial, storageGeneration: Sample.generation)
            for id in known {
                let one = try await queue.deletableObject(
                    id, recorder: Sample.serial, storageGeneration: Sample.generation, policy: policy)
                #expect(one == objects.first { $0.objectID == id })
            }
            return objects.map(\.subject)
        }
        let session = try await fixture.stored()
        let asset = try #require(try await queue.session(session)?.assets.first?.id)
        #expect(try await deletable(.afterUpload).isEmpty)
        #expect(try await deletable(.afterQueue) == [.asset(asset)])
        #expect(try await deletable(.never).isEmpty)
        _ = try await queue.beginUpload(session)
        try await fixture.upsert(session)
        try await fixture.sendAssets(session)
        #expect(try await deletable(.afterUpload) == [.asset(asset)])
        try await queue.markImported(session)
        try await queue.beginDelete(.asset(asset))
        let doubt = try await queue.deletableObjects(
            recorder: Sample.serial, storageGeneration: Sample.generation, policy: .afterUpload)
        #expect(doubt.map(\.isInDoubt) == [true] && doubt.first?.fingerprint == "size=2500")
        try await queue.settleDelete(.asset(asset), .deleted)
        #expect(try await deletable(.afterUpload) == [.manifest(session)])
        try await queue.settleDelete(.manifest(session), .deleted)
        #expect(try await deletable(.afterUpload).isEmpty)
        #expect(
            try await queue.knownObjects(recorder: Sample.serial, storageGeneration: Sample.generation).count
                == 2)
    }

    @Test func pagesAndCounts() async throws {
        let fixture = try await QueueFixture()
        for number in 1...5 { try await fixture.register(Sample.id(number), sizes: [10]) }
        let session = try await fixture.stored(Sample.id(6), sizes: [7])
        let first = try await fixture.queue.sessions(limit: 4)
        #expect(first.sessions.count == 4 && first.next != nil)
        let rest = try await fixture.queue.sessions(before: first.next, limit: 4)
        #expect(rest.sessions.count == 2 && rest.next == nil)
        #expect(
            try await fixture.queue.sessions(.state(.queuedOffline)).sessions.map(\.session.id) == [session])
        let counts = try await fixture.queue.counts()
        #expect(counts.sessions == [.draft: 5, .queuedOffline: 1])
        #expect(counts.wantedBytes == 50 && counts.storedBytes == 7 && counts.unsentBytes == 7)
        #expect(try await fixture.queue.sessions(idPrefix: "00000000").count == 2)
        #expect(try await fixture.queue.sessions(idPrefix: session.text) == [session])
        #expect(try await fixture.queue.sessions(idPrefix: "%").isEmpty)
    }

    @Test func mergesAndEditsKeepTheRest() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        try await fixture.queue.commitRemoteState(
            session: session, remoteID: "r", revision: 8, snapshot: "{}")
        try await fixture.queue.commitRemoteState(
            session: session, remoteID: "r", revision: 3, snapshot: "{}")
        try await fixture.queue.updateMetadata(session, title: "New", deletedEvents: ["E-1"])
        var detail = try #require(try await fixture.queue.session(session))
        #expect(detail.summary.session.revision == 8 && detail.summary.session.title == "New")
        #expect(detail.events.map(\.isDeleted) == [true] && detail.summary.session.durationMs == 600_500)
        #expect(
            await code {
                try await fixture.queue.commitUpsert(
                    session: session, remoteID: "x", revision: 9, payloadDigest: "p")
            } == .identityClash)
        try await fixture.queue.commitUpsert(
            session: session, remoteID: "r", revision: 9, payloadDigest: "p", acknowledgedDeletions: ["E-1"])
        try await fixture.queue.addProvenance(session, step: ["step": "queued offline"])
        detail = try #require(try await fixture.queue.session(session))
        #expect(detail.events.isEmpty)
        #expect(detail.provenanceChain.map { $0["step"] } == ["captured on CR1", "queued offline"])
    }
}
