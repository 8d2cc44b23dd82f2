import DBus
import FakeBlueZ
import RecorderModel
import SimulatorControl

/// Recorders behind an org.bluez of our own.
extension Scene {
    func runInSimulation() async throws {
        let peripherals = try (0..<options.recorders).map { index in try peripheral(index) }
        var configuration = FakeBlueZConfiguration(busAddress: options.bus, peripherals: peripherals)
        configuration.version = options.version
        configuration.adapters = (0..<options.adapters).map { index in
            .init(name: "hci\(index)", address: Self.successor(of: "00:1A:7D:DA:71:13", by: index))
        }
        let blueZ = FakeBlueZ(configuration, loop: loop, onEvent: onEvent)
        let control = try await control(blueZ, surroundings: blueZ.surroundingMethods)
        try await blueZ.start()
        let listed = peripherals.map { "\($0.recorder.serial)@\($0.address)" }.joined(separator: ",")
        let adapters = configuration.adapters.map(\.name).joined(separator: ",")
        Output.print("ready bus=\(options.bus) adapters=\(adapters) recorders=\(listed)")
        await wait(for: { await control.serve() }, telling: control)
    }

    private func peripheral(_ index: Int) throws(RecorderModelError) -> PeripheralConfiguration {
        let recorder = try recorder(index)
        var peripheral = PeripheralConfiguration(
            recorder: recorder, address: Self.successor(of: options.address, by: index),
            name: name(of: recorder))
        peripheral.confirmation = options.confirmation
        peripheral.passkey = options.passkey
        peripheral.mtu = options.mtu
        return peripheral
    }
}
