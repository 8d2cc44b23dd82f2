import Recorder
import Testing

@testable import Gateway

@Suite struct CaptureNewsTests {
    private static func status(
        _ sealed: UInt16, recording: Bool = false, generation: UInt32 = 1
    ) -> CaptureStatus {
        CaptureStatus(
            flags: recording ? .recording : [], totalMiB: 100, freeMiB: 50, storageGeneration: generation,
            sealedCaptures: sealed)
    }

    /// What is told after a listing with one sealed capture, and whether there is reason to list again.
    @Test(
        arguments: [
            ([], false),
            ([status(1)], false),
            ([status(2)], true),
            // One is deleted, another one sealed: as many as before, and news all the same.
            ([status(0), status(1)], true),
            ([status(0)], false),
            ([status(1, recording: true)], false),
            ([status(1, recording: true), status(1)], true),
            ([status(1, generation: 2)], true),
        ] as [([CaptureStatus], Bool)])
    func isNews(_ told: [CaptureStatus], _ expected: Bool) async {
        let news = CaptureNews()
        news.note(Self.status(7))  // before the listing, and so of no account
        news.begin(with: Self.status(1))
        for status in told { news.note(status) }
        let waiting = Task {
            await news.wait()
            return !Task.isCancelled
        }
        if !expected { waiting.cancel() }
        #expect(await waiting.value == expected)
    }
}
