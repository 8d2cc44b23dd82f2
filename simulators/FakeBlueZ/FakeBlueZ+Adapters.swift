internal import DBus
internal import EventLoop
internal import ObjectTransfer
internal import RecorderModel

/// Adapter1 and discovery.
extension FakeBlueZ {
    /// Plugs a controller in. Bonded devices appear with it.
    package func addAdapter(_ configuration: FakeBlueZConfiguration.Adapter) async {
        let adapter = FakeAdapter(configuration)
        guard connection != nil, adapters[adapter.path] == nil else { return }
        adapters[adapter.path] = adapter
        await publish(adapter.path, [adapterInterface(adapter)])
        for peripheral in peripherals {
            if let bond = bonds[adapter.address]?[peripheral.configuration.address] {
                await addDevice(adapter, peripheral, bond: bond)
            }
        }
        for orphan in orphans where orphan.adapter == adapter.address {
            await addDevice(adapter, orphan.peripheral, bond: nil)
            if let device = devices.values.first(where: {
                $0.adapter === adapter && $0.peripheral === orphan.peripheral
            }) {
                adoptOrphan(device)
            }
        }
        orphans.removeAll { $0.adapter == adapter.address }
    }

    /// Pulls a controller out: it is gone from the bus before its devices are.
    package func removeAdapter(_ name: String) {
        guard let adapter = adapters.removeValue(forKey: BlueZ.root.appending(name)) else { return }
        withdraw(adapter.path)
        for device in devices.values where device.adapter === adapter { removeDevice(device) }
    }

    /// Blocks or frees the radio, as rfkill does.
    package func setBlocked(_ name: String, _ isBlocked: Bool) {
        guard let adapter = adapters[BlueZ.root.appending(name)] else { return }
        adapter.isBlocked = isBlocked
        if isBlocked { setPower(adapter, false) }
    }

    private func adapterInterface(_ adapter: FakeAdapter) -> PublishedInterface {
        let path = adapter.path
        var setters: [String: ExportedProperty.Setter] = [
            "Powered": { value, _ throws(DBusError) in
                try await self.setPowered(path, value.asBool == true)
            }
        ]
        for name in ["Alias", "Discoverable", "DiscoverableTimeout", "Pairable", "PairableTimeout"] {
            setters[name] = { value, _ throws(DBusError) in
                await self.change(path, BlueZ.adapter, [name: value])
            }
        }
        return PublishedInterface(
            name: BlueZ.adapter,
            types: [
                "Address": .string, "AddressType": .string, "Name": .string, "Alias": .string,
                "Class": .uint32, "Powered": .boolean, "PowerState": .string, "Discoverable": .boolean,
                "DiscoverableTimeout": .uint32, "Pairable": .boolean, "PairableTimeout": .uint32,
                "Discovering": .boolean, "UUIDs": .array(.string), "Modalias": .string,
                "Roles": .array(.string),
            ],
            setters: setters, methods: adapterMethods(path),
            values: [
                "Address": .string(adapter.address), "AddressType": .string("public"),
                "Name": .string("hub"), "Alias": .string("hub"), "Class": .uint32(0),
                "Powered": .boolean(true), "Discoverable": .boolean(false),
                "DiscoverableTimeout": .uint32(180), "Pairable": .boolean(false),
                "PairableTimeout": .uint32(0), "Discovering": .boolean(false), "UUIDs": .strings([]),
                "Modalias": .string("usb:v1D6Bp0246d0542"), "Roles": .strings(["central", "peripheral"]),
            ].merging(configuration.version == .debian13 ? ["PowerState": .string("on")] : [:]) { $1 })
    }

    private func adapterMethods(_ path: ObjectPath) -> [ExportedMethod] {
        let dictionary = DBusType.dictionary(key: .string, value: .variant)
        return [
            ExportedMethod("StartDiscovery") { call throws(DBusError) in
                try await self.startDiscovery(path, call.sender)
                return []
            },
            ExportedMethod("StopDiscovery") { call throws(DBusError) in
                try await self.stopDiscovery(path, call.sender)
                return []
            },
            ExportedMethod("SetDiscoveryFilter", in: [ExportedArgument("properties", dictionary)]) {
                call throws(DBusError) in
                try await self.setFilter(path, call.sender, call.arguments[0].asProperties ?? [:])
                return []
            },
            ExportedMethod("GetDiscoveryFilters", out: [ExportedArgument("filters", .array(.string))]) {
                _ throws(DBusError) in
                [
                    .strings([
                        "UUIDs", "RSSI", "Pathloss", "Transport", "DuplicateData", "Discoverable", "Pattern",
                    ])
                ]
            },
            ExportedMethod("RemoveDevice", in: [ExportedArgument("device", .objectPath)]) {
                call throws(DBusError) in
                try await self.forgetDevice(path, call.arguments[0].asObjectPath ?? .root)
                return []
            },
        ]
    }

    // MARK: Power

    private func setPowered(_ path: ObjectPath, _ isOn: Bool) throws(DBusError) {
        let adapter = try adapter(path)
        guard !(isOn && adapter.isBlocked) else { throw .blueZ("Blocked", "Blocked through rfkill") }
        setPower(adapter, isOn)
    }

