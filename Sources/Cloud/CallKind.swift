package import HTTP

/// The operations of the API, as its contract names them, and what failure handling must know of each.
package enum CallKind: String, Sendable, CaseIterable {
    case health, register, login, refresh, logout
    case getProfile, updateProfile, changePassword
    case bindDevice, updateDevice, unbindDevice
    case listSessions, upsertSession
    case uploadAsset, initUpload, uploadChunk, completeUpload, downloadAsset
    case quota, triggerSync

    /// What it is for, in words for a user.
    package var title: String {
        switch self {
        case .health: "asking whether the cloud is there"
        case .register: "making an account"
        case .login: "logging in"
        case .refresh: "renewing the login"
        case .logout: "logging out"
        case .getProfile: "reading the profile"
        case .updateProfile: "changing the profile"
        case .changePassword: "changing the password"
        case .bindDevice: "adding a recorder to the account"
        case .updateDevice: "telling the account about a recorder"
        case .unbindDevice: "removing a recorder from the account"
        case .listSessions: "asking what the cloud has"
        case .upsertSession: "sending what a session is"
        case .uploadAsset: "sending a file"
        case .initUpload: "beginning to send a file in parts"
        case .uploadChunk: "sending a part of a file"
        case .completeUpload: "asking the cloud to join the parts of a file"
        case .downloadAsset: "reading a file"
        case .quota: "asking for free storage"
        case .triggerSync: "telling the cloud that all is there"
        }
    }

    /// Whether it carries the access token. An expired one on the others might be refused (C-7).
    package var needsToken: Bool {
        switch self {
        case .health, .register, .login, .refresh: false
        default: true
        }
    }

    /// Whether it may simply be repeated when nobody knows if the server acted. For the others that state must
    /// be reconciled first: the outcome is `ambiguous`.
    package var isRepeatable: Bool {
        switch self {
        case .register, .refresh, .changePassword, .upsertSession, .uploadAsset, .initUpload, .completeUpload:
            false
        default: true
        }
    }

    /// Whether a success means nothing without `data`.
    var needsData: Bool {
        switch self {
        case .logout, .changePassword, .unbindDevice, .health, .triggerSync: false
        default: true
        }
    }

    /// Never sent on a used connection, on which libcurl might send it twice.
    var needsFreshConnection: Bool {
        switch self {
        case .register, .login, .refresh, .changePassword, .initUpload, .completeUpload: true
        default: false
        }
    }

    /// The deadlines for a request that carries `bytes` of a file (upload.md 2.3).
    package func deadlines(bytes: Int64 = 0) -> HTTPDeadlines {
        switch self {
        case .uploadAsset, .uploadChunk, .downloadAsset:
            // A floor of 16 KiB/s is a hard ceiling, above which the watchdog decides sooner.
            HTTPDeadlines(
                total: .seconds(60 + max(0, bytes) / (16 << 10)),
                lowSpeed: HTTPDeadlines.LowSpeed(bytesPerSecond: 1024, window: .seconds(60)),
                stall: StallLimits())
        case .completeUpload:
            // The server merges before it answers; being impatient makes it merge again.
            HTTPDeadlines(total: APIAssumptions.completionTimeout)
        case .listSessions:
            HTTPDeadlines(total: .seconds(300))
        default:
            HTTPDeadlines(total: .seconds(30))
        }
    }

    /// The cap of the answer's body in bytes.
    var bodyLimit: Int {
        // The list is read as it comes, and is never in memory as a whole.
        self == .listSessions ? 1 << 30 : 1 << 20
    }
}
