import DBus
import Testing

@testable import BlueZ

@Suite struct ObjectCacheTests {
    private let device = ScriptedBluetoothd.device
    private let hci1 = ObjectPath(trusted: "/org/bluez/hci1")
    private let hci10 = ObjectPath(trusted: "/org/bluez/hci10")

    private func interfaces(_ entries: [String: [String: DBusValue]]) -> DBusValue {
        var values: [DBusValue: DBusValue] = [:]
        for (name, properties) in entries { values[.string(name)] = .properties(properties) }
        return .dictionary(key: .string, value: .dictionary(key: .string, value: .variant), values)
    }

    private func cache(_ objects: [(ObjectPath, [String: [String: DBusValue]])]) -> ObjectCache {
        var cache = ObjectCache()
        for (path, entries) in objects { _ = cache.added(path, interfaces(entries)) }
        return cache
    }

    @Test func anAdapterTakesItsOwnChildrenAndNoOthers() {
        var cache = cache([
            (hci1, [ScriptedBluetoothd.adapter: [:]]), (hci10, [ScriptedBluetoothd.adapter: [:]]),
            (hci1.appending("dev_1"), [device: [:]]), (hci10.appending("dev_2"), [device: [:]]),
            (hci1.appending("dev_1").appending("service1"), [ScriptedBluetoothd.service: [:]]),
            (hci10.appending("dev_2").appending("service1"), [ScriptedBluetoothd.service: [:]]),
        ])
        let events = cache.removed(hci1, [ScriptedBluetoothd.adapter, "org.bluez.Media1"])
        #expect(events.contains(.adapter(hci1)) && events.contains(.device(hci1.appending("dev_1"))))
        #expect(Array(cache.adapters.keys) == [hci10])
        #expect(Array(cache.devices.keys) == [hci10.appending("dev_2")])
        #expect(Array(cache.services.keys) == [hci10.appending("dev_2").appending("service1")])
        // The children's own signals come late.
        #expect(cache.removed(hci1.appending("dev_1"), [device]).isEmpty)
    }

    @Test func missingAndWrongPropertiesAreNil() throws {
        let path = hci1.appending("dev_1")
        let cache = cache([
            (
                path,
                [
                    device: [
                        "Address": .uint32(5), "Name": .string("x"), "RSSI": .string("far"),
                        "Adapter": .objectPath(hci10),
                    ]
                ]
            )
        ])
        let found = try #require(cache.devices[path])
        #expect(found.address == nil && found.rssi == nil && found.isConnected == nil && found.uuids == nil)
        #expect(found.name == "x")
        #expect(found.adapter == hci1, "a device speaks for the adapter above it only")
    }

    @Test func invalidatedPropertiesGo() {
        let path = hci1.appending("dev_1")
        var cache = cache([(path, [device: ["RSSI": .int16(-60), "Name": .string("x")]])])
        #expect(cache.devices[path]?.rssi == -60)
        #expect(cache.changed(path, device, [:], invalidated: ["RSSI", "TxPower"]) == [.device(path)])
        #expect(cache.devices[path]?.rssi == nil && cache.devices[path]?.name == "x")
        let heard = cache.changed(path, device, ["RSSI": .int16(-50)], invalidated: [])
        #expect(heard == [.device(path), .advertisement(adapter: hci1)])
    }

    @Test func whatIsUnknownChangesNothing() {
        var cache = ObjectCache()
        #expect(cache.changed(hci1.appending("dev_1"), device, ["RSSI": .int16(1)], invalidated: []).isEmpty)
        #expect(cache.added(hci1, interfaces(["org.bluez.Media1": [:]])).isEmpty)
        #expect(cache.added(hci1, .string("nonsense")).isEmpty)
        #expect(cache.removed(hci1, [ScriptedBluetoothd.adapter]).isEmpty)
        #expect(throws: BlueZError.self) { try ObjectCache(managed: .string("nonsense")) }
        #expect(throws: BlueZError.self) { try ObjectCache(managed: nil) }
    }

    @Test func batteryLevelsComeAndGo() {
        let path = hci1.appending("dev_1")
        var cache = cache([(path, [device: [:], "org.bluez.Battery1": [:]])])
        #expect(cache.devices[path]?.battery == nil)
        _ = cache.changed(path, "org.bluez.Battery1", ["Percentage": .byte(80)], invalidated: [])
        #expect(cache.devices[path]?.battery == 80)
        _ = cache.changed(path, "org.bluez.Battery1", ["Percentage": .byte(101)], invalidated: [])
        #expect(cache.devices[path]?.battery == nil)
        _ = cache.changed(path, "org.bluez.Battery1", ["Percentage": .byte(0)], invalidated: [])
        _ = cache.removed(path, ["org.bluez.Battery1"])
        #expect(cache.devices[path] != nil && cache.devices[path]?.battery == nil)
    }

    @Test func valuesAreNoNewsButForSubscribers() {
        let path = Recorder.controlPath
        var cache = cache([
            (Recorder.path, [device: [:]]),
            (path, [ScriptedBluetoothd.characteristic: ["UUID": .string("A")]]),
        ])
        let value = ["Value": DBusValue.bytes([1, 2])]
        let events = cache.changed(path, ScriptedBluetoothd.characteristic, value, invalidated: [])
        #expect(events == [.value(path, [1, 2])])
        let long = ["Value": DBusValue.bytes(Array(repeating: 0, count: 513))]
        #expect(cache.changed(path, ScriptedBluetoothd.characteristic, long, invalidated: []).isEmpty)
        #expect(cache.characteristics[path]?.uuid == "a" && cache.characteristics[path]?.mtu == 23)
    }

    @Test func aCrowdOfDevicesDoesNotGrowItNorPushOutOurs() {
        var cache = cache([
            (hci1, [ScriptedBluetoothd.adapter: [:]]),
            (hci1.appending("dev_paired"), [device: ["Paired": .boolean(true)]]),
            (hci1.appending("dev_connected"), [device: ["Connected": .boolean(true)]]),
        ])
        for index in 0..<(2 * ObjectCache.mostDevices) {
            _ = cache.added(hci1.appending("dev_\(index)"), interfaces([device: [:]]))
        }
        #expect(cache.devices.count == ObjectCache.mostDevices)
        #expect(cache.devices[hci1.appending("dev_paired")] != nil)
        #expect(cache.devices[hci1.appending("dev_connected")] != nil)
        #expect(cache.devices[hci1.appending("dev_0")] == nil)
        #expect(cache.devices[hci1.appending("dev_\(2 * ObjectCache.mostDevices - 1)")] != nil)
    }

    @Test func textsAndListsAreCut() {
        let path = hci1.appending("dev_1")
        let cache = cache([
            (
                path,
                [
                    device: [
                        "Name": .string(String(repeating: "ö", count: 5000)),
                        "UUIDs": .strings(Array(repeating: "A", count: 5000)),
                    ]
                ]
            )
        ])
        #expect(cache.devices[path]?.name?.utf8.count == PropertyReader.longestText)
        #expect(cache.devices[path]?.uuids?.count == PropertyReader.longestList)
        #expect(cache.devices[path]?.uuids?.first == "a")
    }
}
