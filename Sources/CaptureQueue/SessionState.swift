/// The states of a capture session, exactly those of the capture-session contract.
package enum SessionState: String, Sendable, CaseIterable, SQLConvertible {
    /// Known, its files still on their way into the spool.
    case draft
    /// Every file is durable here; nothing is being sent.
    case queuedOffline = "queued_offline"
    /// Being sent to its host.
    case uploading
    /// Every byte is sent; the host has not confirmed all of it.
    case awaitingConfirmation = "awaiting_confirmation"
    /// The host holds every file with the same SHA-256, and the receipt is stored. Terminal.
    case imported
    /// The last attempt failed; the next is scheduled.
    case failedRetryable = "failed_retryable"
    /// Cannot go on without somebody's help; the bytes stay.
    case failedTerminal = "failed_terminal"
    /// Discarded by the user; the bytes stay until they are purged.
    case cancelled
}

extension SessionState {
    /// As people read it.
    package var words: String { rawValue.replacing("_", with: " ") }
}

extension SessionInput {
    /// That it does not go with a state, as people read it.
    var refusal: String {
        switch self {
        case .retryRequested: "cannot be tried again"
        case .cancelRequested: "cannot be cancelled"
        case .held: "cannot be made to wait"
        case .attemptStarted: "cannot be sent"
        case .attemptSuspended: "is not being sent"
        case .assetsRestored: "does not take files back"
        case .sealed: "is complete already"
        case .bytesSent, .confirmed, .notOnServer, .failedRetryably, .failedTerminally, .restarted:
            "is not on its way to the cloud"
        }
    }
}

/// Why a session is `failed_terminal`: the contract knows no other reasons.
package enum TerminalReason: String, Sendable, CaseIterable, SQLConvertible {
    /// The stored file of an asset is gone.
    case assetMissing = "asset_missing"
    /// The stored file of an asset is not what was stored.
    case assetCorrupt = "asset_corrupt"
    /// The account was told to a fresh login that it has no access.
    case authRevoked = "auth_revoked"
    /// The session's host is no host that it may be sent to.
    case invalidHost = "invalid_host"
}

/// Why a session, or the whole queue, waits. A hold is a reason on a state, not a state.
package enum HoldReason: String, Sendable, CaseIterable, SQLConvertible {
    case quota, auth, conflict, paused
    case lowDisk = "low_disk"
    case metered, clock
    case remoteDeleted = "remote_deleted"
    /// It is not known whether the server has it, and looking did not tell.
    case ambiguous
    /// The server says that the request itself is wrong.
    case rejected
    /// It belongs to another account than the one that is logged in.
    case otherAccount = "other_account"

    /// What ends the hold of the session that is called so on the command line, in words for a user.
    package func clearedBy(session id: String) -> String {
        switch self {
        case .conflict, .ambiguous:
            "celestiad session reconcile \(id), which looks at what the cloud has, or retry once it is the same or gone there"
        case .paused: "celestiad session resume \(id)"
        case .remoteDeleted:
            "celestiad session retry \(id), once it is restored in the cloud; or cancel"
        case .otherAccount:
            "a login to its account; or celestiad session migrate \(id), which gives it to the one that is logged in"
        case .rejected: "celestiad session retry \(id), once what the cloud objects to has changed"
        case .quota, .auth, .lowDisk, .metered, .clock: clearedBy
        }
    }

    /// What ends the hold of the whole queue, for a host.
    package var clearedBy: String {
        switch self {
        case .quota: "free storage in the cloud account, or a larger quota; celestiad sync asks at once"
        case .auth: "celestiad login"
        case .paused:
            "its address in the configuration again ([Cloud] URL), or celestiad session migrate for each session"
        case .lowDisk: "free space on the hub's disk"
        case .metered: "an unmetered network"
        case .clock: "the hub's clock being set"
        case .conflict, .remoteDeleted, .ambiguous, .rejected, .otherAccount:
            "celestiad sessions --attention, which shows them"
        }
    }

    /// Whether nothing but a decision of a user ends it.
    package var needsUser: Bool {
        switch self {
        case .conflict, .paused, .remoteDeleted, .ambiguous, .rejected, .otherAccount: true
        case .quota, .auth, .lowDisk, .metered, .clock: false
        }
    }
}

/// What is reported about a session, by the outside or by the queue itself.
package enum SessionInput: String, Sendable, CaseIterable {
    /// Every file is durable (or known to be unobtainable).
    case sealed
    /// The uploader takes the session up.
    case attemptStarted = "attempt_started"
    /// The uploader puts it down without a failure.
    case attemptSuspended = "attempt_suspended"
    /// The last byte is sent.
    case bytesSent = "bytes_sent"
    /// Every file and the metadata are confirmed.
    case confirmed
    /// The server, asked, does not hold what was sent.
    case notOnServer = "not_on_server"
    /// An attempt failed in a way that another may not.
    case failedRetryably = "failed_retryably"
    /// A reason of `TerminalReason` came up.
    case failedTerminally = "failed_terminally"
    /// A hold was placed.
    case held
    /// A lost or damaged file was read again.
    case assetsRestored = "assets_restored"
    /// The user asks for another attempt.
    case retryRequested = "retry_requested"
    /// The user discards the session.
    case cancelRequested = "cancel_requested"
    /// The queue was opened and finds the session in this state.
    case restarted
}
