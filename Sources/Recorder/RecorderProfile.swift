package import ObjectTransfer

/// The UUIDs and bounds of the recorder profile, version 1.
package enum RecorderProfile {
    /// The Celestia Capture service.
    package static let captureService = vendor(0x0001)
    /// Whether a device is a recorder, by the services that it advertises or has. A discovery's filter does not tell: BlueZ
    /// merges other programs' wishes into what it reports.
    package static func isOffered(by services: [String]) -> Bool {
        services.contains(captureService.description)
            || services.contains(ObjectTransferService.uuid.description)
    }

    /// Capture Status: read, notify; see ``CaptureStatus``.
    package static let captureStatus = capture(0x0002)
    /// Clock: write; see ``ClockValue``.
    package static let clock = capture(0x0003)
    /// Object Data: notify; see ``ObjectDataFrame``.
    package static let objectData = capture(0x0004)
    /// Object Data Control: write; see ``ObjectDataControl``.
    package static let objectDataControl = capture(0x0005)

    /// The type of a manifest object.
    package static let manifestType = vendor(0x0010)
    /// An audio file.
    package static let audioType = vendor(0x0011)
    /// A photo.
    package static let photoType = vendor(0x0012)

    /// The Device Information service (0x180A).
    package static let deviceInformationService = BluetoothUUID(0x180A)
    /// Manufacturer Name: read, optional.
    package static let manufacturerName = deviceInformation(0x2A29)
    /// Model Number: read, optional.
    package static let modelNumber = deviceInformation(0x2A24)
    /// Serial Number: read; the identity of the recorder.
    package static let serialNumber = deviceInformation(0x2A25)
    /// Firmware Revision: read, optional.
    package static let firmwareRevision = deviceInformation(0x2A26)
    /// Hardware Revision: read, optional.
    package static let hardwareRevision = deviceInformation(0x2A27)

    /// The Battery service (0x180F).
    package static let batteryService = BluetoothUUID(0x180F)
    /// Battery Level: read, notify, optional; percent.
    package static let batteryLevel = GATTCharacteristicID(
        service: batteryService, characteristic: BluetoothUUID(0x2A19))

    /// What a device must offer to be a recorder; everything else is optional.
    package static let required: [GATTCharacteristicID] = [
        serialNumber, captureStatus, clock,
        ObjectTransferService.feature, ObjectTransferService.objectSize, ObjectTransferService.objectType,
        ObjectTransferService.actionControlPoint, ObjectTransferService.listControlPoint,
    ]

    /// A manifest may have no more bytes than this.
    package static let maximumManifestBytes = 256 * 1024

    private static func vendor(_ short: UInt16) -> BluetoothUUID {
        BluetoothUUID(high: 0xce1e_57a0_0000_4c41 | UInt64(short) << 16, low: 0x8b1d_5e0f_6d2a_9b37)
    }

    private static func capture(_ short: UInt16) -> GATTCharacteristicID {
        GATTCharacteristicID(service: captureService, characteristic: vendor(short))
    }

    private static func deviceInformation(_ short: UInt16) -> GATTCharacteristicID {
        GATTCharacteristicID(service: deviceInformationService, characteristic: BluetoothUUID(short))
    }
}
