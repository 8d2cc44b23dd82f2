internal import DBus
internal import EventLoop
internal import ObjectTransfer
internal import Recorder
internal import RecorderModel

/// Device1 and the links behind it.
extension FakeBlueZ {
    func deviceInterface(_ device: FakeDevice) -> PublishedInterface {
        let path = device.path
        var setters: [String: ExportedProperty.Setter] = [:]
        for name in ["Alias", "Trusted", "Blocked"] {
            setters[name] = { value, _ throws(DBusError) in
                await self.change(path, BlueZ.device, [name: value])
            }
        }
        let peripheral = device.peripheral.configuration
        var values: [String: DBusValue] = [
            "Address": .string(peripheral.address), "AddressType": .string(peripheral.addressType),
            "Name": .string(peripheral.name), "Alias": .string(peripheral.name),
            "Paired": .boolean(device.bond != nil), "Bonded": .boolean(device.bond != nil),
            "Trusted": .boolean(false), "Blocked": .boolean(false), "LegacyPairing": .boolean(false),
            "Connected": .boolean(false), "ServicesResolved": .boolean(false),
            "UUIDs": .strings([ObjectTransferService.uuid.description]),
            "Adapter": .objectPath(device.adapter.path),
        ]
        if device.isTemporary { values["RSSI"] = .int16(device.peripheral.rssi) }
        if configuration.version == .debian13 { values["AdvertisingFlags"] = .bytes([0x06]) }
        return PublishedInterface(
            name: BlueZ.device,
            types: [
                "Address": .string, "AddressType": .string, "Name": .string, "Alias": .string,
                "Paired": .boolean, "Bonded": .boolean, "Trusted": .boolean, "Blocked": .boolean,
                "LegacyPairing": .boolean, "RSSI": .int16, "Connected": .boolean,
                "ServicesResolved": .boolean, "UUIDs": .array(.string), "Adapter": .objectPath,
                "AdvertisingFlags": .array(.byte),
            ],
            setters: setters, methods: deviceMethods(path), values: values)
    }

    private func deviceMethods(_ path: ObjectPath) -> [ExportedMethod] {
        [
            ExportedMethod("Connect") { _ throws(DBusError) in
                try await self.connect(path)
                return []
            },
            ExportedMethod("Disconnect") { _ throws(DBusError) in
                try await self.disconnect(path)
                return []
            },
            ExportedMethod("Pair") { call throws(DBusError) in
                try await self.pair(path, call.sender)
                return []
            },
            ExportedMethod("CancelPairing") { _ throws(DBusError) in
                try await self.cancelPairing(path)
                return []
            },
        ]
    }

    // MARK: Connecting

    private func connect(_ path: ObjectPath) async throws(DBusError) {
        let device = try device(path)
        guard device.adapter.isPowered else { throw .adapterOff }
        guard !device.isConnected else { return }
        guard device.connecting == nil else {
            throw configuration.version == .debian12 ? .failed("Operation already in progress") : .inProgress
        }
        if configuration.version == .debian13, device.pairing != nil { throw .inProgress }
        try await establishLink(device)
    }

    /// Brings the link up. Services are resolved afterwards, on their own.
    func establishLink(_ device: FakeDevice) async throws(DBusError) {
        let step = PendingStep()
        device.connecting = step
        device.isTemporary = false
        let isThere = device.peripheral.isAdvertising
        let timing = configuration.timing
        let outcome = await pause(isThere ? timing.connect : timing.connectTimeout, step)
        device.connecting = nil
        switch outcome {
        case .elapsed: break
        case .canceled, .removed: throw .failed("br-connection-canceled")
        case .poweredOff: throw .failed("le-connection-adapter-not-powered")
        }
        guard device.peripheral.isAdvertising else { throw .failed("le-connection-abort-by-local") }
        let address = device.adapter.address
        let isKeyMissing = device.bond != nil && device.peripheral.model.bonds[address] == nil
        device.generation += 1
        device.isConnected = true
        device.peripheral.link = device
        device.peripheral.model.connect(security: isKeyMissing ? .open : device.bond ?? .open)
        // A recorder that knows the hub asks for the bond's security at once, and the kernel pairs.
        device.hasForeignPairing =
            device.pairing == nil && device.bond == nil && device.peripheral.model.bonds[address] != nil
        change(device.path, BlueZ.device, ["Connected": .boolean(true)])
        onEvent(.connected(serial: device.peripheral.serial))
        guard !isKeyMissing else {
            // Encryption fails and the controller ends the link.
            dropLink(device)
            throw .failed(
                configuration.version == .debian13
                    ? "le-connection-key-missing" : "le-connection-abort-by-local")
        }
        let generation = device.generation
        _ = loop.schedule(after: timing.resolve) {
            Task { await self.resolve(device, generation: generation) }
        }
    }

