import CaptureQueue
import Cloud
import EventLoop

/// Performs the steps of `UploadMachine` for one session.
struct SessionUploader: Sendable {
    let context: UploadContext
    let id: SessionID

    var queue: CaptureQueue { context.queue }

    func api(_ job: UploadJob) -> CelestiaAPI { context.api.only(for: job.session.account) }

    /// Brings a session that was taken in hand as far as it goes. Never throws: what happened is the result, to be stored
    /// by the caller (`done`, `stored` and `broken` are stored already).
    func run(_ job: UploadJob) async -> UploadEnd {
        do throws(QueueError) {
            return try await drive(job)
        } catch {
            return UploadEnd(error)
        }
    }

    private func drive(_ first: UploadJob) async throws(QueueError) -> UploadEnd {
        var machine = UploadMachine()
        var job = first
        var remaining: Int64?
        var last: UploadFailure?
        var sent = UploadEnd(.done)
        var verified: Set<AssetID> = []
        var step = machine.handle(.stored(job.view))
        while true {
            // What came of it is told all the same: a hold that the queue placed takes the session out of our hands too.
            if !step.isEnd, await context.mustPutDown(id) { return UploadEnd(.stopped) }
            var failure: UploadFailure?
            switch step {
            case .end(let kind):
                return UploadEnd(
                    kind, last?.text(for: kind) ?? sent.message, asset: sent.asset,
                    isCutOff: last?.isCutOff ?? sent.isCutOff)
            case .confirm:
                try await queue.markImported(id)
                return UploadEnd(.done)
            case .reconcile:
                switch try await reconcile(job) {
                case .failed(let reason): failure = reason
                case .ended(let end): return end
                case .stored: break
                }
            case .upsert:
                // A session without its files is nothing to the cloud: they are looked at before it hears of it.
                if job.session.remoteID == nil, let end = try await verify(job, &verified) { return end }
                failure = try await upsert(job)
            case .quota:
                switch await context.call({ () async throws(CloudError) in try await api(job).quota() }) {
                case .success(let quota): remaining = quota.totalBytes > 0 ? quota.remainingBytes : nil
                case .failure(let reason): failure = reason
                }
            case .assets:
                sent = await sendAssets(job, remaining: remaining, verified: verified)
                last = nil
                if case .broken(let error) = sent.kind { throw error }
                job = try await queue.uploadJob(id)
                step = machine.handle(.sent(sent.kind, job.view))
                continue
            }
            if let failure {
                if Task.isCancelled { return UploadEnd(.stopped, failure.message) }
                last = failure
                step = machine.handle(.failed(failure))
                continue
            }
            job = try await queue.uploadJob(id)
            step = machine.handle(step == .quota ? .quotaKnown(job.view) : .stored(job.view))
        }
    }

    // MARK: Files

    /// Reads every file whole before its session is announced; returns why it cannot be sent.
    private func verify(
        _ job: UploadJob, _ verified: inout Set<AssetID>
    ) async throws(QueueError) -> UploadEnd? {
        for asset in job.pending where asset.pullState != .wanted && !verified.contains(asset.id) {
            if await context.mustPutDown(id) { return UploadEnd(.stopped) }
            do throws(QueueError) {
                _ = try await queue.openForUpload(asset.id, verifying: true)
            } catch {
                return UploadEnd(error, asset: asset.id)
            }
            verified.insert(asset.id)
        }
        return nil
    }

    /// Small before large, as many at a time as there are places. One file's trouble does not stop the others, unless
    /// it is everybody's.
    private func sendAssets(
        _ job: UploadJob, remaining: Int64?, verified: Set<AssetID>
    ) async -> UploadEnd {
        guard let remoteID = job.session.remoteID else {
            return UploadEnd(.retry(after: nil), "the session has no id in the cloud yet")
        }
        var worst = UploadEnd(.done)
        await withTaskGroup(of: UploadEnd.self) { group in
            var isEveryonesTrouble: Bool {
                switch worst.kind {
                case .shut, .stopped, .broken, .hold(.remoteDeleted, _, _): true
                default: false
                }
            }
            var running = 0
            for asset in job.pending {
                while running >= context.configuration.parallelUploads, let end = await group.next() {
                    running -= 1
                    worst = .graver(worst, end)
                }
                if isEveryonesTrouble { break }
                if let refusal = reserve(asset, remaining) {
                    worst = .graver(worst, refusal)
                    continue
                }
                running += 1
                let uploader = AssetUploader(
                    context: context, session: job.session, remoteID: remoteID, asset: asset,
                    upload: job.uploads[asset.id], isVerified: verified.contains(asset.id))
                group.addTask {
                    defer { uploader.context.release(uploader.asset.id) }
                    return await uploader.context.slots.withSlot(order: uploader.session.sequence) {
                        await uploader.run()
                    } ?? UploadEnd(.stopped)
                }
            }
            for await end in group { worst = .graver(worst, end) }
        }
        return worst
    }

    /// nil when the file fits into what the account has left.
    private func reserve(_ asset: AssetRecord, _ remaining: Int64?) -> UploadEnd? {
        let bytes = max(0, asset.byteSize - asset.uploadedBytes)
        switch context.reserve(asset.id, bytes: bytes, remaining: remaining) {
        case .fits: return nil
        case .exceeds:
            return UploadEnd(
                .hold(.quota, required: bytes),
                "the account has \(max(0, remaining ?? 0)) bytes left, a file needs \(bytes)", asset: asset.id
            )
        case .afterOthers:
            return UploadEnd(
                .hold(.quota, required: bytes, lasting: .seconds(60)),
                "other files that are on their way use up what the account has left", asset: asset.id)
        }
    }
}
