/// The UUIDs of the Object Transfer Service (Bluetooth assigned numbers).
package enum ObjectTransferService {
    /// The service itself.
    package static let uuid = BluetoothUUID(0x1825)

    package static let feature = characteristic(0x2ABD)
    package static let objectName = characteristic(0x2ABE)
    package static let objectType = characteristic(0x2ABF)
    package static let objectSize = characteristic(0x2AC0)
    package static let firstCreated = characteristic(0x2AC1)
    package static let lastModified = characteristic(0x2AC2)
    package static let objectID = characteristic(0x2AC3)
    package static let objectProperties = characteristic(0x2AC4)
    package static let actionControlPoint = characteristic(0x2AC5)
    package static let listControlPoint = characteristic(0x2AC6)
    package static let objectListFilter = characteristic(0x2AC7)
    package static let objectChanged = characteristic(0x2AC8)

    /// The L2CAP protocol/service multiplexer of the Object Transfer Channel.
    package static let channelPSM: UInt16 = 0x0025

    private static func characteristic(_ short: UInt16) -> GATTCharacteristicID {
        GATTCharacteristicID(service: uuid, characteristic: BluetoothUUID(short))
    }
}
