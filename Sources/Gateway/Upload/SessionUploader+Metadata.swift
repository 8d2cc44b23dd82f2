import CaptureQueue
import Cloud
import Dates
import FoundationEssentials

/// The metadata's way: sending it, and finding out what the server has of it.
extension SessionUploader {
    enum Reconciliation: Sendable {
        case stored
        case failed(UploadFailure)
        case ended(UploadEnd)
    }

    /// Sends the metadata; nil when it is acknowledged and stored.
    func upsert(_ job: UploadJob) async throws(QueueError) -> UploadFailure? {
        let digest = job.digest
        let payload = job.upsert
        let intent = try await intend(job, digest)
        switch await context.call({ () async throws(CloudError) in
            try await api(job).upsertSession(payload)
        }) {
        case .success(let remote):
            guard remote.clientId == nil || remote.clientId == job.session.clientID else {
                let failure = UploadFailure(
                    .ambiguous(after: nil), message: "the server answered with another session")
                try await queue.markAmbiguous(intent.id, detail: failure.message)
                return failure
            }
            try await queue.commitUpsert(
                session: id, remoteID: remote.id, revision: remote.revision, payloadDigest: digest,
                snapshot: SessionFacts(remote).snapshot, acknowledgedDeletions: job.deletions)
            return nil
        case .failure(let failure):
            switch failure.intentFate {
            case .withdraw: try await queue.withdrawIntent(intent.id)
            case .doubt: try await queue.markAmbiguous(intent.id, detail: failure.message)
            }
            return failure
        }
    }

    private func intend(_ job: UploadJob, _ digest: String) async throws(QueueError) -> Intent {
        if let open = job.unsettled.first(where: { $0.operation == .upsert }) {
            try await queue.withdrawIntent(open.id)
        }
        return try await queue.beginIntent(
            .upsert, session: id, payloadDigest: digest, baseRevision: job.session.revision)
    }

    /// Asks the server what it holds of the session, and stores what follows from it.
    func reconcile(_ job: UploadJob) async throws(QueueError) -> Reconciliation {
        let list: SessionList
        let session = job.session
        let (remoteID, clientID) = (session.remoteID, session.clientID)
        switch await context.call({ () async throws(CloudError) in
            try await api(job).sessions { $0.id == remoteID || $0.clientId == clientID }
        }) {
        case .success(let answer): list = answer
        case .failure(let failure): return .failed(failure)
        }
        let found =
            session.remoteID.flatMap { id in list.sessions.first { $0.id == id } }
            ?? list.session(clientId: session.clientID)
        guard let found else {
            guard list.unreadableCount == 0 else {
                return .failed(
                    UploadFailure(
                        .retry(after: nil),
                        message: "a part of the session list cannot be read, so nothing is proved by it"))
            }
            return try await settleAbsent(job)
        }
        guard found.deletedAt == nil else {
            return .ended(
                UploadEnd(
                    .hold(.remoteDeleted), "the session was deleted in the cloud; its files are kept here"))
        }
        try await settleAssets(job, found)
        try await settleMetadata(job, found)
        return .stored
    }

    /// The server does not know the session: what we sent never arrived, or it has been removed without a trace.
    private func settleAbsent(_ job: UploadJob) async throws(QueueError) -> Reconciliation {
        for intent in job.unsettled { try await queue.withdrawIntent(intent.id) }
        guard job.session.remoteID == nil else {
            return .ended(
                UploadEnd(
                    .hold(.remoteDeleted),
                    "the account that is logged in does not have the session any more; its files are kept here"
                ))
        }
        return .stored
    }

    /// Files that the server has are confirmed, whatever became of the answers; about the others there is no doubt now.
    private func settleAssets(_ job: UploadJob, _ found: RemoteSession) async throws(QueueError) {
        for asset in job.pending where asset.sha256 != nil {
            if let held = found.assets.first(where: { $0.clientId == asset.clientID }) {
                try await queue.commitAsset(
                    asset.id, held.forQueue(fallback: asset.clientID), sessionRevision: found.revision)
            }
        }
        for intent in try await queue.uploadJob(id).unsettled where intent.operation != .upsert {
            try await queue.withdrawIntent(intent.id)
        }
    }

