internal import DBus
internal import EventLoop
internal import ObjectTransfer
internal import Recorder
internal import RecorderModel

/// GattService1, GattCharacteristic1 and GattDescriptor1.
extension FakeBlueZ {
    func characteristicPaths(_ device: FakeDevice) -> [ObjectPath] {
        guard device.hasServices else { return [] }
        return AttributeHandles.characteristics.values.map { $0.path(device.path) }
    }

    func publishServices(_ device: FakeDevice) async {
        for service in AttributeHandles.services {
            // The link, and with it the services, may go between two of them.
            guard device.hasServices else { return }
            await publish(
                AttributeHandles.servicePath(device.path, service.handle), [serviceInterface(service, device)]
            )
            for characteristic in service.characteristics {
                let path = characteristic.path(device.path)
                await publish(path, [characteristicInterface(characteristic, device)])
                if let handle = characteristic.descriptor {
                    await publish(
                        path.appending("desc" + AttributeHandles.hex(handle)),
                        [descriptorInterface(handle, characteristic, device)])
                }
            }
        }
    }

    func withdrawServices(_ device: FakeDevice) {
        guard device.hasServices else { return }
        device.hasServices = false
        for service in AttributeHandles.services.reversed() {
            for characteristic in service.characteristics.reversed() {
                let path = characteristic.path(device.path)
                if let handle = characteristic.descriptor {
                    withdraw(path.appending("desc" + AttributeHandles.hex(handle)))
                }
                withdraw(path)
            }
            withdraw(AttributeHandles.servicePath(device.path, service.handle))
        }
    }

    // MARK: Interfaces

    private func serviceInterface(
        _ service: AttributeHandles.Service, _ device: FakeDevice
    ) -> PublishedInterface {
        PublishedInterface(
            name: BlueZ.service,
            types: [
                "UUID": .string, "Device": .objectPath, "Primary": .boolean,
                "Includes": .array(.objectPath), "Handle": .uint16,
            ],
            values: [
                "UUID": .string(service.uuid.description), "Device": .objectPath(device.path),
                "Primary": .boolean(true), "Includes": .array(of: .objectPath, []),
            ].merging(handle(service.handle)) { $1 })
    }

    /// The property came with BlueZ 5.69.
    private func handle(_ handle: UInt16) -> [String: DBusValue] {
        configuration.version == .debian13 ? ["Handle": .uint16(handle)] : [:]
    }

    private func characteristicInterface(
        _ characteristic: AttributeHandles.Characteristic, _ device: FakeDevice
    ) -> PublishedInterface {
        var values: [String: DBusValue] = [
            "UUID": .string(characteristic.id.characteristic.description),
            "Service": .objectPath(AttributeHandles.servicePath(device.path, characteristic.service)),
            "Value": .bytes([]), "Flags": .strings(characteristic.flags),
            "MTU": .uint16(device.peripheral.configuration.mtu),
        ]
        if characteristic.descriptor != nil { values["Notifying"] = .boolean(false) }
        if canAcquire(characteristic) { values["NotifyAcquired"] = .boolean(false) }
        return PublishedInterface(
            name: BlueZ.characteristic,
            types: [
                "UUID": .string, "Service": .objectPath, "Value": .array(.byte), "Notifying": .boolean,
                "NotifyAcquired": .boolean, "Flags": .array(.string), "MTU": .uint16, "Handle": .uint16,
            ],
            methods: characteristicMethods(device.path, characteristic.id),
            values: values.merging(handle(characteristic.handle)) { $1 })
    }

    /// AcquireNotify takes indications since BlueZ 5.80.
    func canAcquire(_ characteristic: AttributeHandles.Characteristic) -> Bool {
        characteristic.properties.contains(.notify)
            || configuration.version == .debian13 && characteristic.properties.contains(.indicate)
    }

    private func characteristicMethods(
        _ device: ObjectPath, _ id: GATTCharacteristicID
    ) -> [ExportedMethod] {
        let options = ExportedArgument("options", .dictionary(key: .string, value: .variant))
        let value = ExportedArgument("value", .array(.byte))
        return [
            ExportedMethod("ReadValue", in: [options], out: [value]) { call throws(DBusError) in
                [.bytes(try await self.readValue(device, id, call.arguments[0].asProperties ?? [:]))]
            },
            ExportedMethod("WriteValue", in: [value, options]) { call throws(DBusError) in
                try await self.writeValue(
                    device, id, call.arguments[0].asBytes ?? [], call.arguments[1].asProperties ?? [:])
                return []
            },
            ExportedMethod("StartNotify") { call throws(DBusError) in
                try await self.startNotify(device, id, call.sender)
                return []
            },
            ExportedMethod("StopNotify") { call throws(DBusError) in
                try await self.stopNotify(device, id, call.sender)
                return []
            },
            ExportedMethod(
                "AcquireNotify", in: [options],
                out: [ExportedArgument("fd", .unixFD), ExportedArgument("mtu", .uint16)]
            ) { _ throws(DBusError) in
                let (fd, mtu) = try await self.acquireNotify(device, id)
                return [.unixFD(fd), .uint16(mtu)]
            },
        ]
    }

