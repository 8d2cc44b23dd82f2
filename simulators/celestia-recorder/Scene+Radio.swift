import BlueZPeripheral
import DBus
import RecorderModel
import SimulatorControl

/// A recorder on the radio of a real adapter.
extension Scene {
    func runOnRadio(_ adapter: String) async throws {
        let recorder = try recorder(0)
        var configuration = BlueZPeripheralConfiguration(
            busAddress: options.bus, adapter: adapter, recorder: recorder, name: name(of: recorder))
        configuration.confirmation = options.confirmation
        let peripheral = BlueZPeripheral(
            configuration, loop: loop, onTrouble: Output.complain, onEvent: onEvent)
        let control = await controlIfAllowed(peripheral)
        if let control { Task { await control.serve() } }
        try await peripheral.start()
        let address = await peripheral.address
        Output.print("ready bus=\(options.bus) adapters=\(adapter) recorders=\(recorder.serial)@\(address)")
        await wait(for: { await peripheral.waitUntilClosed() }, telling: control)
    }

    /// The system bus gives the name away only where a policy says so, and a recorder is a recorder without it.
    private func controlIfAllowed(_ peripheral: BlueZPeripheral) async -> SimulatorControl? {
        do throws(DBusError) {
            return try await control(peripheral)
        } catch {
            Output.complain(
                "no control interface: \(error.message); life.ccdw.CelestiaSim1.conf in /usr/share/dbus-1/system.d allows it"
            )
            return nil
        }
    }
}
