import Gateway
import Testing

/// Always the largest random number: the longest delay.
private struct Highest: RandomNumberGenerator {
    // With a size: ThreadSanitizer looks at the address of what is passed inout, and nothing has none.
    let value = UInt64.max

    func next() -> UInt64 { value }
}

@Suite struct LinkMachineTests {
    private func run(_ outcomes: [LinkMachine.Outcome]) -> (LinkMachine, LinkMachine.Step) {
        var machine = LinkMachine()
        var generator = Highest()
        var step = machine.first
        for outcome in outcomes { step = machine.handle(outcome, using: &generator) }
        return (machine, step)
    }

    private static func failed(_ kind: LinkMachine.Failure.Kind) -> LinkMachine.Outcome {
        .failed(LinkMachine.Failure(kind, "why"))
    }

    @Test(
        arguments: [
            ([], .absent, .watch),
            ([.inReach], .connecting, .connect),
            ([.inReach, .connected], .resolving, .resolve),
            ([.inReach, .connected, .resolved], .syncing, .sync),
            ([.inReach, .connected, .resolved, .synced(progressed: true)], .idle, .linger),
            ([.inReach, .connected, .resolved, .synced(progressed: true), .wanted], .syncing, .sync),
            ([.inReach, failed(.adapterUnavailable)], .absent, .watch),
            ([.inReach, failed(.notPaired)], .backingOff, .waitForUser),
            (
                [
                    .inReach, .connected, failed(.keyMissing), .rested, .inReach, .connected,
                    failed(.keyMissing),
                ],
                .backingOff, .waitForUser
            ),
            ([.inReach, failed(.notPaired), .userActed], .absent, .watch),
        ] as [([LinkMachine.Outcome], LinkMachine.State, LinkMachine.Step)])
    func eachOutcomeLeadsToItsStep(
        outcomes: [LinkMachine.Outcome], state: LinkMachine.State, step: LinkMachine.Step
    ) {
        let (machine, next) = run(outcomes)
        #expect(machine.state == state)
        #expect(next == step)
    }

    @Test func delaysGrowUpToTheirCapAndASyncThatBroughtSomethingResetsThem() {
        var machine = LinkMachine()
        var generator = Highest()
        var delays: [Duration] = []
        for _ in 0..<12 {
            guard case .rest(let delay) = machine.handle(Self.failed(.transient), using: &generator) else {
                Issue.record("no rest")
                return
            }
            delays.append(delay)
        }
        #expect(delays == delays.sorted())
        #expect(delays.allSatisfy { $0 <= .seconds(360) })
        #expect(delays[0] < delays[5])
        _ = machine.handle(.synced(progressed: true), using: &generator)
        #expect(machine.handle(Self.failed(.transient), using: &generator) == .rest(delays[0]))
    }

    /// What the third failure of three waits for, as the second of a row or as the first again.
    @Test(
        arguments: [
            (.transient, true, true), (.endedByRecorder, true, true), (.transient, false, false),
            (.storage, true, false),
        ] as [(LinkMachine.Failure.Kind, Bool, Bool)])
    func aCutLinkThatBroughtBytesDoesNotMakeTheNextWaitLonger(
        kind: LinkMachine.Failure.Kind, hasProgressed: Bool, isAsTheFirst: Bool
    ) {
        let cut: [LinkMachine.Outcome] = [
            .inReach, .connected, .resolved,
            .failed(LinkMachine.Failure(kind, "cut", hasProgressed: hasProgressed)), .rested,
        ]
        let (_, first) = run(Array(cut.dropLast()))
        let (_, third) = run(Array((cut + cut + cut).dropLast()))
        #expect((first == third) == isAsTheFirst, "\(first) \(third)")
    }

    @Test func aSyncWithoutProgressDoesNotResetTheDelay() {
        let (_, first) = run([Self.failed(.transient)])
        let (_, second) = run([Self.failed(.transient), .synced(progressed: false), Self.failed(.transient)])
        #expect(first != second)
    }

    @Test func aForgottenBondIsNotTriedInALoop() {
        // Whatever happens around them, two refusals of our keys without a good link between them wait for the user.
        let (machine, step) = run([
            .inReach, Self.failed(.keyMissing), .rested, .inReach, Self.failed(.transient), .rested, .inReach,
            Self.failed(.keyMissing),
        ])
        #expect(step == .waitForUser)
        #expect(machine.reason == "why")
    }

    /// How often the recorder ends the link before anything is known of it, what else happens, and whether the user is
    /// told that the bond may be lost.
    @Test(
        arguments: [
            ([end, end], false), ([end, end, end], true),
            ([end, [.inReach, .connected, failed(.endedByRecorder), .rested], end], true),
            ([end, end, [.inReach, .connected, .resolved, failed(.endedByRecorder), .rested], end], false),
            ([end, end, [.userActed], end], false),
        ] as [([[LinkMachine.Outcome]], Bool)])
    func linksThatEndAtOnceMayMeanALostBond(_ outcomes: [[LinkMachine.Outcome]], isTold: Bool) {
        let (machine, step) = run(Array(outcomes.joined().dropLast()))
        #expect(machine.reason?.hasSuffix(LinkMachine.repairAdvice) == isTold)
        // It may also be a phone nearby: the hub goes on trying.
        guard case .rest = step else { return #expect(Bool(false), "\(step)") }
    }

    private static let end: [LinkMachine.Outcome] = [.inReach, failed(.endedByRecorder), .rested]
}
