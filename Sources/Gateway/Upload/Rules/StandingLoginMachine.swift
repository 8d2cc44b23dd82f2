package import Cloud

/// When the hub logs in by itself, with the name and the password that its operator has left for that (upload.md C-18):
/// when there was no login at the start, and when one has ended that the user did not end. Pure.
package struct StandingLoginMachine: Sendable, Equatable {
    package enum Step: Sendable, Equatable {
        case rest
        /// Log in at that time.
        case logIn(at: ContinuousClock.Instant)
    }

    private var isWanted = false
    private var isRefused = false
    private var hasSeenState = false
    private var notBefore: ContinuousClock.Instant?

    package init() {}

    package func next(at now: ContinuousClock.Instant) -> Step {
        isWanted && !isRefused ? .logIn(at: notBefore ?? now) : .rest
    }

    /// `isOwn`: the login that there was is the one of the configuration, or there was none.
    package mutating func handle(_ state: TokenState, isOwn: Bool = true) {
        defer { hasSeenState = true }
        switch state {
        case .valid:
            isWanted = false
            notBefore = nil
        // After the start this is what the user asked for.
        case .loggedOut: isWanted = !hasSeenState
        // The file may be somebody's mistake: it is not written over.
        case .authRequired(.unreadable): isWanted = false
        // Another one is a user's to renew.
        case .authRequired: isWanted = isOwn
        }
    }

    /// An attempt failed for now.
    package mutating func failed(backoff: Duration, at now: ContinuousClock.Instant) {
        notBefore = now.advanced(by: backoff)
    }

    /// The name or the password is wrong: trying again could lock the account.
    package mutating func refused() {
        isRefused = true
    }
}
