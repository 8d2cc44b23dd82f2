import Cloud
import Testing

@testable import Gateway

/// When a hub logs in by itself.
@Suite struct StandingLoginTests {
    private static let valid = TokenState.valid(Login(account: "u1", identifier: "ada"))

    /// States one after the other → whether a login is wanted in the end.
    @Test(
        arguments: [
            ([], false), ([.loggedOut], true), ([valid], false), ([valid, .loggedOut], false),
            ([.loggedOut, valid, .loggedOut], false), ([valid, .authRequired(.refused)], true),
            ([.authRequired(.refreshLost)], true), ([.authRequired(.rejected), valid], false),
            ([.authRequired(.otherHost)], true), ([.authRequired(.otherMachine)], true),
            ([.authRequired(.unreadable)], false),
        ] as [([TokenState], Bool)])
    func whenItIsWanted(_ states: [TokenState], _ isWanted: Bool) {
        var machine = StandingLoginMachine()
        for state in states { machine.handle(state) }
        let now = ContinuousClock.now
        #expect(machine.next(at: now) == (isWanted ? .logIn(at: now) : .rest))
    }

    @Test func aFailureIsWaitedOutAndARefusalIsFinal() {
        var machine = StandingLoginMachine()
        machine.handle(.loggedOut)
        let now = ContinuousClock.now
        machine.failed(backoff: .seconds(7), at: now)
        #expect(machine.next(at: now) == .logIn(at: now.advanced(by: .seconds(7))))
        machine.refused()
        #expect(machine.next(at: now) == .rest)
        machine.handle(.authRequired(.refused))
        #expect(machine.next(at: now) == .rest)
    }
}
