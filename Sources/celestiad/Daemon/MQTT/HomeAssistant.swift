import Control
import FoundationEssentials
import Gateway
import MQTT

/// What Home Assistant is told: its MQTT discovery, and the states that it points to. Pure.
struct HomeAssistant: Sendable {
    /// Where Home Assistant looks, `homeassistant` unless it was changed there.
    var discoveryPrefix: String
    /// Where the states are.
    var topicPrefix: String
    /// Tells this hub from others; of letters and digits.
    let hub: String

    private var base: String { "\(topicPrefix)/\(hub)" }
    /// `online` or `offline`, the latter as our last will.
    var availabilityTopic: String { "\(base)/availability" }
    /// Where Home Assistant says that it has started, and has forgotten everything.
    var birthTopic: String { "\(discoveryPrefix)/status" }

    func availability(_ isOnline: Bool) -> MQTTMessage {
        MQTTMessage(availabilityTopic, isOnline ? "online" : "offline", isRetained: true)
    }

    /// Where it shows whether a broker is the one that we are connected to.
    var probeTopic: String { "\(base)/probe" }

    /// All that the broker is to keep, save `availability`.
    func retained(_ status: StatusDocument) -> [MQTTMessage] {
        discovery(status) + states(status) + status.recorders.map { availability($0, now: status.time) }
    }

    // MARK: Availability

    /// What was read from a recorder is not shown as if it were so now once it is older: as long as Zigbee2MQTT gives
    /// devices that sleep.
    static let staleAfter: TimeInterval = 25 * 3600

    private func availabilityTopic(_ recorder: RecorderDocument) -> String {
        "\(base)/\(Self.slug(recorder.id))/availability"
    }

    /// Whether a recorder's battery and storage are fresh. What was never read is unknown, not unavailable.
    private func availability(_ recorder: RecorderDocument, now: Date) -> MQTTMessage {
        let measured = [recorder.battery?.measuredAt, recorder.storage?.measuredAt].compactMap { $0 }.max()
        let isStale = measured.map { now.timeIntervalSince($0) > Self.staleAfter } ?? false
        return MQTTMessage(
            availabilityTopic(recorder), isStale ? "offline" : "online", isRetained: true)
    }

    // MARK: States

    /// The states of the hub and of each recorder, as one JSON object a topic.
    func states(_ status: StatusDocument) -> [MQTTMessage] {
        [MQTTMessage("\(base)/state", json(HubState(status)), isRetained: true)]
            + status.recorders.map { recorder in
                MQTTMessage(
                    "\(base)/\(Self.slug(recorder.id))/state", json(RecorderState(recorder)), isRetained: true
                )
            }
    }

    private struct HubState: Encodable {
        let queueFiles: Int
        let queueBytes: Int64
        let diskFree: Int64?
        let problem: String
        let problems: String
        let uploading: String

        init(_ status: StatusDocument) {
            let problems = status.health.filter { $0.severity != "info" }
            queueFiles = status.queue.pendingAssets
            queueBytes = status.queue.pendingBytes
            diskFree = status.disk?.freeBytes
            problem = problems.isEmpty ? "OFF" : "ON"
            // A state has 255 characters at most, and codes tell no names.
            self.problems = String(problems.map(\.code).joined(separator: ", ").prefix(250))
            uploading =
                status.transfers.contains { $0.leg == Transfer.Leg.hubToCloud.rawValue } ? "ON" : "OFF"
        }
    }

    private struct RecorderState: Encodable {
        let connected: String
        let battery: Int?
        let batteryMeasuredAt: Date?
        let storageFree: Int64?
        let storageSize: Int64?
        let pending: Int?
        let lastSync: Date?
        let lastSeen: Date?
        let problem: String

        init(_ recorder: RecorderDocument) {
            connected = ["syncing", "idle"].contains(recorder.link.state) ? "ON" : "OFF"
            battery = recorder.battery?.percent
            batteryMeasuredAt = recorder.battery?.measuredAt
            storageFree = recorder.storage?.freeBytes
            storageSize = recorder.storage?.totalBytes
            pending = recorder.pendingCaptures
            lastSync = recorder.lastSync
            lastSeen = recorder.lastSeen
            problem = recorder.incompleteSync != nil || recorder.lastError != nil ? "ON" : "OFF"
        }
    }

    private func json(_ value: some Encodable) -> String {
        (try? DocumentCoding.json(value)) ?? "{}"
    }

    // MARK: Discovery

    /// One thing that Home Assistant shows.
    private struct Entity {
        let component: String
        let key: String
        let name: String
        var deviceClass: String?
        var unit: String?
        var stateClass: String?
        var isDiagnostic = false
        /// Whether it was measured by the recorder, and grows old.
        var isMeasured = false
    }

