import EventLoop
import Testing

@testable import Gateway

@Suite struct RollCallTests {
    private let clock = ManualClock()

    private func take(_ parts: [RollCall.Part]) -> Task<[String], Never> {
        let rollCall = RollCall(parts, clock: clock)
        return Task { await rollCall.take(patience: .seconds(30)) }
    }

    @Test func endsAsSoonAsAllHaveAnswered() async {
        let missing = await take([.init("a") { true }, .init("b") { true }]).value
        #expect(missing.isEmpty)
    }

    @Test func namesWhoHasNotAnsweredAndWaitsForThemNoLonger() async {
        let stuck = Wakeup()
        defer { stuck.raise() }
        let silent = RollCall.Part("silent") {
            await stuck.wait()
            return true
        }
        let call = take([silent, .init("well") { true }, .init("ill") { false }])
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        // Whoever answers does so while the others are waited for, or not in time: both are possible for "well".
        #expect(await Set(call.value).subtracting(["well"]) == ["silent", "ill"])
    }

    @Test func aLateAnswerCounts() async {
        let late = Wakeup()
        let call = take([
            .init("late") {
                await late.wait()
                return true
            }
        ])
        await clock.waitForSleepers()
        late.raise()
        #expect(await call.value.isEmpty)
    }

    @Test func aLoopThatIsBusyDoesNotAnswer() async throws {
        let loop = try EventLoop.start()
        let gate = Locked(true)
        loop.submit { while gate.withLock({ $0 }) {} }
        let call = take([.init("loop", loop: loop)])
        await clock.waitForSleepers()
        clock.advance(by: .seconds(30))
        #expect(await call.value == ["loop"])
        gate.withLock { $0 = false }
        #expect(await take([.init("loop", loop: loop)]).value.isEmpty)
        loop.stop()
    }

    @Test func aLinkIsStuckOnlyWhileItShouldWork() {
        let pulse = LinkPulse()
        let start = ContinuousClock.now
        #expect(!pulse.isStuck(at: start.advanced(by: .seconds(86_400))))
        pulse.beat(at: start)
        #expect(!pulse.isStuck(at: start.advanced(by: .seconds(900))))
        #expect(pulse.isStuck(at: start.advanced(by: .seconds(901))))
        pulse.beat(at: start.advanced(by: .seconds(890)))
        #expect(!pulse.isStuck(at: start.advanced(by: .seconds(901))))
        pulse.rest()
        #expect(!pulse.isStuck(at: start.advanced(by: .seconds(86_400))))
    }
}
