import HTTP
import Testing

@testable import Cloud

@Suite struct TokenMachineTests {
    static func credentials(_ generation: UInt64 = 3, inflight: Bool = false) -> Credentials {
        Credentials(
            base: "https://h/v1", machine: "m1", generation: generation, account: "name:ada",
            identifier: "ada", user: nil,
            token: Secret("t\(generation)"), refreshToken: Secret("r\(generation)"), expiresAt: nil,
            refreshInflight: inflight)
    }

    private static let grant = AuthGrant(
        user: nil, token: Secret("t4"), refreshToken: Secret("r4"), expiresAt: nil)

    private func machine(_ credentials: Credentials = Self.credentials()) -> TokenMachine {
        var machine = TokenMachine()
        machine.loaded(.credentials(credentials), base: "https://h/v1", machine: "m1")
        return machine
    }

    @Test(arguments: [
        (CredentialFile.Content.absent, TokenState.loggedOut), (.unreadable, .authRequired(.unreadable)),
        (
            .credentials(TokenMachineTests.credentials()),
            .valid(Login(account: "name:ada", identifier: "ada", generation: 3))
        ),
    ])
    func theFileDecidesTheState(content: CredentialFile.Content, state: TokenState) {
        var machine = TokenMachine()
        machine.loaded(content, base: "https://h/v1", machine: "m1")
        #expect(machine.state == state)
    }

    @Test(arguments: [("https://h/v2", "m1", AuthReason.otherHost), ("https://h/v1", "m2", .otherMachine)])
    func tokensAreForOneAddressAndOneMachine(base: String, id: String, reason: AuthReason) {
        var machine = TokenMachine()
        machine.loaded(.credentials(Self.credentials()), base: base, machine: id)
        #expect(machine.state == .authRequired(reason))
        #expect(machine.current == nil)
        #expect(machine.wantsRefresh(of: 3) == .authRequired(reason))
    }

    @Test func anOlderGenerationJoinsWhatIsThere() {
        let machine = machine()
        #expect(machine.wantsRefresh(of: 2) == .use(AccessToken(Self.credentials())))
        #expect(machine.wantsRefresh(of: 3) == .refresh(Self.credentials()))
        #expect(TokenMachine().wantsRefresh(of: 1) == .loggedOut)
    }

    /// From a refresh's answer, and whether an earlier one may have been lost, to what is saved and the state.
    @Test(arguments: [
        (TokenMachine.RefreshAnswer.granted(grant), false, Optional(UInt64(4)), AuthReason?.none),
        (.granted(grant), true, 4, nil), (.refused, false, 3, .refused), (.refused, true, nil, .refreshLost),
        (.notSent, false, 3, nil), (.notSent, true, nil, nil), (.unknown, true, nil, nil),
    ])
    func aRefreshEndsWhereItMust(
        answer: TokenMachine.RefreshAnswer, wasLost: Bool, savedGeneration: UInt64?, reason: AuthReason?
    ) {
        var machine = machine()
        let intent = machine.intent(Self.credentials())
        #expect(intent.refreshInflight)
        machine.saved(intent)
        switch machine.refreshed(intent, wasLost: wasLost, answer) {
        case .save(let credentials):
            #expect(credentials.generation == savedGeneration)
            #expect(!credentials.refreshInflight)
            #expect(machine.credentials?.generation == 3, "not used before it is durable")
            machine.saved(credentials)
            #expect(machine.credentials?.generation == savedGeneration)
        case .none:
            #expect(savedGeneration == nil)
        }
        #expect(machine.reason == reason)
    }

    @Test func aRefreshThatALoginOvertookChangesNothing() {
        var machine = machine()
        let intent = machine.intent(Self.credentials())
        machine.saved(Self.credentials(9))
        for answer in [TokenMachine.RefreshAnswer.granted(Self.grant), .refused, .notSent, .unknown] {
            let effect = machine.refreshed(intent, wasLost: true, answer)
            #expect(effect == .none)
            #expect(machine.current?.generation == 9)
        }
        machine.loggedOut()
        let effect = machine.refreshed(intent, wasLost: false, .granted(Self.grant))
        #expect(effect == .none)
        #expect(machine.state == .loggedOut)
    }

    @Test func generationsNeverRepeatAcrossALogout() {
        var machine = machine(Self.credentials(7))
        machine.loggedOut()
        #expect(machine.loggedIn(Self.grant, identifier: "ada", base: "b", machine: "m").generation == 8)
    }

    @Test func twoDifferentRequestsMustAgreeThatTheLoginIsOut() {
        var machine = machine()
        var verdicts = [machine.refusedAfterRefresh(generation: 3)]
        machine.accepted()
        // An old token proves nothing.
        for generation: UInt64 in [3, 2, 3] {
            verdicts.append(machine.refusedAfterRefresh(generation: generation))
        }
        #expect(verdicts == [false, false, false, true])
        #expect(machine.state == .authRequired(.rejected))
    }
}
