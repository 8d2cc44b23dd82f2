/// What to do after a call: every answer and every failure leads to exactly one of these.
package enum Outcome: Sendable, Equatable {
    /// Done, and the answer says so in every way it must.
    case success
    /// Nothing happened, or repeating is harmless: try again. The time is the server's wish, if it has one;
    /// `RetryPolicy` turns it into a delay.
    case retry(after: Duration?)
    /// The access token is not accepted: refresh and replay (the client does both by itself).
    case reauth
    /// The server does not know what the call refers to, or knows it otherwise: look up what exists, then
    /// begin that part anew (chunked upload: C-64, C-65, C-67, C-69; session gone: C-44; device: C-29).
    case reinit
    /// Somebody else changed it: fetch and merge. Never copy the revision into the next request.
    case conflict(serverRevision: Int64?)
    /// Waits for a change that repeating does not bring about. Nothing is lost or failed.
    case hold(HoldReason)
    /// The server may or may not have acted: look up before repeating.
    case ambiguous(after: Duration?)
    /// This very call can never succeed.
    case terminal(TerminalReason)
}

/// What a held call waits for.
package enum HoldReason: Sendable, Hashable {
    /// Storage quota; `required` and `remaining` bytes when the server says.
    case quota(required: Int64?, remaining: Int64?)
    /// The operator must log in.
    case authRequired
    /// What answers at this address is not the API: a captive portal, a wrong path, another service.
    case hostNotCelestia
    /// The server redirects, which is never followed.
    case redirected
    /// The certificate is not valid yet: the clock is probably wrong.
    case clockUnsynced
    /// The certificate is not trusted.
    case tlsUntrusted
    /// The account may not do this.
    case forbidden
    /// A gateway's body limit: send smaller pieces (C-4).
    case gatewayLimit
}

/// Why a call can never succeed.
package enum TerminalReason: Sendable, Hashable {
    /// The server refuses this content.
    case rejected
    /// The name or password is wrong.
    case credentialsRejected
    /// The name is taken.
    case alreadyExists
    /// The thing to fetch does not exist.
    case gone
    /// The local file is not what was promised.
    case localFile
    /// The call cannot be made as it is.
    case invalidCall
}

/// Everything that the decision depends on, and nothing else.
package struct CallResult: Sendable, Equatable {
    /// What the body is, judged by its content type and by trying to read it.
    package enum Body: Sendable, Equatable {
        /// No bytes.
        case empty
        /// `{code, message, …}`; `isUsable` when the data that this call needs is there and readable.
        case envelope(code: Int64, isUsable: Bool)
        /// Bytes of an asset, as asked for.
        case content
        /// HTML, other JSON, anything else.
        case foreign
    }

    /// Where a 401 stands within the token discipline (C-20).
    package enum Authorization: Sendable, Equatable {
        /// Sent with the token at hand.
        case current
        /// Sent with a token that was refreshed for this very request.
        case refreshed
        /// As `refreshed`, and another request had the same experience: the account is out.
        case revoked
    }

    package var call: CallKind
    package var transport: HTTPFailure?
    package var status: Int
    package var body: Body
    package var retryAfter: Duration?
    package var authorization: Authorization
    /// `data.serverRevision` of a conflict.
    package var serverRevision: Int64?
    /// `data.requiredBytes` and `data.remainingBytes` of a quota error.
    package var requiredBytes: Int64?
    package var remainingBytes: Int64?

    package init(
        call: CallKind, transport: HTTPFailure? = nil, status: Int = 0, body: Body = .empty,
        retryAfter: Duration? = nil, authorization: Authorization = .current, serverRevision: Int64? = nil,
        requiredBytes: Int64? = nil, remainingBytes: Int64? = nil
    ) {
        self.call = call
        self.transport = transport
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.authorization = authorization
        self.serverRevision = serverRevision
        self.requiredBytes = requiredBytes
        self.remainingBytes = remainingBytes
    }
}

extension Outcome {
    /// The time that the server wished for, where it did.
    package var wish: Duration? {
        switch self {
        case .retry(let after), .ambiguous(let after): after
        case .success, .reauth, .reinit, .conflict, .hold, .terminal: nil
        }
    }
}
