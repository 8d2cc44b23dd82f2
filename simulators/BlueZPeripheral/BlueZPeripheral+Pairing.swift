internal import DBus
internal import RecorderModel

/// The recorder's display and button: org.bluez.Agent1.
extension BlueZPeripheral {
    /// What the recorder has for pairing (Core Specification, Vol 3, Part H, 2.3.2).
    var capability: String {
        switch configuration.recorder.pairing {
        case .numericComparison: "DisplayYesNo"
        case .passkeyEntry: "DisplayOnly"
        case .justWorks: "NoInputNoOutput"
        }
    }

    var agentObject: ExportedObject {
        let device = ExportedArgument("device", .objectPath)
        let passkey = ExportedArgument("passkey", .uint32)
        let refuse: ExportedMethod.Handler = { _ throws(DBusError) in throw .rejected }
        return ExportedObject(
            BlueZNames.agentPath,
            [
                ExportedInterface(
                    BlueZNames.agent,
                    methods: [
                        ExportedMethod("Release") { _ throws(DBusError) in [] },
                        ExportedMethod("Cancel") { _ throws(DBusError) in
                            await self.cancelNumber()
                            return []
                        },
                        ExportedMethod("RequestConfirmation", in: [device, passkey]) {
                            call throws(DBusError) in
                            try await self.confirmNumber(call)
                            return []
                        },
                        ExportedMethod(
                            "DisplayPasskey", in: [device, passkey, ExportedArgument("entered", .uint16)]
                        ) { call throws(DBusError) in
                            try await self.display(call)
                            return []
                        },
                        ExportedMethod("RequestAuthorization", in: [device]) { call throws(DBusError) in
                            try await self.admitPairing(call)
                            return []
                        },
                        ExportedMethod(
                            "AuthorizeService", in: [device, ExportedArgument("uuid", .string)]
                        ) { _ throws(DBusError) in [] },
                        ExportedMethod("RequestPasskey", in: [device], out: [passkey], refuse),
                        ExportedMethod(
                            "RequestPinCode", in: [device], out: [ExportedArgument("pin", .string)], refuse),
                        ExportedMethod(
                            "DisplayPinCode", in: [device, ExportedArgument("pin", .string)], refuse),
                    ])
            ])
    }

    private func cancelNumber() {
        user.confirm(false)
    }

    /// The default agent is asked for every adapter of a bluetoothd, that of a hub on the same machine included.
    private func admitPairing(_ call: IncomingCall) throws(DBusError) {
        guard call.arguments[0].asObjectPath?.isBelow(adapter.path) == true, !model.faults.refusesPairing
        else {
            throw .rejected
        }
    }

    private func confirmNumber(_ call: IncomingCall) async throws(DBusError) {
        try admitPairing(call)
        user.ask()
        show(call)
        guard await withCheckedContinuation({ user.wait($0) }) else { throw .rejected }
    }

    /// bluetoothd asks once more for each digit that is entered. A refusal here does not end the pairing; a link that is
    /// cut does.
    private func display(_ call: IncomingCall) throws(DBusError) {
        guard call.arguments[2].asUInt16 == 0 else { return }
        do throws(DBusError) {
            try admitPairing(call)
        } catch {
            cutLink("")
            throw error
        }
        show(call)
    }

    private func show(_ call: IncomingCall) {
        let digits = String(call.arguments[1].asUInt32 ?? 0)
        let padding = String(repeating: "0", count: max(0, 6 - digits.utf8.count))
        onEvent(.displayed(serial: model.serial, passkey: padding + digits))
    }
}