    private func setPower(_ adapter: FakeAdapter, _ isOn: Bool) {
        adapter.isPowered = isOn
        if !isOn {
            adapter.sessions = []
            discoveryChanged(adapter)
            for device in devices.values where device.adapter === adapter {
                device.endSteps(.poweredOff)
                dropLink(device)
            }
        }
        change(adapter.path, BlueZ.adapter, ["Powered": .boolean(isOn)])
        guard configuration.version == .debian13 else { return }
        let state = isOn ? "on" : adapter.isBlocked ? "off-blocked" : "off"
        change(adapter.path, BlueZ.adapter, ["PowerState": .string(state)])
    }

    // MARK: Discovery

    private func startDiscovery(_ path: ObjectPath, _ sender: String) throws(DBusError) {
        let adapter = try adapter(path)
        guard adapter.isPowered else { throw .notReady }
        guard adapter.sessions.insert(sender).inserted else { throw .inProgress }
        discoveryChanged(adapter)
    }

    private func stopDiscovery(_ path: ObjectPath, _ sender: String) throws(DBusError) {
        let adapter = try adapter(path)
        guard adapter.isPowered else { throw .notReady }
        guard adapter.sessions.remove(sender) != nil else { throw .failed("No discovery started") }
        discoveryChanged(adapter)
    }

    func discoveryChanged(_ adapter: FakeAdapter) {
        let isDiscovering = !adapter.sessions.isEmpty
        change(adapter.path, BlueZ.adapter, ["Discovering": .boolean(isDiscovering)])
        if isDiscovering {
            scheduleAdvertising(after: min(.milliseconds(10), configuration.timing.advertisement))
        } else {
            for device in devices.values where device.adapter === adapter {
                change(device.path, BlueZ.device, ["RSSI": nil])
            }
        }
    }

    private func setFilter(
        _ path: ObjectPath, _ sender: String, _ values: [String: DBusValue]
    ) throws(DBusError) {
        let adapter = try adapter(path)
        guard adapter.isPowered else { throw .notReady }
        adapter.filters[sender] = values.isEmpty ? nil : try Self.filter(values)
    }

    private static func filter(_ values: [String: DBusValue]) throws(DBusError) -> DiscoveryFilter {
        var filter = DiscoveryFilter()
        for (key, value) in values {
            switch (key, value) {
            case ("UUIDs", .array(.string, _)):
                for text in value.asStrings ?? [] {
                    guard let uuid = BluetoothUUID(text) else { throw .invalidArguments }
                    filter.uuids.append(uuid)
                }
            case ("Transport", .string(let transport)):
                guard ["auto", "le", "bredr"].contains(transport) else { throw .invalidArguments }
                filter.transport = transport
            case ("Pattern", .string(let pattern)): filter.pattern = pattern
            case ("RSSI", .int16) where values["Pathloss"] == nil: break
            case ("Pathloss", .uint16) where values["RSSI"] == nil: break
            case ("DuplicateData", .boolean), ("Discoverable", .boolean): break
            default: throw .invalidArguments
            }
        }
        return filter
    }

    /// The recorders advertise for as long as anybody discovers.
    private func scheduleAdvertising(after delay: Duration) {
        guard advertising == nil else { return }
        advertising = loop.schedule(after: delay) {
            self.advertising = nil
            Task { await self.advertise() }
        }
    }

    private func advertise() async {
        let discovering = adapters.values.filter { $0.isPowered && !$0.sessions.isEmpty }
        guard !discovering.isEmpty else { return }
        for peripheral in peripherals where peripheral.isAdvertising {
            peripheral.rssi = peripheral.rssi == -52 ? -61 : -52
            for adapter in discovering { await report(peripheral, to: adapter) }
        }
        scheduleAdvertising(after: configuration.timing.advertisement)
    }

    /// Bluetoothd merges the filters of all clients: one without any opens discovery to everything.
    private func report(_ peripheral: Peripheral, to adapter: FakeAdapter) async {
        if let device = devices.values.first(where: {
            $0.adapter === adapter && $0.peripheral === peripheral
        }) {
            change(device.path, BlueZ.device, ["RSSI": .int16(peripheral.rssi)])
            keep(device)
            return
        }
        let filters = adapter.sessions.map { adapter.filters[$0] ?? DiscoveryFilter() }
        guard filters.contains(where: { $0.matches(peripheral.configuration) }) else { return }
        await addDevice(adapter, peripheral, bond: nil)
    }

    // MARK: Devices

    func addDevice(_ adapter: FakeAdapter, _ peripheral: Peripheral, bond: LinkSecurity?) async {
        let device = FakeDevice(adapter: adapter, peripheral: peripheral)
        guard devices[device.path] == nil else { return }
        device.bond = bond
        device.isTemporary = bond == nil
        devices[device.path] = device
        keep(device)
        await publish(device.path, [deviceInterface(device)])
    }

    /// A device that was never used goes when it has not been seen for a while.
    private func keep(_ device: FakeDevice) {
        device.removal?.cancel()
        guard device.isTemporary else { return }
        device.removal = loop.schedule(after: configuration.timing.temporary) {
            if device.isTemporary, !device.isConnected { self.removeDevice(device) }
        }
    }

    private func forgetDevice(_ path: ObjectPath, _ devicePath: ObjectPath) throws(DBusError) {
        let adapter = try adapter(path)
        guard adapter.isPowered else { throw .notReady }
        guard let device = devices[devicePath], device.adapter === adapter else { throw .doesNotExist }
        bonds[adapter.address]?[device.peripheral.configuration.address] = nil
        removeDevice(device)
    }

    func removeDevice(_ device: FakeDevice) {
        devices[device.path] = nil
        device.removal?.cancel()
        device.endSteps(.removed)
        dropLink(device)
        withdrawServices(device)
        withdraw(device.path)
    }
}