    private static let ofRecorders = [
        Entity(
            component: "binary_sensor", key: "connected", name: "Connected", deviceClass: "connectivity",
            isDiagnostic: true),
        Entity(component: "binary_sensor", key: "problem", name: "Problem", deviceClass: "problem"),
        Entity(
            component: "sensor", key: "battery", name: "Battery", deviceClass: "battery", unit: "%",
            stateClass: "measurement", isMeasured: true),
        Entity(
            component: "sensor", key: "storage_free", name: "Storage free", deviceClass: "data_size",
            unit: "B", stateClass: "measurement", isMeasured: true),
        Entity(
            component: "sensor", key: "storage_size", name: "Storage", deviceClass: "data_size", unit: "B",
            isDiagnostic: true),
        Entity(component: "sensor", key: "pending", name: "Captures to pull", stateClass: "measurement"),
        Entity(component: "sensor", key: "last_sync", name: "Last sync", deviceClass: "timestamp"),
        Entity(
            component: "sensor", key: "last_seen", name: "Last seen", deviceClass: "timestamp",
            isDiagnostic: true),
    ]

    private static let ofHub = [
        Entity(component: "binary_sensor", key: "problem", name: "Problem", deviceClass: "problem"),
        Entity(
            component: "binary_sensor", key: "uploading", name: "Uploading", deviceClass: "running",
            isDiagnostic: true),
        Entity(component: "sensor", key: "problems", name: "Problems", isDiagnostic: true),
        Entity(component: "sensor", key: "queue_files", name: "Files to upload", stateClass: "measurement"),
        Entity(
            component: "sensor", key: "queue_bytes", name: "Bytes to upload", deviceClass: "data_size",
            unit: "B", stateClass: "measurement"),
        Entity(
            component: "sensor", key: "disk_free", name: "Disk free", deviceClass: "data_size", unit: "B",
            stateClass: "measurement", isDiagnostic: true),
    ]

    private struct Device: Encodable {
        let identifiers: [String]
        let name: String
        var manufacturer: String?
        var model: String?
        var swVersion: String?
        var hwVersion: String?
        var viaDevice: String?
    }

    private struct Origin: Encodable {
        let name = "celestiad"
        let swVersion = Version.number
    }

    private struct Discovery: Encodable {
        let name: String
        let uniqueId: String
        let defaultEntityId: String
        let stateTopic: String
        let valueTemplate: String
        /// All of them must say `online`.
        let availability: [[String: String]]
        let availabilityMode = "all"
        let deviceClass: String?
        let unitOfMeasurement: String?
        let stateClass: String?
        let entityCategory: String?
        let device: Device
        let origin = Origin()
    }

    /// The announcements, retained.
    func discovery(_ status: StatusDocument) -> [MQTTMessage] {
        let hubID = "celestiad_\(hub)"
        let hubDevice = Device(identifiers: [hubID], name: "celestiad", swVersion: status.daemon.version)
        var messages = Self.ofHub.map { announce($0, hubID, "\(base)/state", hubDevice) }
        for recorder in status.recorders {
            let slug = Self.slug(recorder.id)
            let device = Device(
                identifiers: ["\(hubID)_\(slug)"], name: Text.clean(recorder.name ?? recorder.id, limit: 60),
                manufacturer: recorder.manufacturer.map { Text.clean($0) },
                model: recorder.model.map { Text.clean($0) },
                swVersion: recorder.firmware.map { Text.clean($0) },
                hwVersion: recorder.hardware.map { Text.clean($0) },
                viaDevice: hubID)
            messages += Self.ofRecorders.map {
                announce(
                    $0, "\(hubID)_\(slug)", "\(base)/\(slug)/state", device,
                    availability: $0.isMeasured ? [availabilityTopic(recorder)] : [])
            }
        }
        return messages
    }

    private func topic(_ entity: Entity, _ id: String) -> String {
        "\(discoveryPrefix)/\(entity.component)/\(id)/\(entity.key)/config"
    }

    private func announce(
        _ entity: Entity, _ id: String, _ stateTopic: String, _ device: Device, availability: [String] = []
    ) -> MQTTMessage {
        MQTTMessage(
            topic(entity, id),
            json(
                Discovery(
                    name: entity.name, uniqueId: "\(id)_\(entity.key)",
                    defaultEntityId: "\(entity.component).\(id)_\(entity.key)".lowercased(),
                    stateTopic: stateTopic,
                    // What is not known is None, which Home Assistant shows as unknown.
                    valueTemplate: "{{ value_json.get('\(entity.key)') }}",
                    availability: ([availabilityTopic] + availability).map { ["topic": $0] },
                    deviceClass: entity.deviceClass, unitOfMeasurement: entity.unit,
                    stateClass: entity.stateClass,
                    entityCategory: entity.isDiagnostic ? "diagnostic" : nil, device: device)),
            isRetained: true)
    }

    /// A recorder says its own id: what a topic may not hold becomes `_`, with a mark that keeps ids apart.
    static func slug(_ id: String) -> String {
        let clean = id.unicodeScalars.prefix(64).map { scalar -> Character in
            scalar.isASCII && (Character(scalar).isLetter || Character(scalar).isNumber || scalar == "-")
                ? Character(scalar) : "_"
        }
        guard String(clean) != id else { return id }
        // FNV-1a.
        let mark = id.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return String(clean) + "_" + String(mark, radix: 16)
    }
}
