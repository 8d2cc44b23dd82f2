package import Dates
package import HTTP

/// Whether requests can be authorised, and if not, what is missing.
package enum TokenState: Sendable, Equatable {
    case loggedOut
    case valid(Login)
    /// Uploads are held, nothing is lost; the operator must log in.
    case authRequired(AuthReason)
}

/// Who is logged in.
package struct Login: Sendable, Equatable {
    /// The same for every login of one account, and no other's.
    package let account: String
    /// The name that was used to log in.
    package let identifier: String
    package let user: CloudUser?
    package let generation: UInt64
    package let expiresAt: Timestamp?

    package init(
        account: String, identifier: String, user: CloudUser? = nil, generation: UInt64 = 1,
        expiresAt: Timestamp? = nil
    ) {
        self.account = account
        self.identifier = identifier
        self.user = user
        self.generation = generation
        self.expiresAt = expiresAt
    }

    /// What people call the account.
    package var name: String {
        guard let name = user?.username, !name.isEmpty else { return identifier }
        return name
    }
}

/// Why the operator must log in again.
package enum AuthReason: String, Sendable, CaseIterable {
    /// The server refuses the refresh token: it expired, or the password was changed elsewhere.
    case refused
    /// The answer to a refresh was lost, and the old token is refused: the new one never arrived (C-18).
    case refreshLost
    /// The server refuses freshly granted access tokens (C-20).
    case rejected
    /// The credentials file was copied from another machine (C-23).
    case otherMachine
    /// The credentials are for another address than the configured one (C-25).
    case otherHost
    /// The credentials file cannot be understood.
    case unreadable

    /// For people.
    package var explanation: String {
        switch self {
        case .refused: "the server no longer accepts this login"
        case .refreshLost: "the answer to a token refresh was lost, so the stored token is dead"
        case .rejected: "the server refuses even new tokens of this login"
        case .otherMachine: "the credentials file comes from another machine"
        case .otherHost: "the credentials are for another API address"
        case .unreadable: "the credentials file cannot be read"
        }
    }
}

/// A token to send, and which one it is.
package struct AccessToken: Sendable, Equatable {
    package let secret: Secret
    package let generation: UInt64
    /// Whose it is (`Login.account`).
    package let account: String

    init(_ credentials: Credentials) {
        secret = credentials.token
        generation = credentials.generation
        account = credentials.account
    }
}

/// The token discipline of upload.md C-17…C-25 without files, network or clock.
struct TokenMachine {
    /// What a refresh came to, once the one repetition of an ambiguous attempt is made.
    enum RefreshAnswer: Equatable {
        case granted(AuthGrant)
        /// 401: the token is not accepted.
        case refused
        /// Certainly not processed.
        case notSent
        /// Perhaps processed.
        case unknown
    }

    enum Effect: Equatable {
        /// Durably, before anything else is done.
        case save(Credentials)
        case none
    }

    enum Want: Equatable {
        /// Somebody refreshed meanwhile: use this.
        case use(AccessToken)
        /// Save, then send the refresh token.
        case refresh(Credentials)
        case loggedOut
        case authRequired(AuthReason)
    }

    private(set) var credentials: Credentials?
    private(set) var reason: AuthReason?
    /// The address that the stored login is for, where that is another one.
    private(set) var foreignBase: String?
    private var lastGeneration: UInt64 = 0
    private var refusals = 0

    var state: TokenState {
        if let reason { return .authRequired(reason) }
        return storedLogin.map { .valid($0) } ?? .loggedOut
    }

    var storedLogin: Login? {
        credentials.map {
            Login(
                account: $0.account, identifier: $0.identifier, user: $0.user, generation: $0.generation,
                expiresAt: $0.expiresAt)
        }
    }

    /// The token to send now.
    var current: AccessToken? {
        guard reason == nil else { return nil }
        return credentials.map { AccessToken($0) }
    }

    mutating func loaded(_ content: CredentialFile.Content, base: String, machine: String) {
        switch content {
        case .absent: break
        case .unreadable: reason = .unreadable
        case .credentials(let found):
            lastGeneration = max(lastGeneration, found.generation)
            if found.base != base {
                reason = .otherHost
                foreignBase = found.base
            } else if found.machine != machine {
                reason = .otherMachine
            } else {
                credentials = found
            }
        }
    }

    /// A login or registration. Save what it returns, then call `saved`.
    func loggedIn(_ grant: AuthGrant, identifier: String, base: String, machine: String) -> Credentials {
        Credentials(
            base: base, machine: machine, generation: lastGeneration + 1,
            account: Credentials.account(of: grant.user, identifier: identifier), identifier: identifier,
            user: grant.user, token: grant.token, refreshToken: grant.refreshToken,
            expiresAt: grant.expiresAt,
            refreshInflight: false)
    }

    /// The credentials are durable: only now may they be used (C-17).
    mutating func saved(_ credentials: Credentials) {
        // A new pair settles whatever was wrong with the old.
        if credentials.generation != self.credentials?.generation { reason = nil }
        self.credentials = credentials
        lastGeneration = max(lastGeneration, credentials.generation)
    }

    mutating func loggedOut() {
        credentials = nil
        reason = nil
        refusals = 0
    }

    /// A request with this generation was refused, or the token is about to expire.
    func wantsRefresh(of generation: UInt64) -> Want {
        if let reason { return .authRequired(reason) }
        guard let credentials else { return .loggedOut }
        if generation != credentials.generation {
            return .use(AccessToken(credentials))
        }
        return .refresh(credentials)
    }

    /// The intent to save before the refresh is sent.
    func intent(_ credentials: Credentials) -> Credentials {
        var intent = credentials
        intent.refreshInflight = true
        return intent
    }

    /// What follows from a refresh that was begun with `sent`; `wasLost` when an earlier answer to the same
    /// token may have been lost, in this run or before. The new state holds once the effect is done.
    mutating func refreshed(_ sent: Credentials, wasLost: Bool, _ answer: RefreshAnswer) -> Effect {
        // A login or logout came between: its result stands (C-19).
        guard let credentials, credentials.generation == sent.generation else { return .none }
        switch answer {
        case .granted(let grant):
            var next = loggedIn(
                grant, identifier: credentials.identifier, base: credentials.base,
                machine: credentials.machine)
            next.user = grant.user ?? credentials.user
            next.account = credentials.account
            return .save(next)
        case .refused where wasLost:
            reason = .refreshLost
            return .none
        case .notSent where wasLost:
            return .none
        case .refused, .notSent:
            if answer == .refused { reason = .refused }
            var cleared = credentials
            cleared.refreshInflight = false
            return .save(cleared)
        case .unknown:
            // The intent stays on disk until an answer settles it.
            return .none
        }
    }

    /// A request was accepted: earlier refusals were not the account's.
    mutating func accepted() {
        refusals = 0
    }

    /// A request was refused with a token of its own refresh. After two different requests the login is out
    /// (C-20); returns whether it is.
    mutating func refusedAfterRefresh(generation: UInt64) -> Bool {
        guard generation == credentials?.generation else { return reason != nil }
        refusals += 1
        if refusals >= 2 { reason = .rejected }
        return reason != nil
    }
}
