/// Names a characteristic on any device: where BlueZ has it is looked up for each operation, because paths
/// change with the device's attributes.
package struct CharacteristicAddress: Sendable, Hashable, CustomStringConvertible {
    /// The service's UUID, lower case, 36 characters, as BlueZ writes it.
    package let service: String
    /// The characteristic's UUID, in the same form.
    package let characteristic: String

    package init(service: String, characteristic: String) {
        self.service = service.lowercased()
        self.characteristic = characteristic.lowercased()
    }

    package var description: String { "\(characteristic) of \(service)" }
}
