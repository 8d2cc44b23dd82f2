package import DBus
internal import RecorderModel
internal import SimulatorControl

/// What tests and people do to bluetoothd and its adapters.
extension FakeBlueZ {
    /// The methods of the control interface for what is around the recorders.
    package nonisolated var surroundingMethods: [ExportedMethod] {
        [
            SimulatorControl.method("StopBluetoothd", [:]) { _ throws(RecorderModelError) in
                await self.stop()
                return []
            },
            SimulatorControl.method("StartBluetoothd", [:]) { _ throws(RecorderModelError) in
                try await self.startBluetoothd()
                return []
            },
            SimulatorControl.method("RestartBluetoothd", [:]) { _ throws(RecorderModelError) in
                await self.stop()
                try await self.startBluetoothd()
                return []
            },
            SimulatorControl.method("RemoveAdapter", ["name": .string]) {
                arguments throws(RecorderModelError) in
                await self.removeAdapter(text(arguments, 0))
                return []
            },
            SimulatorControl.method("AddAdapter", ["name": .string, "address": .string]) {
                arguments throws(RecorderModelError) in
                guard ObjectPath("/" + text(arguments, 0)) != nil else {
                    throw RecorderModelError(.fault, "\(text(arguments, 0)) cannot name an adapter")
                }
                await self.addAdapter(.init(name: text(arguments, 0), address: text(arguments, 1)))
                return []
            },
            SimulatorControl.method("SetBlocked", ["name": .string, "blocked": .boolean]) {
                arguments throws(RecorderModelError) in
                await self.setBlocked(text(arguments, 0), arguments[1].asBool == true)
                return []
            },
        ]
    }

    private func startBluetoothd() async throws(RecorderModelError) {
        do throws(DBusError) {
            try await start()
        } catch {
            throw RecorderModelError(.fault, error.message)
        }
    }
}

private func text(_ arguments: [DBusValue], _ position: Int) -> String {
    arguments[position].asString ?? ""
}