    private func disconnect(_ path: ObjectPath) throws(DBusError) {
        let device = try device(path)
        if let connecting = device.connecting {
            connecting.finish(.canceled)
        } else if !device.isConnected {
            throw .notConnected
        }
        dropLink(device)
    }

    /// Service discovery: every object is on the bus before ServicesResolved says so.
    private func resolve(_ device: FakeDevice, generation: Int) async {
        func isCurrent() -> Bool { device.isConnected && device.generation == generation }
        guard isCurrent() else { return }
        change(
            device.path, BlueZ.device,
            ["UUIDs": .strings(AttributeTable.services.map(\.uuid.description).sorted())])
        if !device.hasServices {
            device.hasServices = true
            await publishServices(device)
        }
        guard isCurrent() else { return }
        let mtu = DBusValue.uint16(device.peripheral.configuration.mtu)
        for path in characteristicPaths(device) { change(path, BlueZ.characteristic, ["MTU": mtu]) }
        resumeSessions(device)
        device.isResolved = true
        change(device.path, BlueZ.device, ["ServicesResolved": .boolean(true)])
        let battery = RecorderProfile.batteryLevel
        guard let level = try? device.peripheral.model.read(battery).first,
            (try? device.peripheral.model.subscribe(battery, true)) != nil
        else { return }
        await publish(
            device.path, [batteryInterface(level)], beside: [deviceInterface(device)])
    }

    private func batteryInterface(_ level: UInt8) -> PublishedInterface {
        PublishedInterface(
            name: BlueZ.battery, types: ["Percentage": .byte, "Source": .string],
            values: ["Percentage": .byte(level)].merging(
                configuration.version == .debian13 ? ["Source": .string("GATT Battery Service")] : [:]
            ) { $1 })
    }

    /// A link that the last bluetoothd left in the middle of a pairing: the kernel still has both.
    func adoptOrphan(_ device: FakeDevice) {
        device.isTemporary = false
        device.removal?.cancel()
        device.isConnected = true
        device.hasForeignPairing = true
        device.generation += 1
        device.peripheral.link = device
        device.peripheral.model.connect(security: .open)
        change(device.path, BlueZ.device, ["Connected": .boolean(true)])
        onEvent(.connected(serial: device.peripheral.serial))
    }

    // MARK: Losing the link

    /// The link ends, for whatever reason.
    func dropLink(_ device: FakeDevice) {
        guard device.isConnected else { return }
        let peripheral = device.peripheral
        device.isConnected = false
        device.isResolved = false
        device.hasForeignPairing = false
        device.generation += 1
        peripheral.link = nil
        peripheral.pumpTimer?.cancel()
        peripheral.model.disconnect()
        peripheral.user.confirm(false)
        for acquired in device.acquired.values { acquired.close() }
        for id in device.acquired.keys { notifyReleased(device, id) }
        device.acquired = [:]
        device.pairing?.finish(.failure(.authenticationCanceled))
        change(device.path, BlueZ.device, ["ServicesResolved": .boolean(false)])
        if properties.value(device.path, BlueZ.battery, "Percentage") != nil { withdrawBattery(device) }
        change(device.path, BlueZ.device, ["Connected": .boolean(false)])
        if device.bond == nil {
            device.sessions = [:]
            withdrawServices(device)
        } else {
            // Bluetoothd keeps the attributes of bonded devices in its cache, and their objects on the bus.
            for path in characteristicPaths(device) { change(path, BlueZ.characteristic, ["MTU": nil]) }
        }
        onEvent(.disconnected(serial: peripheral.serial))
    }

    private func withdrawBattery(_ device: FakeDevice) {
        properties.remove(device.path, BlueZ.battery)
        Task {
            // By then the device may be gone, or connected again.
            guard devices[device.path] === device, !device.isConnected else { return }
            await publish(device.path, [], beside: [deviceInterface(device)])
        }
    }

    // MARK: What happens to recorders

    /// The recorder drops the link, or walks out of range for a moment.
    package func cutLink(_ serial: String) {
        guard let device = peripheral(serial)?.link else { return }
        dropLink(device)
    }

    func peripheral(_ serial: String) -> Peripheral? {
        serial.isEmpty ? peripherals.first : peripherals.first { $0.serial == serial }
    }
}
