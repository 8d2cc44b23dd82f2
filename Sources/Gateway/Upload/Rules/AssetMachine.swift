package import CaptureQueue
import Cloud

/// The way of one file to the server: the small route or the chunked one, with every detour (upload.md C-46…C-70).
/// Pure; the driver does one step and tells what came of it.
package struct AssetMachine: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        /// Look for the asset at the server.
        case lookUp
        /// The small route: the whole file in one request.
        case send
        /// Begin a chunked upload.
        case open(chunkSize: Int64)
        /// Forget the upload that the server does not have any more.
        case forget
        case chunk(Int)
        /// Ask for the merge.
        case complete
        case wait(Duration)
        /// Read the stored file again: it may have changed.
        case verify
        case end(UploadEnd.Kind)
    }

    package enum Input: Sendable, Equatable {
        /// `starts`: uploads opened for this asset within the last hour. `hasExpired`: by the server's clock.
        case begin(ChunkedUpload?, starts: Int, hasExpired: Bool)
        case opened(ChunkedUpload)
        case forgotten
        /// `counted` chunks, says the server.
        case acked(ChunkedUpload, counted: Int64)
        /// The receipt is stored.
        case confirmed
        case found(LookUp)
        case waited
        /// The stored file is what it was.
        case intact
        case failed(UploadFailure)
    }

    /// What looking for the asset told.
    package enum LookUp: Sendable, Equatable {
        /// The session has it, and the receipt is stored.
        case confirmed
        case absent
        /// The session itself is gone.
        case sessionGone
    }

    package struct Limits: Sendable, Equatable {
        /// Uploads that may be opened in an hour: each may reserve quota until it expires (C-60).
        package var startsPerHour = APIAssumptions.uploadStartsPerHour
        /// How long to rest when that is used up.
        package var startRest = Duration.seconds(20 * 60)
        /// The pauses before `complete` is sent again without an answer (C-68).
        package var completeGaps = [Duration.seconds(5), .seconds(20), .seconds(60)]
        /// Sendings of a small file in doubt before the attempt ends.
        package var doubtfulSends = 3
        /// Files at least as large go up in chunks.
        package var chunkedFrom = ChunkPlan.threshold

        package init() {}
    }

    private enum Pending: Equatable {
        case send, open, forget, resend, retry
    }

    private let size: Int64
    private let limits: Limits
    private var isChunked: Bool
    private var chunkSize: Int64
    private var step = Step.lookUp
    private var upload: ChunkedUpload?
    private var starts = 0
    private var doubtfulSends = 0
    private var unanswered = 0
    /// What to do when looking finds nothing.
    private var pending = Pending.retry
    /// The next chunk of a second round over all of them.
    private var secondRound: Int?
    private var hasSecondRound = false
    private var isShort = false

    /// `chunkSize` is what to ask for first.
    package init(
        size: Int64, chunkSize: Int64 = APIAssumptions.requestedChunkSizes[0], limits: Limits = Limits()
    ) {
        self.size = size
        self.limits = limits
        self.chunkSize = chunkSize
        isChunked = size >= limits.chunkedFrom
    }

    package mutating func handle(_ input: Input) -> Step {
        step = decide(input)
        return step
    }

    private mutating func decide(_ input: Input) -> Step {
        switch input {
        case .begin(let upload, let starts, let hasExpired):
            self.upload = upload
            self.starts = starts
            if upload != nil { isChunked = true }
            return upload != nil && hasExpired ? .forget : onward()
        case .opened(let upload):
            self.upload = upload
            starts += 1
            secondRound = nil
            hasSecondRound = false
            return onward()
        case .forgotten:
            upload = nil
            unanswered = 0
            return onward()
        case .acked(let upload, let counted): return acked(upload, counted)
        case .confirmed, .found(.confirmed): return .end(.done)
        case .found(.sessionGone): return .end(.hold(.remoteDeleted))
        case .found(.absent): return notFound()
        case .waited: return .complete
        case .intact: return .end(.retry(after: nil))
        case .failed(let failure): return failed(failure)
        }
    }

    /// The next step where nothing is wrong.
    private func onward() -> Step {
        guard isChunked else { return .send }
        guard let upload else {
            return starts < limits.startsPerHour
                ? .open(chunkSize: chunkSize) : .end(.retry(after: limits.startRest))
        }
        if let secondRound, secondRound < upload.totalChunks { return .chunk(secondRound) }
        return upload.nextChunk().map(Step.chunk) ?? .complete
    }

    /// A count below ours after the same chunk was sent again means that the server lost some (C-61).
    private mutating func acked(_ upload: ChunkedUpload, _ counted: Int64) -> Step {
        self.upload = upload
        if let index = secondRound {
            secondRound = index + 1
            return onward()
        }
        guard counted < Int64(upload.ackedCount) else {
            isShort = false
            return onward()
        }
        guard isShort else {
            isShort = true
            return step
        }
        return beginSecondRound()
    }

    /// All chunks once more; after that, a new upload.
    private mutating func beginSecondRound() -> Step {
        isShort = false
        guard !hasSecondRound else { return .forget }
        hasSecondRound = true
        secondRound = 0
        return onward()
    }

    private mutating func lookUp(then next: Pending) -> Step {
        pending = next
        return .lookUp
    }

    private mutating func notFound() -> Step {
        switch pending {
        case .send: return .send
        case .open: return onward()
        case .forget: return .forget
        case .resend: return beginSecondRound()
        case .retry: return .end(.retry(after: nil))
        }
    }

    private mutating func failed(_ failure: UploadFailure) -> Step {
        if failure.outcome == .terminal(.localFile) { return .verify }
        switch step {
        case .send: return sendFailed(failure)
        case .open: return openFailed(failure)
        case .chunk: return chunkFailed(failure)
        case .complete: return completeFailed(failure)
        case .lookUp, .forget, .wait, .verify, .end: return .end(.init(failure))
        }
    }

    private mutating func sendFailed(_ failure: UploadFailure) -> Step {
        switch failure.outcome {
        case .ambiguous(let after):
            doubtfulSends += 1
            guard doubtfulSends < limits.doubtfulSends else { return .end(.retry(after: after)) }
            return lookUp(then: .send)
        case .reinit, .conflict: return lookUp(then: .retry)
        case .hold(.gatewayLimit):
            // Too much for a gateway: the same in pieces (C-4).
            guard let smaller = ChunkPlan.sizeBelow(min(size, chunkSize)) else { return .end(.init(failure)) }
            isChunked = true
            chunkSize = smaller
            return onward()
        case .hold(.quota(required: nil, remaining: _)): return .end(.hold(.quota, required: size))
        default: return .end(.init(failure))
        }
    }

    private mutating func openFailed(_ failure: UploadFailure) -> Step {
        switch failure.outcome {
        case .ambiguous:
            // It may have been opened all the same, and counts.
            starts += 1
            return lookUp(then: .open)
        case .reinit, .conflict: return lookUp(then: .retry)
        case .hold(.quota(required: nil, remaining: _)): return .end(.hold(.quota, required: size))
        default: return .end(.init(failure))
        }
    }

    private mutating func chunkFailed(_ failure: UploadFailure) -> Step {
        switch failure.outcome {
        // Unknown, expired or complete already: what the server has decides (C-64, C-65, C-67).
        case .reinit: return lookUp(then: .forget)
        case .hold(.gatewayLimit):
            guard let smaller = ChunkPlan.sizeBelow(upload?.chunkSize ?? chunkSize) else {
                return .end(.init(failure))
            }
            chunkSize = smaller
            return .forget
        case .hold(.quota(required: nil, remaining: _)): return .end(.hold(.quota, required: size))
        default: return .end(.init(failure))
        }
    }

    private mutating func completeFailed(_ failure: UploadFailure) -> Step {
        switch failure.outcome {
        case .ambiguous(let after):
            guard unanswered < limits.completeGaps.count else { return lookUp(then: .forget) }
            unanswered += 1
            let gap = limits.completeGaps[unanswered - 1]
            return .wait(max(gap, min(after ?? .zero, .seconds(600))))
        case .reinit:
            // Chunks missing (400), against an upload that is not there (404, 410).
            let isWrong = failure.status == 400 || failure.status == 422
            return lookUp(then: isWrong ? .resend : .forget)
        case .hold(.quota(required: nil, remaining: _)): return .end(.hold(.quota, required: size))
        default: return .end(.init(failure))
        }
    }
}