    /// Finds out what the server has of a session that the user discarded while that was not known: what it has gets its
    /// receipt, about the rest there is no doubt any more. Returns why the server could not tell.
    func settleDiscarded() async throws(QueueError) -> UploadFailure? {
        let job = try await queue.uploadJob(id)
        let (remoteID, clientID) = (job.session.remoteID, job.session.clientID)
        let list: SessionList
        switch await context.call({ () async throws(CloudError) in
            try await api(job).sessions { $0.id == remoteID || $0.clientId == clientID }
        }) {
        case .success(let answer): list = answer
        case .failure(let failure): return failure
        }
        let found =
            job.session.remoteID.flatMap { id in list.sessions.first { $0.id == id } }
            ?? list.session(clientId: job.session.clientID)
        guard found != nil || list.unreadableCount == 0 else {
            return UploadFailure(.retry(after: nil), message: "a part of the session list cannot be read")
        }
        if let found {
            do throws(QueueError) {
                try await settleAssets(job, found)
                try await queue.commitRemoteState(
                    session: id, remoteID: found.id, revision: found.revision,
                    snapshot: SessionFacts(found).snapshot)
            } catch {
                // It holds something else by these names: that is no receipt, and no matter for who discarded it.
                guard error.code == .receiptMismatch || error.code == .identityClash else { throw error }
            }
        }
        for intent in try await queue.uploadJob(id).unsettled { try await queue.withdrawIntent(intent.id) }
        return nil
    }

    private func settleMetadata(_ job: UploadJob, _ found: RemoteSession) async throws(QueueError) {
        let facts = SessionFacts(found)
        // It was ours, and its answer was lost (C-31).
        if job.upsert.matches(found) { return try await adopt(job, found) }
        let local = job.facts
        let merge = SessionMerge(base: job.seen, local: local, remote: facts)
        try await queue.updateMetadata(
            id, title: merge.title == local.title ? nil : Self.cut(merge.title),
            endedAt: merge.endMs == local.endMs ? nil : merge.endMs.map(CaptureTime.init(milliseconds:)),
            durationMs: merge.durationMs == local.durationMs ? nil : max(0, merge.durationMs),
            deletedEvents: merge.deletions)
        try await queue.commitRemoteState(
            session: id, remoteID: found.id, revision: found.revision, snapshot: facts.snapshot)
        for intent in job.unsettled where intent.operation == .upsert {
            try await queue.withdrawIntent(intent.id)
        }
        // Where only the server had news, there is nothing to send.
        let merged = try await queue.uploadJob(id)
        if merged.upsert.matches(found) { try await adopt(merged, found) }
    }

    private func adopt(_ job: UploadJob, _ found: RemoteSession) async throws(QueueError) {
        try await queue.commitUpsert(
            session: id, remoteID: found.id, revision: found.revision, payloadDigest: job.digest,
            snapshot: SessionFacts(found).snapshot, acknowledgedDeletions: job.deletions)
    }

    /// As much of a title as the queue keeps.
    private static func cut(_ title: String) -> String {
        guard title.utf8.count > 4096 else { return title }
        return String(decoding: title.utf8.prefix(4000), as: UTF8.self)
    }
}

extension UploadJob {
    var facts: SessionFacts { SessionFacts(session, events) }

    /// The server's view as it was last seen.
    var seen: SessionFacts? { session.baseSnapshot.flatMap(SessionFacts.init(snapshot:)) }

    /// Events that the cloud has to forget.
    var deletions: [String] { events.filter(\.isDeleted).map(\.id) }

    var digest: String { facts.digest(deletions: deletions) }

    var upsert: SessionUpsert {
        facts.upsert(
            clientID: session.clientID, seen: seen, deletions: deletions,
            baseRevision: session.remoteID == nil ? nil : session.revision)
    }

    var view: UploadMachine.View {
        UploadMachine.View(
            isInDoubt: !unsettled.isEmpty,
            isSynced: session.remoteID != nil && session.syncedDigest == digest,
            isBaseStale: session.isBaseStale && session.remoteID != nil, hasPending: !pending.isEmpty)
    }
}

extension CaptureTime {
    fileprivate init(milliseconds: Int64) {
        self.init(
            text: Timestamp(millisecondsSince1970: milliseconds).description,
            instant: .init(timeIntervalSince1970: Double(milliseconds) / 1000))
    }
}
