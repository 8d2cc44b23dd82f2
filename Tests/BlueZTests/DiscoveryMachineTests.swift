import Testing

@testable import BlueZ

@Suite struct DiscoveryMachineTests {
    typealias Step = (DiscoveryMachine.Input, [DiscoveryMachine.Action])

    private static let check = DiscoveryMachine.checkInterval
    private static let grace = DiscoveryMachine.grace

    /// Feeds the inputs and compares what each makes the machine do.
    private func expect(_ steps: [Step], ends phase: DiscoveryMachine.Phase, _ comment: Comment) {
        var machine = DiscoveryMachine()
        for (index, (input, actions)) in steps.enumerated() {
            #expect(machine.handle(input) == actions, "\(comment), step \(index): \(input)")
        }
        #expect(machine.phase == phase, comment)
    }

    private static let scanning: [Step] = [
        (.wanted(true), []), (.powered(true), [.start]), (.startEnded(.started), [.schedule(1, check)]),
        (.discovering(true), []),
    ]

    @Test func itScansWhileItIsWantedAndCan() {
        expect(Self.scanning, ends: .scanning, "starts")
        expect(
            Self.scanning + [(.wanted(false), [.stop]), (.wanted(false), []), (.stopEnded, [])], ends: .idle,
            "stops")
        expect(
            [(.powered(true), []), (.wanted(true), [.start]), (.wanted(true), [])], ends: .starting, "once")
        expect(
            [
                (.powered(true), []), (.wanted(true), [.start]), (.discovering(true), []),
                (.startEnded(.alreadyScanning), [.schedule(1, Self.check)]),
            ],
            ends: .scanning, "in progress is scanning")
        expect(
            Self.scanning + [(.powered(false), []), (.powered(true), [.start])], ends: .starting,
            "an adapter that was off scans again")
    }

    @Test func itStandsStillWhileADeviceIsConnected() {
        expect(
            Self.scanning + [
                (.paused(true), [.stop]), (.stopEnded, []), (.discovering(false), []),
                (.paused(false), [.start]),
            ], ends: .starting, "pauses")
        expect(
            [
                (.powered(true), []), (.wanted(true), [.start]), (.paused(true), []),
                (.startEnded(.started), [.schedule(1, Self.check), .stop]), (.stopEnded, []),
            ], ends: .idle, "a pause while it starts")
        expect(
            Self.scanning + [(.paused(true), [.stop]), (.paused(false), []), (.stopEnded, [.start])],
            ends: .starting,
            "a pause that is over before it began")
    }

    @Test func failuresAreRepeatedEverMoreSlowly() {
        var steps: [Step] = [(.powered(true), []), (.wanted(true), [.start])]
        for (index, seconds) in [1, 2, 4, 8, 16, 32, 32].enumerated() {
            steps += [
                (.startEnded(.failed), [.schedule(index + 1, .seconds(seconds))]),
                (.timer(index + 1), [.start]),
            ]
        }
        expect(steps + [(.startEnded(.started), [.schedule(8, Self.check)])], ends: .scanning, "backs off")
        expect(Array(steps.prefix(3)) + [(.wanted(false), []), (.timer(1), [])], ends: .idle, "gives up")
    }

    /// After a crash of bluetoothd the controller goes on for ten seconds, and the next bluetoothd cannot use it.
    @Test func aControllerThatIsBusyAndSaysNothingIsAskedAgain() {
        var steps: [Step] = [(.powered(true), []), (.wanted(true), [.start])]
        for (index, seconds) in [1, 2, 4].enumerated() {
            steps += [
                (.startEnded(.alreadyScanning), [.schedule(2 * index + 1, .seconds(seconds))]),
                (.timer(2 * index + 1), [.stop]), (.stopEnded, [.start]),
            ]
        }
        expect(steps + [(.startEnded(.started), [.schedule(7, Self.check)])], ends: .scanning, "asks again")
        let busy = Array(steps.prefix(3))
        expect(
            busy + [(.discovering(true), [.schedule(2, Self.check)]), (.timer(1), [])], ends: .scanning,
            "it scans after all")
        expect(busy + [(.wanted(false), [.stop]), (.stopEnded, [])], ends: .idle, "nobody wants it any more")
    }

    @Test func ninetyQuietSecondsRestartIt() {
        let quiet: [Step] = [
            (.timer(1), [.schedule(2, Self.check)]), (.timer(2), [.schedule(3, Self.check)]),
        ]
        expect(
            Self.scanning + quiet + [(.timer(3), [.stop]), (.stopEnded, [.start])], ends: .starting,
            "restarts")
        expect(
            Self.scanning + quiet + [(.advertisement, []), (.timer(3), [.schedule(4, Self.check)])],
            ends: .scanning, "an advertisement is life")
        expect(Self.scanning + [(.timer(0), []), (.timer(7), [])], ends: .scanning, "void timers")
    }

    @Test func aScanThatAnotherEndedIsAsserted() {
        let ended: [Step] = [(.discovering(false), [.schedule(2, Self.grace)])]
        expect(
            Self.scanning + ended + [(.timer(2), [.stop]), (.stopEnded, [.start])], ends: .starting,
            "restarts")
        expect(
            Self.scanning + ended + [(.discovering(true), [.schedule(3, Self.check)]), (.timer(2), [])],
            ends: .scanning, "came back by itself")
        expect(
            Array(Self.scanning.dropLast()) + [
                (.timer(1), [.schedule(2, Self.grace)]), (.timer(2), [.stop]),
            ],
            ends: .stopping, "never began")
    }
}
