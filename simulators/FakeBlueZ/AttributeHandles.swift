internal import DBus
internal import ObjectTransfer
internal import RecorderModel

/// Where the recorder's attributes lie; the same for every recorder.
enum AttributeHandles {
    struct Characteristic: Sendable {
        let id: GATTCharacteristicID
        let properties: RecorderCharacteristic.Properties
        let handle: UInt16
        /// Of the configuration descriptor, where there is one.
        let descriptor: UInt16?
        let service: UInt16

        func path(_ device: ObjectPath) -> ObjectPath {
            AttributeHandles.servicePath(device, service).appending("char" + hex(handle))
        }

        var flags: [String] {
            let names: [(RecorderCharacteristic.Properties, String)] = [
                (.read, "read"), (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
            ]
            return names.filter { properties.contains($0.0) }.map(\.1)
        }
    }

    struct Service: Sendable {
        let uuid: BluetoothUUID
        let handle: UInt16
        let characteristics: [Characteristic]
    }

    /// GAP and GATT are before.
    private static let firstHandle: UInt16 = 0x000A

    static let services: [Service] = {
        var handle = firstHandle
        func take() -> UInt16 {
            defer { handle += 1 }
            return handle
        }
        return AttributeTable.services.map { service in
            let serviceHandle = take()
            let characteristics = service.characteristics.map { characteristic in
                let declaration = take()
                _ = take()  // the value
                let isConfigurable = !characteristic.properties.isDisjoint(with: [.notify, .indicate])
                return Characteristic(
                    id: characteristic.id, properties: characteristic.properties, handle: declaration,
                    descriptor: isConfigurable ? take() : nil, service: serviceHandle)
            }
            return Service(uuid: service.uuid, handle: serviceHandle, characteristics: characteristics)
        }
    }()

    static let characteristics = Dictionary(
        uniqueKeysWithValues: services.flatMap(\.characteristics).map { ($0.id, $0) })

    static func servicePath(_ device: ObjectPath, _ handle: UInt16) -> ObjectPath {
        device.appending("service" + hex(handle))
    }

    static func hex(_ handle: UInt16) -> String {
        UInt64(handle).hexDigits(4)
    }
}
