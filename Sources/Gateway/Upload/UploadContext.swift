import CaptureQueue
import Cloud
import EventLoop
import Synchronization

/// What every attempt shares.
final class UploadContext: Sendable {
    let queue: CaptureQueue
    let api: CelestiaAPI
    let board: Board
    private let settings: Locked<UploadConfiguration>
    var configuration: UploadConfiguration { settings.withLock { $0 } }
    let slots: UploadSlots
    private let stopping = Atomic(false)
    private let metered = Atomic(false)
    private let successCount = Atomic(0)
    private let ledger = Locked(QuotaLedger())
    private let learnedChunkSize: Locked<Int64>

    init(queue: CaptureQueue, api: CelestiaAPI, board: Board, configuration: UploadConfiguration) {
        self.queue = queue
        self.api = api
        self.board = board
        settings = Locked(configuration)
        slots = UploadSlots(configuration.parallelUploads)
        learnedChunkSize = Locked(configuration.chunkSize)
    }

    /// Whether nothing new may be started.
    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    func beginStopping() { stopping.store(true, ordering: .relaxed) }

    /// Whether files wait for a network that costs nothing.
    var isMetered: Bool { metered.load(ordering: .relaxed) }

    /// Returns whether that is new.
    func setMetered(_ isMetered: Bool) -> Bool {
        metered.exchange(isMetered, ordering: .relaxed) != isMetered
    }

    /// What is under way goes on as it was begun.
    func reconfigure(_ change: (inout UploadConfiguration) -> Void) {
        let count = settings.withLock { settings in
            change(&settings)
            return settings.parallelUploads
        }
        slots.resize(to: count)
    }

    /// Successful calls so far.
    var successes: Int { successCount.load(ordering: .relaxed) }

    /// The chunk size that gateways were seen to let through.
    var chunkSize: Int64 { learnedChunkSize.withLock { $0 } }

    func learn(chunkSize: Int64) {
        learnedChunkSize.withLock { $0 = min($0, chunkSize) }
    }

    func reserve(_ asset: AssetID, bytes: Int64, remaining: Int64?) -> QuotaLedger.Verdict {
        ledger.withLock { $0.reserve(asset, bytes: bytes, remaining: remaining) }
    }

    func release(_ asset: AssetID) {
        ledger.withLock { $0.release(asset) }
    }

    /// Makes a call and keeps apart what succeeded from what did not.
    func call<Value: Sendable>(
        _ body: () async throws(CloudError) -> Value
    ) async -> Result<Value, UploadFailure> {
        do throws(CloudError) {
            let value = try await body()
            successCount.add(1, ordering: .relaxed)
            return .success(value)
        } catch {
            return .failure(UploadFailure(error))
        }
    }

    /// Whether the attempt on this session must end at the next step: a stop, a metered network, or somebody took it
    /// away.
    func mustPutDown(_ session: SessionID) async -> Bool {
        guard !isStopping, !isMetered, !Task.isCancelled else { return true }
        return await !queue.isInHand(session)
    }
}

extension UploadFailure: Error {}
