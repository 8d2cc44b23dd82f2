/// One characteristic of one service; instance numbers do not matter in the profiles used here.
package struct GATTCharacteristicID: Sendable, Hashable, CustomStringConvertible {
    /// The service that holds the characteristic.
    package let service: BluetoothUUID
    /// The characteristic itself.
    package let characteristic: BluetoothUUID

    /// Names `characteristic` within `service`.
    package init(service: BluetoothUUID, characteristic: BluetoothUUID) {
        self.service = service
        self.characteristic = characteristic
    }

    package var description: String { "\(service)/\(characteristic)" }
}

/// The GATT surface that this module needs of one connected device. A link object lives as long as one
/// connection: after a disconnect every call throws `linkLost`, also those that are waiting.
///
/// Every call has a deadline of its own in the implementation, and returns promptly (with `cancelled`)
/// when its task is cancelled: deadlines here are set by cancelling.
package protocol GATTLink: Sendable {
    /// Whether the device offers the characteristic.
    func offers(_ characteristic: GATTCharacteristicID) async -> Bool

    /// The value of the characteristic (long values included).
    func read(_ characteristic: GATTCharacteristicID) async throws(ObjectTransferError) -> [UInt8]

    /// Writes with response; returns when the server has accepted the value.
    func write(
        _ value: [UInt8], to characteristic: GATTCharacteristicID
    ) async throws(ObjectTransferError)

    /// Enables notifications or indications. When this returns the server has accepted the
    /// subscription and no later value is missed. The stream is bounded (at least 16 values), keeps
    /// the order, and finishes when the link is lost; its termination ends the subscription.
    func subscribe(
        _ characteristic: GATTCharacteristicID
    ) async throws(ObjectTransferError) -> AsyncStream<[UInt8]>
}