    private func descriptorInterface(
        _ handle: UInt16, _ characteristic: AttributeHandles.Characteristic, _ device: FakeDevice
    ) -> PublishedInterface {
        let (path, id) = (device.path, characteristic.id)
        let options = ExportedArgument("options", .dictionary(key: .string, value: .variant))
        let value = ExportedArgument("value", .array(.byte))
        return PublishedInterface(
            name: BlueZ.descriptor,
            types: [
                "UUID": .string, "Characteristic": .objectPath, "Value": .array(.byte), "Handle": .uint16,
            ],
            methods: [
                ExportedMethod("ReadValue", in: [options], out: [value]) { _ throws(DBusError) in
                    [.bytes(try await self.readConfiguration(path, id))]
                },
                // Only StartNotify and AcquireNotify write it.
                ExportedMethod("WriteValue", in: [value, options]) { _ throws(DBusError) in
                    throw .notPermitted("Write not permitted")
                },
            ],
            values: [
                "UUID": .string(BluetoothUUID(0x2902).description),
                "Characteristic": .objectPath(characteristic.path(device.path)), "Value": .bytes([]),
            ].merging(self.handle(handle)) { $1 })
    }

    // MARK: Values

    private func linkedDevice(_ path: ObjectPath) throws(DBusError) -> FakeDevice {
        let device = try device(path)
        guard device.isConnected else { throw .failed("Not connected") }
        return device
    }

    private func readValue(
        _ path: ObjectPath, _ id: GATTCharacteristicID, _ options: [String: DBusValue]
    ) throws(DBusError) -> [UInt8] {
        let device = try linkedDevice(path)
        let value: [UInt8]
        do throws(ATTError) {
            value = try device.peripheral.model.read(id)
        } catch {
            throw DBusError(error)
        }
        let offset = Int(options["offset"]?.asUInt16 ?? 0)
        guard offset <= value.count else { throw .blueZ("InvalidArguments", "Invalid offset") }
        if let characteristic = AttributeHandles.characteristics[id] {
            change(characteristic.path(path), BlueZ.characteristic, ["Value": .bytes(value)])
        }
        return Array(value[offset...])
    }

    private func readConfiguration(
        _ path: ObjectPath, _ id: GATTCharacteristicID
    ) throws(DBusError) -> [UInt8] {
        let device = try linkedDevice(path)
        guard device.peripheral.model.isSubscribed(id) else { return [0, 0] }
        let isNotified = AttributeHandles.characteristics[id]?.properties.contains(.notify) == true
        return [isNotified ? 1 : 2, 0]
    }

    private func writeValue(
        _ path: ObjectPath, _ id: GATTCharacteristicID, _ value: [UInt8], _ options: [String: DBusValue]
    ) throws(DBusError) {
        let device = try linkedDevice(path)
        // The recorder has no characteristic that takes commands or reliable writes.
        if let type = options["type"]?.asString, type != "request" { throw .notSupported }
        let reply: WriteReply
        do throws(ATTError) {
            reply = try device.peripheral.model.write(value, to: id)
        } catch {
            throw DBusError(error)
        }
        deliver(reply.early, device.peripheral)
        guard !reply.late.isEmpty else { return }
        let generation = device.generation
        // After this turn of the loop, in which the call is answered.
        _ = loop.schedule(after: .zero) {
            guard device.isConnected, device.generation == generation else { return }
            self.deliver(reply.late, device.peripheral)
        }
    }

    /// Delivers what a recorder sends of its own accord.
    func deliver(_ outputs: [RecorderOutput], _ peripheral: Peripheral) {
        for output in outputs {
            switch output {
            case .notify(let id, let value), .indicate(let id, let value): notify(id, value, peripheral)
            case .framesReady: pump(peripheral)
            case .workPending: scheduleWork(peripheral)
            case .stateChanged: onEvent(.stateChanged(serial: peripheral.serial, peripheral.model.state))
            case .channelBytesReady, .closeChannel: break  // this face has no L2CAP
            }
        }
    }

    private func scheduleWork(_ peripheral: Peripheral) {
        _ = loop.schedule(after: .zero) { self.deliver(peripheral.model.work(), peripheral) }
    }
}
