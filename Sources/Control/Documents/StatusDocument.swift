package import FoundationEssentials

/// The whole state of the daemon at one moment.
package struct StatusDocument: Sendable, Hashable, Codable {
    /// The version that this program writes.
    package static let currentSchemaVersion = 1

    /// The version of all documents; grows with an incompatible change.
    package var schemaVersion: Int
    /// When this snapshot was made: every age counts from here.
    package var time: Date
    /// The program.
    package var daemon: DaemonDocument
    /// Who is logged in, and where.
    package var account: AccountDocument
    /// The Bluetooth adapters; empty: there is none.
    package var adapters: [AdapterDocument]
    /// The paired recorders.
    package var recorders: [RecorderDocument]
    /// What waits for the cloud.
    package var queue: QueueDocument
    /// The file system of the queue.
    package var disk: DiskDocument?
    /// What moves right now.
    package var transfers: [TransferDocument]
    /// What is wrong, worst first; empty: all is well.
    package var health: [HealthItem]

    package init(
        schemaVersion: Int = Self.currentSchemaVersion, time: Date, daemon: DaemonDocument,
        account: AccountDocument, adapters: [AdapterDocument] = [], recorders: [RecorderDocument] = [],
        queue: QueueDocument, disk: DiskDocument? = nil, transfers: [TransferDocument] = [],
        health: [HealthItem] = []
    ) {
        self.schemaVersion = schemaVersion
        self.time = time
        self.daemon = daemon
        self.account = account
        self.adapters = adapters
        self.recorders = recorders
        self.queue = queue
        self.disk = disk
        self.transfers = transfers
        self.health = health
    }
}

/// The program that runs.
package struct DaemonDocument: Sendable, Hashable, Codable {
    /// The program's version.
    package var version: String
    /// Since when it runs.
    package var startedAt: Date
    /// Whether its sandbox and network let it have the sockets of the faster data plane.
    package var bluetoothSockets: Bool?

    package init(
        version: String, startedAt: Date, bluetoothSockets: Bool? = nil
    ) {
        self.version = version
        self.startedAt = startedAt
        self.bluetoothSockets = bluetoothSockets
    }
}

/// The login at the cloud.
package struct AccountDocument: Sendable, Hashable, Codable {
    /// `logged_in`, `logged_out`, `expired`, `other_host`; open.
    package var state: String
    /// Who is logged in.
    package var name: String?
    /// Where: host and, unless it is the usual one, port.
    package var host: String?
    /// Since when it is in this state.
    package var since: Date?
    /// What the user should do, where there is something.
    package var action: String?

    package init(
        state: String, name: String? = nil, host: String? = nil, since: Date? = nil, action: String? = nil
    ) {
        self.state = state
        self.name = name
        self.host = host
        self.since = since
        self.action = action
    }
}

/// A Bluetooth adapter.
package struct AdapterDocument: Sendable, Hashable, Codable {
    /// The kernel's name, such as `hci0`; it may change.
    package var name: String
    /// The adapter's identity.
    package var address: String
    /// Whether it is on.
    package var powered: Bool
    /// `idle`, `scanning`, `off`, `blocked`, `gone`; open.
    package var state: String
    /// Why it cannot be used.
    package var reason: String?

    package init(
        name: String, address: String, powered: Bool, state: String, reason: String? = nil
    ) {
        self.name = name
        self.address = address
        self.powered = powered
        self.state = state
        self.reason = reason
    }
}

/// What the queue holds.
package struct QueueDocument: Sendable, Hashable, Codable {
    /// Sessions by state; states without a session are left out.
    package var states: [StateCount]
    /// Files that the cloud does not hold yet.
    package var pendingAssets: Int
    /// Bytes of those files.
    package var pendingBytes: Int64
    /// When the oldest session that is not in the cloud was made.
    package var oldestPending: Date?
    /// When the next upload is tried; absent while one is under way or none waits.
    package var nextTry: Date?
    /// Why uploads wait.
    package var reason: String?
    /// Sessions that are being sent or could be at once; absent from daemons that do not count them.
    package var readySessions: Int?
    /// What the other sessions wait for, one entry for each cause; absent when nothing waits.
    package var waits: [WaitDocument]?
    /// When the cloud was last asked how much storage is left.
    package var quotaAskedAt: Date?
    /// What the whole queue waits for (`low_disk` holds only the taking of files); absent when nothing.
    package var holds: [HoldDocument]?
    /// Requests that were sent and of which it is not known whether the cloud has them; absent when none.
    package var ambiguous: Int?

    package init(
        states: [StateCount] = [], pendingAssets: Int = 0, pendingBytes: Int64 = 0,
        oldestPending: Date? = nil, nextTry: Date? = nil, reason: String? = nil, readySessions: Int? = nil,
        waits: [WaitDocument]? = nil, quotaAskedAt: Date? = nil, holds: [HoldDocument]? = nil,
        ambiguous: Int? = nil
    ) {
        self.states = states
        self.pendingAssets = pendingAssets
        self.pendingBytes = pendingBytes
        self.oldestPending = oldestPending
        self.nextTry = nextTry
        self.reason = reason
        self.readySessions = readySessions
        self.waits = waits
        self.quotaAskedAt = quotaAskedAt
        self.holds = holds
        self.ambiguous = ambiguous
    }
}

/// How much is in one state.
package struct StateCount: Sendable, Hashable, Codable {
    /// A session's state.
    package var state: String
    /// How many sessions.
    package var sessions: Int

    package init(
        state: String, sessions: Int
    ) {
        self.state = state
        self.sessions = sessions
    }
}

/// The file system that holds the queue.
package struct DiskDocument: Sendable, Hashable, Codable {
    /// The queue's directory.
    package var path: String
    /// The file system's size.
    package var totalBytes: Int64
    /// What is free for us.
    package var freeBytes: Int64
    /// What is kept free: no file is pulled that would go below it.
    package var reserveBytes: Int64
    /// `ok`, `low`, `full`; open.
    package var state: String

    package init(
        path: String, totalBytes: Int64, freeBytes: Int64, reserveBytes: Int64, state: String
    ) {
        self.path = path
        self.totalBytes = totalBytes
        self.freeBytes = freeBytes
        self.reserveBytes = reserveBytes
        self.state = state
    }
}

/// One thing that is wrong.
package struct HealthItem: Sendable, Hashable, Codable {
    /// A stable name such as `adapter_off`.
    package var code: String
    /// `info`, `warning`, `error`; open.
    package var severity: String
    /// What is wrong.
    package var text: String
    /// What to do.
    package var hint: String?
    /// Since when.
    package var since: Date?

    /// The codes of what keeps every recorder from being reached.
    package static let bluetoothTroubles = [
        "bluetoothd_absent", "adapter_absent", "adapter_blocked", "adapter_off",
    ]

    package init(
        code: String, severity: String, text: String, hint: String? = nil, since: Date? = nil
    ) {
        self.code = code
        self.severity = severity
        self.text = text
        self.hint = hint
        self.since = since
    }
}

/// Which program answers.
package struct VersionDocument: Sendable, Hashable, Codable {
    /// The program's version.
    package var version: String
    /// Grows with every addition to the D-Bus API.
    package var apiVersion: Int

    package init(
        version: String, apiVersion: Int = 1
    ) {
        self.version = version
        self.apiVersion = apiVersion
    }
}
