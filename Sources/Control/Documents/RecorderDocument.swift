package import FoundationEssentials

/// A recorder that this hub has paired with.
package struct RecorderDocument: Sendable, Hashable, Codable {
    /// Its serial number.
    package var id: String
    /// What the user calls it, or else the name that it tells.
    package var name: String?
    /// The name that it tells, where the user calls it otherwise.
    package var ownName: String?
    /// `bound`, `waiting` (the account has not been told yet), `unbound` (the user removed it: nothing is read from it
    /// until `celestiad device bind`); open.
    package var account: String?
    /// Model number (2A24).
    package var model: String?
    /// Manufacturer (2A29).
    package var manufacturer: String?
    /// Firmware revision (2A26).
    package var firmware: String?
    /// Hardware revision (2A27).
    package var hardware: String?
    /// Its Bluetooth address; may change.
    package var address: String?
    /// The address of the adapter that holds its bond.
    package var adapter: String?
    /// How it was paired: `numeric_comparison`, `passkey`, `just_works`; open.
    package var security: String?
    /// The last battery level.
    package var battery: BatteryDocument?
    /// The last storage figures.
    package var storage: StorageDocument?
    /// Whether it was recording when its status was last read.
    package var recording: Bool?
    /// Sealed captures on the recorder that are not yet whole in the queue.
    package var pendingCaptures: Int?
    /// The Bluetooth link.
    package var link: LinkDocument
    /// What carries file data: `coc`, `notification`; open.
    package var dataPlane: String?
    /// Why it is not the faster one, `coc`.
    package var dataPlaneReason: String?
    /// When it was last heard of.
    package var lastSeen: Date?
    /// When everything that it had was last in the queue.
    package var lastSync: Date?
    /// When its clock was last set.
    package var clockSet: Date?
    /// Why the last sync did not end well.
    package var lastError: String?
    /// When the last sync ended without everything, if it did; what is missing stays on the recorder.
    package var incompleteSync: Date?

    package init(
        id: String, name: String? = nil, ownName: String? = nil, account: String? = nil, model: String? = nil,
        manufacturer: String? = nil,
        firmware: String? = nil, hardware: String? = nil, address: String? = nil, adapter: String? = nil,
        security: String? = nil, battery: BatteryDocument? = nil, storage: StorageDocument? = nil,
        recording: Bool? = nil, pendingCaptures: Int? = nil, link: LinkDocument, dataPlane: String? = nil,
        dataPlaneReason: String? = nil,
        lastSeen: Date? = nil, lastSync: Date? = nil, clockSet: Date? = nil, lastError: String? = nil,
        incompleteSync: Date? = nil
    ) {
        self.id = id
        self.name = name
        self.ownName = ownName
        self.account = account
        self.model = model
        self.manufacturer = manufacturer
        self.firmware = firmware
        self.hardware = hardware
        self.address = address
        self.adapter = adapter
        self.security = security
        self.battery = battery
        self.storage = storage
        self.recording = recording
        self.pendingCaptures = pendingCaptures
        self.link = link
        self.dataPlane = dataPlane
        self.dataPlaneReason = dataPlaneReason
        self.lastSeen = lastSeen
        self.lastSync = lastSync
        self.clockSet = clockSet
        self.lastError = lastError
        self.incompleteSync = incompleteSync
    }
}

/// A battery level.
package struct BatteryDocument: Sendable, Hashable, Codable {
    /// 0…100.
    package var percent: Int
    /// When it was read.
    package var measuredAt: Date

    package init(
        percent: Int, measuredAt: Date
    ) {
        self.percent = percent
        self.measuredAt = measuredAt
    }
}

/// A recorder's storage.
package struct StorageDocument: Sendable, Hashable, Codable {
    /// Its size.
    package var totalBytes: Int64
    /// What is free.
    package var freeBytes: Int64
    /// When it was read.
    package var measuredAt: Date

    package init(
        totalBytes: Int64, freeBytes: Int64, measuredAt: Date
    ) {
        self.totalBytes = totalBytes
        self.freeBytes = freeBytes
        self.measuredAt = measuredAt
    }
}

/// The link to a recorder.
package struct LinkDocument: Sendable, Hashable, Codable {
    /// `absent`, `seen`, `connecting`, `pairing`, `resolving`, `syncing`, `idle`, `backing_off`; open.
    package var state: String
    /// Why it is so.
    package var reason: String?
    /// Since when.
    package var since: Date?
    /// When the next connection is tried.
    package var nextTry: Date?
    /// Signal strength in dBm, when it was last heard.
    package var rssi: Int?

    package init(
        state: String, reason: String? = nil, since: Date? = nil, nextTry: Date? = nil, rssi: Int? = nil
    ) {
        self.state = state
        self.reason = reason
        self.since = since
        self.nextTry = nextTry
        self.rssi = rssi
    }
}

/// A recorder in the air.
package struct ScanResultDocument: Sendable, Hashable, Codable {
    /// Its Bluetooth address.
    package var address: String
    /// The name it advertises: not an identity.
    package var name: String?
    /// What it is, where the advertisement says so.
    package var model: String?
    /// Signal strength in dBm.
    package var rssi: Int?
    /// Whether it says that it is in pairing mode.
    package var pairing: Bool?
    /// Whether this hub has a bond with it.
    package var paired: Bool
    /// Its id, when it is paired.
    package var recorder: String?
    /// When it was last heard.
    package var seenAt: Date

    package init(
        address: String, name: String? = nil, model: String? = nil, rssi: Int? = nil, pairing: Bool? = nil,
        paired: Bool, recorder: String? = nil, seenAt: Date
    ) {
        self.address = address
        self.name = name
        self.model = model
        self.rssi = rssi
        self.pairing = pairing
        self.paired = paired
        self.recorder = recorder
        self.seenAt = seenAt
    }
}

/// What pairing led to.
package struct PairResultDocument: Sendable, Hashable, Codable {
    /// The recorder, as read over the new link.
    package var recorder: RecorderDocument
    /// Nothing was done, because it was paired before.
    package var alreadyPaired: Bool

    package init(
        recorder: RecorderDocument, alreadyPaired: Bool
    ) {
        self.recorder = recorder
        self.alreadyPaired = alreadyPaired
    }
}
