package import Dates

/// A recorder as the account knows it.
package struct CloudDevice: Sendable, Equatable, Decodable {
    package let id: String
    package let name: String
    package let peripheralUUID: String
    package let hardwareMAC: String?
    package let batteryLevel: Int?
    package let firmwareVersion: String?
    package let freeStorageMB: Int?
    package let totalStorageMB: Int?
    package let isConnected: Bool?
    package let boundAt: Timestamp?
    package let updatedAt: Timestamp?

    private enum CodingKeys: CodingKey {
        case id, name, peripheralUUID, hardwareMAC, batteryLevel, firmwareVersion, freeStorageMB
        case totalStorageMB, isConnected, boundAt, updatedAt
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        name = fields.lenient(String.self, .name) ?? ""
        peripheralUUID = fields.lenient(String.self, .peripheralUUID) ?? ""
        hardwareMAC = fields.lenient(String.self, .hardwareMAC)
        batteryLevel = fields.lenient(Int.self, .batteryLevel)
        firmwareVersion = fields.lenient(String.self, .firmwareVersion)
        freeStorageMB = fields.lenient(Int.self, .freeStorageMB)
        totalStorageMB = fields.lenient(Int.self, .totalStorageMB)
        isConnected = fields.lenient(Bool.self, .isConnected)
        boundAt = fields.lenient(Timestamp.self, .boundAt)
        updatedAt = fields.lenient(Timestamp.self, .updatedAt)
    }
}

/// What binds a recorder to the account. `peripheralUUID` must be stable for the recorder (C-27): it is what
/// the server recognises it by.
package struct DeviceBinding: Sendable, Equatable, Encodable {
    package var name: String
    package var peripheralUUID: String
    package var hardwareMAC: String?
    package var firmwareVersion: String?
    package let batteryLevel: Int?
    package let freeStorageMB: Int?
    package let totalStorageMB: Int?

    /// Values outside their range are left out (C-28). An "MB" of storage is a MiB, the unit in which recorders report it.
    package init(
        name: String, peripheralUUID: String, hardwareMAC: String? = nil, firmwareVersion: String? = nil,
        batteryLevel: Int? = nil, freeStorageMB: Int? = nil, totalStorageMB: Int? = nil
    ) {
        self.name = name
        self.peripheralUUID = peripheralUUID
        self.hardwareMAC = hardwareMAC
        self.firmwareVersion = firmwareVersion
        self.batteryLevel = batteryLevel.flatMap { (0...100).contains($0) ? $0 : nil }
        self.freeStorageMB = freeStorageMB.flatMap { $0 >= 0 ? $0 : nil }
        self.totalStorageMB = totalStorageMB.flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// What changed of a recorder; nil leaves a field alone and is never sent (C-13).
package struct DeviceUpdate: Sendable, Equatable, Encodable {
    package var name: String?
    package let batteryLevel: Int?
    package var isConnected: Bool?
    package var firmwareVersion: String?
    package let freeStorageMB: Int?
    package let totalStorageMB: Int?

    /// Values outside their range are left out (C-28). An "MB" of storage is a MiB, the unit in which recorders report it.
    package init(
        name: String? = nil, batteryLevel: Int? = nil, isConnected: Bool? = nil,
        firmwareVersion: String? = nil, freeStorageMB: Int? = nil, totalStorageMB: Int? = nil
    ) {
        self.name = name
        self.batteryLevel = batteryLevel.flatMap { (0...100).contains($0) ? $0 : nil }
        self.isConnected = isConnected
        self.firmwareVersion = firmwareVersion
        self.freeStorageMB = freeStorageMB.flatMap { $0 >= 0 ? $0 : nil }
        self.totalStorageMB = totalStorageMB.flatMap { $0 >= 0 ? $0 : nil }
    }
}
