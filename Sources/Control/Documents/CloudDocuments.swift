package import FoundationEssentials

/// The account as the cloud shows it.
package struct ProfileDocument: Sendable, Hashable, Codable {
    /// The account's id.
    package var id: String
    package var username: String
    package var email: String?
    package var phoneNumber: String?
    package var avatarUrl: String?
    package var registeredAt: Date?
    package var updatedAt: Date?
    /// Where the account is.
    package var host: String

    package init(
        id: String, username: String, email: String? = nil, phoneNumber: String? = nil,
        avatarUrl: String? = nil, registeredAt: Date? = nil, updatedAt: Date? = nil, host: String
    ) {
        self.id = id
        self.username = username
        self.email = email
        self.phoneNumber = phoneNumber
        self.avatarUrl = avatarUrl
        self.registeredAt = registeredAt
        self.updatedAt = updatedAt
        self.host = host
    }
}

/// What to change of a profile; absent leaves a field as it is.
package struct ProfileChange: Sendable, Hashable {
    package var username: String?
    package var email: String?
    package var phoneNumber: String?
    package var avatarURL: String?

    package var isEmpty: Bool { self == ProfileChange() }

    package init(
        username: String? = nil, email: String? = nil, phoneNumber: String? = nil, avatarURL: String? = nil
    ) {
        self.username = username
        self.email = email
        self.phoneNumber = phoneNumber
        self.avatarURL = avatarURL
    }
}

/// What the cloud answered when it was asked just now.
package struct CloudStatusDocument: Sendable, Hashable, Codable {
    /// When it was asked.
    package var time: Date
    /// The API's address.
    package var host: String
    /// `ok`, `unwell` (it answers and says that it is not), `unreachable`; open.
    package var state: String
    /// What is wrong, where something is.
    package var message: String?
    /// What to do about it.
    package var hint: String?
    /// How long the answer took.
    package var roundTripMs: Int64?
    /// The hub's clock less the server's, to about a second; absent when the server told no time.
    package var clockSkewMs: Int64?
    package var account: AccountDocument
    /// Absent when it could not be asked for.
    package var quota: QuotaDocument?

    package init(
        time: Date, host: String, state: String, message: String? = nil, hint: String? = nil,
        roundTripMs: Int64? = nil, clockSkewMs: Int64? = nil, account: AccountDocument,
        quota: QuotaDocument? = nil
    ) {
        self.time = time
        self.host = host
        self.state = state
        self.message = message
        self.hint = hint
        self.roundTripMs = roundTripMs
        self.clockSkewMs = clockSkewMs
        self.account = account
        self.quota = quota
    }
}

/// The account's storage, as the cloud counts it.
package struct QuotaDocument: Sendable, Hashable, Codable {
    /// 0: the cloud does not say.
    package var totalBytes: Int64
    package var usedBytes: Int64
    /// May be less than `total_bytes` - `used_bytes`, and below 0.
    package var remainingBytes: Int64

    package init(totalBytes: Int64, usedBytes: Int64, remainingBytes: Int64) {
        self.totalBytes = totalBytes
        self.usedBytes = usedBytes
        self.remainingBytes = remainingBytes
    }
}

/// Sessions of the account, newest first.
package struct CloudSessionPage: Sendable, Hashable, Codable {
    /// How many match.
    package var total: Int
    package var offset: Int
    package var sessions: [CloudSessionDocument]
    /// Sessions of the answer that this version cannot read; absent when there are none.
    package var unreadable: Int?

    package init(total: Int, offset: Int, sessions: [CloudSessionDocument], unreadable: Int? = nil) {
        self.total = total
        self.offset = offset
        self.sessions = sessions
        self.unreadable = unreadable
    }
}

/// A session as the cloud has it.
package struct CloudSessionDocument: Sendable, Hashable, Codable {
    /// The cloud's id.
    package var id: String
    /// The id that its maker gave it; absent for some of other apps.
    package var clientId: String?
    package var title: String
    package var startedAt: Date?
    package var endedAt: Date?
    package var durationMs: Int64
    package var revision: Int64
    /// When it was deleted: what is left is a tombstone.
    package var deletedAt: Date?
    package var events: Int
    package var files: Int
    package var bytes: Int64
    /// The session of this hub's queue that it came from.
    package var session: String?
    /// Its files; absent from lists.
    package var assets: [CloudAssetDocument]?
    /// Files and events that this version cannot read; absent when there are none.
    package var unreadable: Int?

    package init(
        id: String, clientId: String? = nil, title: String, startedAt: Date? = nil, endedAt: Date? = nil,
        durationMs: Int64, revision: Int64, deletedAt: Date? = nil, events: Int, files: Int, bytes: Int64,
        session: String? = nil, assets: [CloudAssetDocument]? = nil, unreadable: Int? = nil
    ) {
        self.id = id
        self.clientId = clientId
        self.title = title
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.durationMs = durationMs
        self.revision = revision
        self.deletedAt = deletedAt
        self.events = events
        self.files = files
        self.bytes = bytes
        self.session = session
        self.assets = assets
        self.unreadable = unreadable
    }
}

/// A file as the cloud has it.
package struct CloudAssetDocument: Sendable, Hashable, Codable {
    /// The cloud's id.
    package var id: String
    package var clientId: String?
    /// `AUDIO` or `PHOTO`; open.
    package var kind: String
    /// As the cloud gives it: not a path.
    package var name: String
    package var mimeType: String
    package var bytes: Int64
    /// What the cloud says of its bytes.
    package var sha256: String
    package var createdAt: Date?

    package init(
        id: String, clientId: String? = nil, kind: String, name: String, mimeType: String, bytes: Int64,
        sha256: String, createdAt: Date? = nil
    ) {
        self.id = id
        self.clientId = clientId
        self.kind = kind
        self.name = name
        self.mimeType = mimeType
        self.bytes = bytes
        self.sha256 = sha256
        self.createdAt = createdAt
    }
}
