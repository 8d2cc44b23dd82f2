internal import DBus
internal import ObjectTransfer
internal import Recorder
internal import RecorderModel

/// What bluetoothd is given: the attributes and the advertisement.
extension BlueZPeripheral {
    /// The services in the order of their paths, which is the order of their handles.
    var applicationObjects: [ExportedObject] {
        AttributeTable.services.enumerated().flatMap { index, service in
            let path = BlueZNames.applicationPath.appending("service" + Self.digits(index))
            let characteristics = service.characteristics.enumerated().map { position, characteristic in
                ExportedObject(
                    path.appending("char" + Self.digits(position)), [interface(of: characteristic, in: path)])
            }
            return [ExportedObject(path, [interface(of: service)])] + characteristics
        }
    }

    static func path(of id: GATTCharacteristicID) -> ObjectPath? {
        for (index, service) in AttributeTable.services.enumerated() {
            if let position = service.characteristics.firstIndex(where: { $0.id == id }) {
                return BlueZNames.applicationPath.appending("service" + digits(index))
                    .appending("char" + digits(position))
            }
        }
        return nil
    }

    private static func digits(_ number: Int) -> String {
        (number < 10 ? "0" : "") + String(number)
    }

    private func interface(of service: RecorderService) -> ExportedInterface {
        let uuid = service.uuid.description
        return ExportedInterface(
            BlueZNames.gattService,
            properties: [
                ExportedProperty("UUID", .string) { .string(uuid) },
                ExportedProperty("Primary", .boolean) { .boolean(true) },
            ])
    }

    /// The flags of org.bluez.GattCharacteristic1; bluetoothd and the kernel enforce what they demand.
    func flags(of characteristic: RecorderCharacteristic) -> [String] {
        let isAuthenticated = configuration.recorder.requiredSecurity == .authenticated
        let prefix =
            !characteristic.isProtected ? "" : isAuthenticated ? "encrypt-authenticated-" : "encrypt-"
        let names: [(RecorderCharacteristic.Properties, String)] = [
            (.read, "read"), (.write, "write"), (.notify, "notify"), (.indicate, "indicate"),
        ]
        return names.filter { characteristic.properties.contains($0.0) }.map { prefix + $0.1 }
    }

    private func interface(of characteristic: RecorderCharacteristic, in service: ObjectPath)
        -> ExportedInterface
    {
        let (uuid, flags) = (characteristic.id.characteristic.description, flags(of: characteristic))
        var properties = [
            ExportedProperty("UUID", .string) { .string(uuid) },
            ExportedProperty("Service", .objectPath) { .objectPath(service) },
            ExportedProperty("Flags", .array(.string)) { .strings(flags) },
        ]
        // With this property bluetoothd asks for a socket. The many frames of Object Data go there, not over the bus.
        if characteristic.id == RecorderProfile.objectData {
            properties.append(
                ExportedProperty("NotifyAcquired", .boolean) { .boolean(await self.hasFrameSocket) })
        }
        return ExportedInterface(
            BlueZNames.gattCharacteristic, methods: methods(of: characteristic.id), properties: properties)
    }

    private func methods(of id: GATTCharacteristicID) -> [ExportedMethod] {
        let options = ExportedArgument("options", .dictionary(key: .string, value: .variant))
        let value = ExportedArgument("value", .array(.byte))
        return [
            ExportedMethod("ReadValue", in: [options], out: [value]) { call throws(DBusError) in
                [.bytes(try await self.read(id, call.arguments[0].asProperties ?? [:]))]
            },
            ExportedMethod("WriteValue", in: [value, options]) { call throws(DBusError) in
                try await self.write(
                    id, call.arguments[0].asBytes ?? [], call.arguments[1].asProperties ?? [:])
                return []
            },
            ExportedMethod("StartNotify") { _ throws(DBusError) in
                await self.subscribe(id)
                return []
            },
            ExportedMethod("StopNotify") { _ throws(DBusError) in
                await self.unsubscribe(id)
                return []
            },
            ExportedMethod(
                "AcquireNotify", in: [options],
                out: [ExportedArgument("fd", .unixFD), ExportedArgument("mtu", .uint16)]
            ) { call throws(DBusError) in
                let (fd, mtu) = try await self.acquireNotify(id, call.arguments[0].asProperties ?? [:])
                return [.unixFD(fd), .uint16(mtu)]
            },
            // The hub has an indication; nothing waits for that.
            ExportedMethod("Confirm") { _ throws(DBusError) in [] },
        ]
    }

    /// Flags 0x06 and 0x1825 in the advertising packet. The kernel advertises again after each link.
    var advertisementObject: ExportedObject {
        let name = configuration.name
        return ExportedObject(
            BlueZNames.advertisementPath,
            [
                ExportedInterface(
                    BlueZNames.advertisement,
                    methods: [ExportedMethod("Release") { _ throws(DBusError) in [] }],
                    properties: [
                        ExportedProperty("Type", .string) { .string("peripheral") },
                        ExportedProperty("ServiceUUIDs", .array(.string)) {
                            .strings([ObjectTransferService.uuid.description])
                        },
                        ExportedProperty("LocalName", .string) { .string(name) },
                        ExportedProperty("Discoverable", .boolean) { .boolean(true) },
                    ])
            ])
    }
}
