/// The UUIDs of the Object Transfer Service (Bluetooth assigned numbers).
package enum ObjectTransferService {
    /// The service itself.
    package static let uuid = BluetoothUUID(0x1825)

    /// OTS Feature: read.
    package static let feature = characteristic(0x2ABD)
    /// Object Name: read.
    package static let objectName = characteristic(0x2ABE)
    /// Object Type: read, 2 or 16 bytes.
    package static let objectType = characteristic(0x2ABF)
    /// Object Size: read.
    package static let objectSize = characteristic(0x2AC0)
    /// Object First-Created: read, optional.
    package static let firstCreated = characteristic(0x2AC1)
    /// Object Last-Modified: read, optional.
    package static let lastModified = characteristic(0x2AC2)
    /// Object ID: read.
    package static let objectID = characteristic(0x2AC3)
    /// Object Properties: read.
    package static let objectProperties = characteristic(0x2AC4)
    /// Object Action Control Point: write, indicate.
    package static let actionControlPoint = characteristic(0x2AC5)
    /// Object List Control Point: write, indicate.
    package static let listControlPoint = characteristic(0x2AC6)
    /// Object List Filter: read, write, optional.
    package static let objectListFilter = characteristic(0x2AC7)
    /// Object Changed: indicate, optional.
    package static let objectChanged = characteristic(0x2AC8)

    /// The L2CAP protocol/service multiplexer of the Object Transfer Channel.
    package static let channelPSM: UInt16 = 0x0025

    private static func characteristic(_ short: UInt16) -> GATTCharacteristicID {
        GATTCharacteristicID(service: uuid, characteristic: BluetoothUUID(short))
    }
}
