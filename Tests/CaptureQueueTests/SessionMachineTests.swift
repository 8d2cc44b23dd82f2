import Testing

@testable import CaptureQueue

@Suite struct SessionMachineTests {
    typealias Row = [SessionInput: SessionState]

    /// The whole table, state by state; an input that is not listed is illegal.
    static let table: [SessionState: Row] = [
        .draft: [
            .sealed: .queuedOffline, .held: .draft, .retryRequested: .draft, .cancelRequested: .cancelled,
            .restarted: .draft,
        ],
        .queuedOffline: [
            .attemptStarted: .uploading, .attemptSuspended: .queuedOffline,
            .failedRetryably: .failedRetryable,
            .failedTerminally: .failedTerminal, .held: .queuedOffline, .retryRequested: .queuedOffline,
            .cancelRequested: .cancelled, .restarted: .queuedOffline,
        ],
        .uploading: [
            .attemptSuspended: .queuedOffline, .bytesSent: .awaitingConfirmation,
            .failedRetryably: .failedRetryable, .failedTerminally: .failedTerminal, .held: .queuedOffline,
            .retryRequested: .uploading, .cancelRequested: .cancelled, .restarted: .queuedOffline,
        ],
        .awaitingConfirmation: [
            .attemptStarted: .awaitingConfirmation, .attemptSuspended: .awaitingConfirmation,
            .bytesSent: .awaitingConfirmation, .confirmed: .imported, .notOnServer: .queuedOffline,
            .failedRetryably: .failedRetryable, .failedTerminally: .failedTerminal,
            .held: .awaitingConfirmation, .retryRequested: .awaitingConfirmation,
            .cancelRequested: .cancelled, .restarted: .awaitingConfirmation,
        ],
        .imported: [.retryRequested: .imported, .restarted: .imported],
        .failedRetryable: [
            .attemptStarted: .uploading, .attemptSuspended: .failedRetryable,
            .failedRetryably: .failedRetryable, .failedTerminally: .failedTerminal, .held: .failedRetryable,
            .retryRequested: .queuedOffline, .cancelRequested: .cancelled, .restarted: .failedRetryable,
        ],
        .failedTerminal: [
            .failedTerminally: .failedTerminal, .attemptSuspended: .failedTerminal,
            .assetsRestored: .queuedOffline, .retryRequested: .queuedOffline, .cancelRequested: .cancelled,
            .restarted: .failedTerminal,
        ],
        .cancelled: [.cancelRequested: .cancelled, .attemptSuspended: .cancelled, .restarted: .cancelled],
    ]

    @Test(arguments: SessionState.allCases, SessionInput.allCases)
    func step(_ state: SessionState, _ input: SessionInput) throws {
        var machine = SessionMachine(state)
        if let next = Self.table[state]?[input] {
            _ = try machine.handle(input)
            #expect(machine.state == next)
        } else {
            #expect(throws: QueueError.self) { _ = try machine.handle(input) }
            #expect(machine.state == state)
        }
    }

    @Test(arguments: [
        (SessionState.uploading, SessionInput.restarted, [SessionMachine.Action.reconcile]),
        (.awaitingConfirmation, .restarted, [.reconcile]),
        (.awaitingConfirmation, .confirmed, [.clearFailure, .scheduleRelease, .requestCheckpoint]),
        (.queuedOffline, .attemptStarted, [.bindHost, .clearSchedule]),
        (.failedRetryable, .failedRetryably, [.countRetry]),
        (.imported, .retryRequested, [.suppress]),
        (.uploading, .cancelRequested, [.stopTransfers]),
        (.failedTerminal, .retryRequested, [.clearFailure, .clearSchedule]),
    ])
    func actions(_ state: SessionState, _ input: SessionInput, _ expected: [SessionMachine.Action]) throws {
        var machine = SessionMachine(state)
        #expect(try machine.handle(input) == expected)
    }

    @Test func statesAreThoseOfTheContract() {
        let names = SessionState.allCases.map(\.rawValue)
        #expect(
            names == [
                "draft", "queued_offline", "uploading", "awaiting_confirmation", "imported",
                "failed_retryable", "failed_terminal", "cancelled",
            ])
    }

    /// F-20, of the machine itself: whatever else happens in whatever state, nothing but the user's word cancels.
    @Test(arguments: SessionState.allCases, SessionInput.allCases)
    func onlyTheUserCancels(_ state: SessionState, _ input: SessionInput) {
        var machine = SessionMachine(state)
        guard state != .cancelled, (try? machine.handle(input)) != nil else { return }
        #expect((machine.state == .cancelled) == (input == .cancelRequested))
    }
}
