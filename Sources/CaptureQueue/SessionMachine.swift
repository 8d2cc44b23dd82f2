/// The rules of a session's life: which input is legal in which state, and what follows.
///
/// Pure: no I/O, no clock. The queue performs the actions in the same transaction as the new state.
package struct SessionMachine: Sendable, Equatable {
    /// What the queue must do together with the change of state.
    package enum Action: Sendable, Equatable {
        /// Fix the target host for ever.
        case bindHost
        /// Count one more failed attempt.
        case countRetry
        /// Forget the scheduled time: the session may be taken up at once.
        case clearSchedule
        /// Forget the error and its count.
        case clearFailure
        /// Ask the server what it holds before anything is sent.
        case reconcile
        /// Abort what is being sent.
        case stopTransfers
        /// Plan the release of the local bytes.
        case scheduleRelease
        /// A sync checkpoint is due.
        case requestCheckpoint
        /// Nothing to do: the session is imported already.
        case suppress
    }

    /// Where the session is.
    package private(set) var state: SessionState

    package init(_ state: SessionState) { self.state = state }

    /// Takes one input; throws `illegalTransition` and changes nothing where the contract forbids it.
    package mutating func handle(_ input: SessionInput) throws(QueueError) -> [Action] {
        guard let (next, actions) = Self.step(state, input) else {
            throw QueueError(
                .illegalTransition, "a session that is \(state.words) \(input.refusal)")
        }
        state = next
        return actions
    }

    private typealias Step = (SessionState, [Action])

    private static func step(_ state: SessionState, _ input: SessionInput) -> Step? {
        switch state {
        case .draft: draft(input)
        case .queuedOffline: queuedOffline(input)
        case .uploading: uploading(input)
        case .awaitingConfirmation: awaitingConfirmation(input)
        case .imported: imported(input)
        case .failedRetryable: failedRetryable(input)
        case .failedTerminal: failedTerminal(input)
        case .cancelled: cancelled(input)
        }
    }

    private static func draft(_ input: SessionInput) -> Step? {
        switch input {
        case .sealed: (.queuedOffline, [])
        case .cancelRequested: (.cancelled, [])
        case .held, .retryRequested, .restarted: (.draft, [])
        case .attemptStarted, .attemptSuspended, .bytesSent, .confirmed, .notOnServer, .failedRetryably,
            .failedTerminally, .assetsRestored:
            nil
        }
    }

    private static func queuedOffline(_ input: SessionInput) -> Step? {
        switch input {
        case .attemptStarted: (.uploading, [.bindHost, .clearSchedule])
        case .failedRetryably: (.failedRetryable, [.countRetry])
        case .failedTerminally: (.failedTerminal, [])
        case .retryRequested: (.queuedOffline, [.clearSchedule])
        case .cancelRequested: (.cancelled, [])
        case .held, .attemptSuspended, .restarted: (.queuedOffline, [])
        case .sealed, .bytesSent, .confirmed, .notOnServer, .assetsRestored: nil
        }
    }

    private static func uploading(_ input: SessionInput) -> Step? {
        switch input {
        case .attemptSuspended: (.queuedOffline, [])
        case .bytesSent: (.awaitingConfirmation, [])
        case .failedRetryably: (.failedRetryable, [.countRetry])
        case .failedTerminally: (.failedTerminal, [.stopTransfers])
        case .held: (.queuedOffline, [.stopTransfers])
        case .restarted: (.queuedOffline, [.reconcile])
        case .retryRequested: (.uploading, [])
        case .cancelRequested: (.cancelled, [.stopTransfers])
        case .sealed, .attemptStarted, .confirmed, .notOnServer, .assetsRestored: nil
        }
    }

    private static func awaitingConfirmation(_ input: SessionInput) -> Step? {
        switch input {
        case .confirmed: (.imported, [.clearFailure, .scheduleRelease, .requestCheckpoint])
        case .notOnServer: (.queuedOffline, [.clearSchedule])
        case .attemptStarted: (.awaitingConfirmation, [.reconcile, .clearSchedule])
        case .restarted: (.awaitingConfirmation, [.reconcile])
        case .failedRetryably: (.failedRetryable, [.countRetry])
        case .failedTerminally: (.failedTerminal, [])
        case .retryRequested: (.awaitingConfirmation, [.reconcile, .clearSchedule])
        case .cancelRequested: (.cancelled, [.stopTransfers])
        case .held, .attemptSuspended, .bytesSent: (.awaitingConfirmation, [])
        case .sealed, .assetsRestored: nil
        }
    }

    private static func imported(_ input: SessionInput) -> Step? {
        switch input {
        case .retryRequested: (.imported, [.suppress])
        case .restarted: (.imported, [])
        case .sealed, .attemptStarted, .attemptSuspended, .bytesSent, .confirmed, .notOnServer,
            .failedRetryably, .failedTerminally, .held, .assetsRestored, .cancelRequested:
            nil
        }
    }

    private static func failedRetryable(_ input: SessionInput) -> Step? {
        switch input {
        case .attemptStarted: (.uploading, [.bindHost, .clearSchedule])
        case .failedRetryably: (.failedRetryable, [.countRetry])
        case .failedTerminally: (.failedTerminal, [])
        case .retryRequested: (.queuedOffline, [.clearSchedule])
        case .cancelRequested: (.cancelled, [])
        case .held, .attemptSuspended, .restarted: (.failedRetryable, [])
        case .sealed, .bytesSent, .confirmed, .notOnServer, .assetsRestored: nil
        }
    }

    private static func failedTerminal(_ input: SessionInput) -> Step? {
        switch input {
        case .retryRequested, .assetsRestored: (.queuedOffline, [.clearFailure, .clearSchedule])
        case .cancelRequested: (.cancelled, [])
        case .failedTerminally, .attemptSuspended, .restarted: (.failedTerminal, [])
        case .sealed, .attemptStarted, .bytesSent, .confirmed, .notOnServer, .failedRetryably, .held: nil
        }
    }

    private static func cancelled(_ input: SessionInput) -> Step? {
        switch input {
        case .cancelRequested, .attemptSuspended, .restarted: (.cancelled, [])
        case .sealed, .attemptStarted, .bytesSent, .confirmed, .notOnServer, .failedRetryably,
            .failedTerminally, .held, .assetsRestored, .retryRequested:
            nil
        }
    }
}
