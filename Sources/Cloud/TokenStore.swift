package import HTTP

/// Sends one refresh token and nothing else; never repeats by itself.
package protocol TokenRefreshing: Sendable {
    /// Throws `CloudError` with the outcome.
    func refresh(_ token: Secret) async throws(CloudError) -> AuthGrant
}

/// The only owner of the tokens: one refresh at a time, each pair durable before anyone may use it.
///
/// Runs on the executor it is given, since it waits for the disk; that must not be an event loop that others
/// need.
package actor TokenStore {
    private let executor: any SerialExecutor
    private let file: CredentialFile
    private let base: String
    private let machine: String
    private let refresher: any TokenRefreshing
    private let clock: ServerClock
    private let monotonic: @Sendable () -> ContinuousClock.Instant
    private let jitter: @Sendable () -> Double
    private var tokens = TokenMachine()
    private var isLoaded = false
    /// Logins and logouts so far.
    package private(set) var loginCount = 0
    /// From the beginning of a logout, which ends the tokens at the server, until they are forgotten here.
    private var isLeaving = false
    /// Granted but not yet durable: the disk refused. Never used, tried again before anything else.
    private var unsaved: Credentials?
    private var refreshing: Task<Result<AccessToken, CloudError>, Never>?
    /// How long before expiry to refresh; by the lifetime, once that is known.
    private var margin = Duration.seconds(60)
    private var nextAheadOfTime: ContinuousClock.Instant?
    private var observers: [Int: AsyncStream<TokenState>.Continuation] = [:]
    private var lastObserver = 0

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// `directory` is the state directory; `machine` any text that is this machine's own, such as its
    /// machine-id; `jitter` a factor around 1 for the time before expiry.
    package init(
        directory: String, base: APIBase, machine: String, refresher: any TokenRefreshing, clock: ServerClock,
        executor: any SerialExecutor,
        monotonic: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        jitter: @escaping @Sendable () -> Double = { Double.random(in: 0.9...1.1) }
    ) {
        file = CredentialFile(directory: directory)
        self.base = base.description
        self.machine = machine
        self.refresher = refresher
        self.clock = clock
        self.executor = executor
        self.monotonic = monotonic
        self.jitter = jitter
    }

    // MARK: State

    /// Reads the file on first use. Throws `storage` when that is not possible; an unreadable content is a
    /// state, not an error.
    package func state() throws(CloudError) -> TokenState {
        try load()
        return tokens.state
    }

    /// The login that is stored, whether or not the server still takes it.
    package func storedLogin() throws(CloudError) -> Login? {
        try load()
        return tokens.storedLogin
    }

    /// With `otherHost`: the address that the stored login is for.
    package func loginAddress() -> String? { tokens.foreignBase }

    /// The state now and after every change; a slow reader misses all but the latest.
    package func states() -> AsyncStream<TokenState> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TokenState.self, bufferingPolicy: .bufferingNewest(1))
        lastObserver += 1
        let id = lastObserver
        observers[id] = continuation
        continuation.onTermination = { _ in
            // Only to forget a finished reader; nothing waits for it.
            Task { await self.removeObserver(id) }
        }
        try? load()
        continuation.yield(tokens.state)
        return stream
    }

    private func removeObserver(_ id: Int) {
        observers[id] = nil
    }

    private func announce() {
        for observer in observers.values { observer.yield(tokens.state) }
    }

    private func load() throws(CloudError) {
        guard !isLoaded else { return }
        tokens.loaded(try file.load(), base: base, machine: machine)
        isLoaded = true
    }

    // MARK: Tokens

    /// The token to send. Refreshes ahead of expiry when the server's time is known; when that fails, the
    /// token at hand is given all the same, for only the server says whether it is dead (C-22).
    ///
    /// Throws `notLoggedIn`, or `storage`.
    package func token() async throws(CloudError) -> AccessToken {
        try load()
        try saveUnsaved()
        guard let current = tokens.current else { throw missing() }
        guard isDue else { return current }
        nextAheadOfTime = monotonic().advanced(by: .seconds(30))
        do throws(CloudError) {
            return try await refresh(of: current.generation)
        } catch {
            guard let stillCurrent = tokens.current else { throw error }
            return stillCurrent
        }
    }

    /// A newer token than `generation`, by a refresh if nobody made one yet; everybody who asks meanwhile
    /// waits for the same one. Cancelling a waiting task does not stop it: the server may have rotated.
    ///
    /// Throws `notLoggedIn`, also while a logout is under way that is not the caller's; `storage`, or the refresh's own
    /// error.
    package func refresh(
        of generation: UInt64, toLeave: Bool = false
    ) async throws(CloudError) -> AccessToken {
        try load()
        guard toLeave || !isLeaving else { throw .notLoggedIn("the login is being ended") }
        try saveUnsaved()
        switch tokens.wantsRefresh(of: generation) {
        case .use(let token): return token
        case .loggedOut, .authRequired: throw missing()
        case .refresh(let credentials):
            if let refreshing { return try await refreshing.value.get() }
            // Not a child of the caller: a rotation that is under way must reach the disk.
            let task = Task { await self.refreshNow(credentials) }
            refreshing = task
            return try await task.value.get()
        }
    }

    /// Returns when no refresh is under way any more; also when the task is cancelled.
    package func settle() async {
        guard let refreshing else { return }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let waiting = Task {
            _ = await refreshing.value
            end.finish()
        }
        for await _ in ends {}
        waiting.cancel()
    }

    private func refreshNow(_ credentials: Credentials) async -> Result<AccessToken, CloudError> {
        defer { refreshing = nil }
        let intent = tokens.intent(credentials)
        do throws(CloudError) {
            if intent != credentials {
                try file.save(intent)
                tokens.saved(intent)
            }
            var isLost = credentials.refreshInflight
            var attempt = await send(intent.refreshToken)
            if attempt.answer == .unknown {
                // C-18: one repetition tells a refresh that was never processed from a lost answer.
                isLost = true
                attempt = await send(intent.refreshToken)
            }
            // The actor was free meanwhile: the machine checks that the login is still the same.
            if case .save(let next) = tokens.refreshed(intent, wasLost: isLost, attempt.answer) {
                try persist(next)
            }
            announce()
            if let current = tokens.current, current.generation != intent.generation {
                return .success(current)
            }
            return .failure(tokens.current == nil ? missing() : attempt.error?.ofRefresh ?? missing())
        } catch {
            return .failure(error)
        }
    }

    private func send(_ token: Secret) async -> (answer: TokenMachine.RefreshAnswer, error: CloudError?) {
        do throws(CloudError) {
            return (.granted(try await refresher.refresh(token)), nil)
        } catch {
            switch error.outcome {
            case .hold(.authRequired): return (.refused, error)
            case .ambiguous: return (.unknown, error)
            default: return (.notSent, error)
            }
        }
    }

    /// A grant that the disk refuses stays in memory, unused, until it can be saved: the old pair is dead.
    private func persist(_ credentials: Credentials) throws(CloudError) {
        unsaved = credentials
        try saveUnsaved()
    }

    private func saveUnsaved() throws(CloudError) {
        guard let credentials = unsaved else { return }
        try file.save(credentials)
        unsaved = nil
        tokens.saved(credentials)
        setMargin(credentials)
        announce()
    }

    // MARK: Login and logout

    /// A new login replaces the old one; usable once this returns. Nothing is done, and false returned, when there was
    /// another login or logout since `loginCount` was `count`. Throws `storage`.
    package func adopt(
        _ grant: AuthGrant, identifier: String, ifStill count: Int? = nil
    ) throws(CloudError) -> Bool {
        try load()
        guard count == nil || count == loginCount else { return false }
        loginCount += 1
        isLeaving = false
        unsaved = nil
        try persist(tokens.loggedIn(grant, identifier: identifier, base: base, machine: machine))
        return true
    }

    /// A logout begins: from here on nobody else refreshes, for the server would take it for a stolen token's use.
    /// Returns when no refresh is under way any more, with the `loginCount` to end.
    func leave() async -> Int {
        isLeaving = true
        let count = loginCount
        await settle()
        return count
    }

    /// Forgets the tokens, here and on disk, unless there was another login or logout since `loginCount` was `count`.
    /// Throws `storage` when the file cannot be removed.
    package func logOut(ifStill count: Int? = nil) throws(CloudError) {
        guard count == nil || count == loginCount else { return }
        isLeaving = false
        unsaved = nil
        isLoaded = true
        loginCount += 1
        try file.remove()
        tokens.loggedOut()
        announce()
    }

    // MARK: What requests met

    /// A request with this token succeeded.
    func accepted(generation: UInt64) {
        tokens.accepted()
    }

    /// A request was refused right after its own refresh; returns whether the login is out.
    func refusedAfterRefresh(generation: UInt64) -> Bool {
        let isOut = tokens.refusedAfterRefresh(generation: generation)
        if isOut { announce() }
        return isOut
    }

    // MARK: Expiry

    private var isDue: Bool {
        guard let expiresAt = tokens.credentials?.expiresAt, let left = clock.timeLeft(until: expiresAt)
        else { return false }
        if let nextAheadOfTime, monotonic() < nextAheadOfTime { return false }
        return left < margin
    }

    /// At least a minute or a tenth of the lifetime, a little different for each token; never so much that a
    /// new token would be due at once.
    private func setMargin(_ credentials: Credentials) {
        guard let expiresAt = credentials.expiresAt, let lifetime = clock.timeLeft(until: expiresAt) else {
            return
        }
        let wanted = max(.seconds(60), lifetime / 10) * jitter()
        margin = max(.zero, min(wanted, lifetime / 2))
    }

    private func missing() -> CloudError {
        switch tokens.state {
        case .authRequired(let reason): .notLoggedIn(reason.explanation)
        case .loggedOut, .valid: .notLoggedIn("nobody is logged in")
        }
    }
}

extension CloudError {
    /// What a failed refresh means for the call that wanted it, and that has certainly not been made: it waits
    /// or is tried again, and is never ambiguous or over.
    fileprivate var ofRefresh: CloudError {
        let outcome: Outcome =
            switch self.outcome {
            case .hold, .retry: self.outcome
            case .ambiguous(let after): .retry(after: after)
            case .success, .reauth, .reinit, .conflict, .terminal: .retry(after: nil)
            }
        return CloudError(
            code, message, outcome: outcome, call: call, hint: hint, status: status,
            envelopeCode: envelopeCode, transport: transport)
    }
}
