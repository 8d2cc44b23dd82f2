package import ObjectTransfer
internal import Recorder

/// One characteristic of the recorder's attribute table.
package struct RecorderCharacteristic: Sendable, Hashable {
    /// What a client may do with the characteristic (Core Specification, Vol 3, Part G, 3.3.1.1).
    package struct Properties: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        package static let read = Properties(rawValue: 0x02)
        package static let write = Properties(rawValue: 0x08)
        package static let notify = Properties(rawValue: 0x10)
        package static let indicate = Properties(rawValue: 0x20)
    }

    package let id: GATTCharacteristicID
    package let properties: Properties
    /// Whether reads, writes and subscriptions need the security that the recorder asks for.
    package let isProtected: Bool
}

/// One primary service of the recorder's attribute table.
package struct RecorderService: Sendable, Hashable {
    package let uuid: BluetoothUUID
    package let characteristics: [RecorderCharacteristic]
}

/// The attribute table of the profile, in the order of its handles.
package enum AttributeTable {
    package static let services: [RecorderService] = [
        service(
            RecorderProfile.deviceInformationService, isProtected: false,
            [
                (RecorderProfile.manufacturerName, .read), (RecorderProfile.modelNumber, .read),
                (RecorderProfile.serialNumber, .read), (RecorderProfile.firmwareRevision, .read),
                (RecorderProfile.hardwareRevision, .read),
            ]),
        service(
            RecorderProfile.batteryService, isProtected: false,
            [(RecorderProfile.batteryLevel, [.read, .notify])]),
        service(
            ObjectTransferService.uuid, isProtected: true,
            [
                (ObjectTransferService.feature, .read), (ObjectTransferService.objectName, .read),
                (ObjectTransferService.objectType, .read), (ObjectTransferService.objectSize, .read),
                (ObjectTransferService.firstCreated, .read), (ObjectTransferService.lastModified, .read),
                (ObjectTransferService.objectID, .read), (ObjectTransferService.objectProperties, .read),
                (ObjectTransferService.actionControlPoint, [.write, .indicate]),
                (ObjectTransferService.listControlPoint, [.write, .indicate]),
                (ObjectTransferService.objectChanged, .indicate),
            ]),
        service(
            RecorderProfile.captureService, isProtected: true,
            [
                (RecorderProfile.captureStatus, [.read, .notify]), (RecorderProfile.clock, .write),
                (RecorderProfile.objectData, .notify), (RecorderProfile.objectDataControl, .write),
            ]),
    ]

    private static let characteristics = Dictionary(
        uniqueKeysWithValues: services.flatMap(\.characteristics).map { ($0.id, $0) })

    /// The characteristic of that identity, if the recorder has it.
    package static func characteristic(_ id: GATTCharacteristicID) -> RecorderCharacteristic? {
        characteristics[id]
    }

    private static func service(
        _ uuid: BluetoothUUID, isProtected: Bool,
        _ entries: [(GATTCharacteristicID, RecorderCharacteristic.Properties)]
    ) -> RecorderService {
        RecorderService(
            uuid: uuid,
            characteristics: entries.map {
                RecorderCharacteristic(id: $0, properties: $1, isProtected: isProtected)
            })
    }
}
