import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct EventLoopTests {
    private actor Pinned {
        let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
        var value = 0

        init(loop: EventLoop) { self.loop = loop }

        func isOnLoop() -> Bool { loop.isOnLoop }
        func increment() { value += 1 }

        func firstEvent(on fd: Int32) async throws -> FDEvents {
            var watch: FDWatch?
            let events = await withCheckedContinuation { continuation in
                watch = try? loop.watch(fd, for: .readable) { events in
                    self.assumeIsolated { _ in }
                    watch?.cancel()
                    continuation.resume(returning: events)
                }
            }
            return events
        }
    }

    @Test func actorsPinnedToALoopRunOnItsThread() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let pinned = Pinned(loop: loop)
        #expect(await pinned.isOnLoop())
        #expect(!loop.isOnLoop)
    }

    @Test func jobsFromManyTasksAllRun() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let pinned = Pinned(loop: loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 { group.addTask { await pinned.increment() } }
        }
        #expect(await pinned.value == 1000)
    }

    @Test func aReadyDescriptorCallsItsHandler() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        var byte: UInt8 = 1
        try #require(write(ends[1], &byte, 1) == 1)
        #expect(try await Pinned(loop: loop).firstEvent(on: ends[0]).contains(.readable))
    }

    @Test func timersFireInOrderOfTheirDueTimeAndCancelledOnesDoNot() throws {
        let clock = ManualClock()
        let loop = try EventLoop.manual(time: { clock.now })
        var fired: [Int] = []
        for delay in [30, 10, 20] {
            _ = loop.schedule(after: .seconds(delay)) { fired.append(delay) }
        }
        loop.schedule(after: .seconds(15)) { fired.append(15) }.cancel()
        loop.turn()
        #expect(fired.isEmpty)
        clock.advance(by: .seconds(20))
        loop.turn()
        #expect(fired == [10, 20])
        clock.advance(by: .seconds(3600))
        loop.turn()
        #expect(fired == [10, 20, 30])
    }

    @Test func aWatchCancelledByAnEarlierHandlerOfTheTurnIsNotCalled() throws {
        let loop = try EventLoop.manual(time: { ContinuousClock.now })
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        var watches: [FDWatch] = []
        var calls = 0
        for end in ends {
            watches.append(
                try loop.watch(end, for: .writable) { _ in
                    calls += 1
                    for watch in watches { watch.cancel() }
                })
        }
        loop.turn()
        #expect(calls == 1)
    }
}

@Suite struct SignalSourceTests {
    @Test func signalsToTheProcessArriveAsASequence() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        var signals = try SignalSource.stream([SIGUSR2], on: loop).makeAsyncIterator()
        // To the process: whichever thread gets it, the main thread that waits in sigsuspend included.
        for _ in 0..<3 {
            kill(getpid(), SIGUSR2)
            #expect(await signals.next() == SIGUSR2)
        }
    }
}

@Suite struct LoopClockTests {
    @Test func aSleepEndsAtItsTimeOrWithItsTask() async throws {
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let clock = LoopClock(loop: loop)
        try await clock.sleep(for: .milliseconds(1))
        let task = Task { try await clock.sleep(for: .seconds(3600)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func cancelledTimersDoNotPileUp() throws {
        let clock = ManualClock()
        let loop = try EventLoop.manual(time: { clock.now })
        var fired: [Int] = []
        for index in 0..<10_000 {
            let timer = loop.schedule(after: .seconds(index)) { fired.append(index) }
            if index % 1000 != 0 { timer.cancel() }
        }
        #expect(loop.pendingTimers < 200)
        clock.advance(by: .seconds(20_000))
        loop.turn()
        #expect(fired == (0..<10).map { $0 * 1000 })
    }
}

@Suite struct ManualClockTests {
    @Test func anHourOfSleepPassesAtOnce() async throws {
        let clock = ManualClock()
        async let slept: Void = clock.sleep(for: .seconds(3600))
        await clock.waitForSleepers()
        clock.advance(by: .seconds(3600))
        try await slept
    }

    @Test func aCancelledSleeperThrows() async {
        let clock = ManualClock()
        let task = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

@Suite struct LockedTests {
    @Test func incrementsFromManyThreadsAreAllSeen() async {
        let counter = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { for _ in 0..<100 { counter.withLock { $0 += 1 } } } }
        }
        #expect(counter.withLock { $0 } == 10_000)
    }
}
