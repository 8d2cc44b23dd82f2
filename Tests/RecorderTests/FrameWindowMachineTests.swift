import ObjectTransfer
import Testing

@testable import Recorder

@Suite struct FrameWindowMachineTests {
    @Test func framesInOrder() {
        var window = FrameWindowMachine(offset: 100, length: 30)
        #expect(window.start() == .start(offset: 100, length: 30, credits: 64))
        #expect(window.frame(offset: 100, count: 10) == .accept)
        #expect(window.frame(offset: 100, count: 10) == .ignore)
        #expect(window.frame(offset: 110, count: 20) == .accept)
        #expect(window.isComplete && window.credit() == nil)
    }

    @Test func gapRestartsFromTheGap() {
        var window = FrameWindowMachine(offset: 0, length: 1000)
        _ = window.start()
        #expect(window.frame(offset: 0, count: 10) == .accept)
        #expect(window.frame(offset: 20, count: 10) == .restart)
        #expect(window.start() == .start(offset: 10, length: 990, credits: 48))
        // Still from the first start.
        #expect(window.frame(offset: 30, count: 10) == .ignore)
        #expect(window.frame(offset: 10, count: 10) == .accept)
        // The start worked, so this is a new gap.
        #expect(window.frame(offset: 30, count: 10) == .restart)
    }

    @Test(arguments: [(0, 11), (5, 6)] as [(UInt32, Int)])
    func overrunFails(offset: UInt32, count: Int) {
        var window = FrameWindowMachine(offset: 0, length: 10)
        _ = window.start()
        if offset > 0 { #expect(window.frame(offset: 0, count: Int(offset)) == .accept) }
        guard case .fail(let error) = window.frame(offset: offset, count: count) else {
            Issue.record("an overrun was taken")
            return
        }
        #expect(error.code == .protocolViolation)
    }

    @Test func creditsComeInLots() {
        var window = FrameWindowMachine(offset: 0, length: 1000)
        _ = window.start()
        for index in 0..<15 {
            _ = window.frame(offset: UInt32(index), count: 1)
            #expect(window.credit() == nil)
        }
        _ = window.frame(offset: 15, count: 1)
        #expect(window.credit() == .credit(16))
        #expect(window.credit() == nil)
    }

    @Test func lossesLowerTheAllowanceAndSuccessRaisesIt() {
        var window = FrameWindowMachine(offset: 0, length: 1000)
        var credits: [UInt16] = []
        for _ in 0..<8 {
            if case .start(_, _, let count) = window.start() { credits.append(count) }
            _ = window.silence()
        }
        #expect(credits == [64, 48, 24, 12, 6, 3, 1, 1])
        _ = window.start()
        #expect(window.frame(offset: 0, count: 1) == .accept)
        #expect(window.credit() == .credit(2))
        #expect(window.allowance == 2)
    }

    @Test func fruitlessRestartsEnd() {
        var window = FrameWindowMachine(offset: 0, length: 10)
        _ = window.start()
        for _ in 0..<FrameWindowMachine.maximumFruitlessRestarts {
            #expect(window.silence() == .restart)
            _ = window.start()
        }
        guard case .fail(let error) = window.silence() else {
            Issue.record("restarts for ever")
            return
        }
        #expect(error.code == .stalled)
    }

    @Test func endOfTheLargestObject() {
        var window = FrameWindowMachine(offset: .max - 10, length: 10)
        #expect(window.start() == .start(offset: .max - 10, length: 10, credits: 64))
        #expect(window.frame(offset: .max - 10, count: 10) == .accept)
        #expect(window.isComplete)
    }
}
