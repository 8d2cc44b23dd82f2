internal import DBus
internal import RecorderModel

/// One call of Device1.Pair.
final class PairingAttempt {
    let sender: String
    let agent: AgentRegistry.Agent?
    private var continuation: CheckedContinuation<Result<LinkSecurity, DBusError>, Never>?
    /// Ended before anybody waited.
    private var result: Result<LinkSecurity, DBusError>?

    init(sender: String, agent: AgentRegistry.Agent?) {
        self.sender = sender
        self.agent = agent
    }

    var isFinished: Bool { result != nil }

    func wait(_ continuation: CheckedContinuation<Result<LinkSecurity, DBusError>, Never>) {
        if let result { continuation.resume(returning: result) } else { self.continuation = continuation }
    }

    /// The first end counts.
    func finish(_ result: Result<LinkSecurity, DBusError>) {
        guard self.result == nil else { return }
        self.result = result
        continuation?.resume(returning: result)
        continuation = nil
    }
}

/// Pairing: LE Secure Connections with the caller's agent, and AgentManager1.
extension FakeBlueZ {
    private static let agentTimeout = Duration.seconds(60)

    var agentManagerInterface: PublishedInterface {
        let agent = ExportedArgument("agent", .objectPath)
        return PublishedInterface(
            name: BlueZ.agentManager, types: [:],
            methods: [
                ExportedMethod("RegisterAgent", in: [agent, ExportedArgument("capability", .string)]) {
                    call throws(DBusError) in
                    try await self.registerAgent(call)
                    return []
                },
                ExportedMethod("UnregisterAgent", in: [agent]) { call throws(DBusError) in
                    try await self.unregisterAgent(call)
                    return []
                },
                ExportedMethod("RequestDefaultAgent", in: [agent]) { call throws(DBusError) in
                    try await self.makeDefaultAgent(call)
                    return []
                },
            ], values: [:])
    }

    private func registerAgent(_ call: IncomingCall) throws(DBusError) {
        try agents.register(
            call.arguments[0].asObjectPath ?? .root, call.arguments[1].asString ?? "", call.sender)
    }

    private func unregisterAgent(_ call: IncomingCall) throws(DBusError) {
        try agents.unregister(call.arguments[0].asObjectPath ?? .root, call.sender)
    }

    private func makeDefaultAgent(_ call: IncomingCall) throws(DBusError) {
        try agents.makeDefault(call.arguments[0].asObjectPath ?? .root, call.sender)
    }

    // MARK: Pair

    func pair(_ path: ObjectPath, _ sender: String) async throws(DBusError) {
        let device = try device(path)
        guard device.adapter.isPowered else { throw .notReady }
        guard device.pairing == nil else { throw .inProgress }
        if configuration.version == .debian13, device.connecting != nil { throw .inProgress }
        guard device.bond == nil else {
            if configuration.version == .debian13 { throw .alreadyExists }
            // 5.66 tries to page the device over BR/EDR, which it does not have.
            _ = await pause(configuration.timing.pageTimeout, PendingStep())
            throw .pageTimeout
        }
        let attempt = PairingAttempt(sender: sender, agent: agents.agent(for: sender))
        device.pairing = attempt
        defer { device.pairing = nil }
        device.isTemporary = false
        if !device.isConnected {
            guard device.connecting == nil else { throw .inProgress }
            do throws(DBusError) {
                try await establishLink(device)
            } catch {
                throw .pageTimeout
            }
        }
        guard !device.hasForeignPairing else { throw .authenticationFailed }
        if !attempt.isFinished { Task { await self.negotiate(device, attempt) } }
        let result = await withCheckedContinuation { attempt.wait($0) }
        let security = try result.get()
        guard device.isConnected else { throw .authenticationCanceled }
        bond(device, security)
    }

    private func bond(_ device: FakeDevice, _ security: LinkSecurity) {
        let peripheral = device.peripheral
        device.bond = security
        bonds[device.adapter.address, default: [:]][peripheral.configuration.address] = security
        peripheral.model.secure(security)
        deliver(peripheral.model.setBond(security, with: device.adapter.address), peripheral)
        change(device.path, BlueZ.device, ["Paired": .boolean(true), "Bonded": .boolean(true)])
        onEvent(.paired(serial: peripheral.serial))
    }

    /// With no pairing under way this deletes the bond, as bluetoothd's does.
    func cancelPairing(_ path: ObjectPath) throws(DBusError) {
        let device = try device(path)
        guard let attempt = device.pairing else {
            if device.bond != nil {
                device.bond = nil
                bonds[device.adapter.address]?[device.peripheral.configuration.address] = nil
                change(device.path, BlueZ.device, ["Paired": .boolean(false), "Bonded": .boolean(false)])
                dropLink(device)
            }
            throw .doesNotExist
        }
        cancelAgent(attempt)
        attempt.finish(.failure(.authenticationCanceled))
    }

    private func cancelAgent(_ attempt: PairingAttempt) {
        guard let agent = attempt.agent, let connection else { return }
        Task { _ = try? await connection.call(MethodCall(agent.sender, agent.path, BlueZ.agent, "Cancel")) }
    }

    // MARK: Association models (Core Specification, Vol 3, Part H, 2.3.5.1)

    private static func method(
        recorder: PairingMethod, agent capability: String?
    ) -> PairingMethod {
        switch (recorder, capability ?? "NoInputNoOutput") {
        case (.justWorks, _), (_, "NoInputNoOutput"), (_, "DisplayOnly"): .justWorks
        case (.numericComparison, "DisplayYesNo"), (.numericComparison, "KeyboardDisplay"): .numericComparison
        case (.numericComparison, _), (.passkeyEntry, "KeyboardOnly"), (.passkeyEntry, "KeyboardDisplay"):
            .passkeyEntry
        case (.passkeyEntry, _): .justWorks
        }
    }

    private func negotiate(_ device: FakeDevice, _ attempt: PairingAttempt) async {
        let peripheral = device.peripheral
        guard !peripheral.model.faults.refusesPairing else {
            return attempt.finish(.failure(.authenticationFailed))
        }
        let method = Self.method(
            recorder: peripheral.configuration.recorder.pairing, agent: attempt.agent?.capability)
        guard method != .justWorks else { return attempt.finish(.success(.encrypted)) }
        let number = peripheral.configuration.passkey ?? UInt32.random(in: 0...999_999)
        let digits = String(number)
        let shown = String(repeating: "0", count: max(0, 6 - digits.utf8.count)) + digits
        peripheral.user.ask()
        onEvent(.displayed(serial: peripheral.serial, passkey: shown))
        do throws(DBusError) {
            if method == .numericComparison {
                _ = try await ask(
                    attempt, "RequestConfirmation", [.objectPath(device.path), .uint32(number)])
                guard await withCheckedContinuation({ peripheral.user.wait($0) }) else {
                    throw .authenticationFailed
                }
            } else {
                let reply = try await ask(attempt, "RequestPasskey", [.objectPath(device.path)])
                guard reply.first?.asUInt32 == number else { throw .authenticationFailed }
            }
            attempt.finish(.success(.authenticated))
        } catch {
            attempt.finish(.failure(error))
        }
    }

    private func ask(
        _ attempt: PairingAttempt, _ member: String, _ arguments: [DBusValue]
    ) async throws(DBusError) -> [DBusValue] {
        guard let agent = attempt.agent, let connection else { throw .authenticationFailed }
        do throws(DBusError) {
            return try await connection.call(
                MethodCall(agent.sender, agent.path, BlueZ.agent, member, arguments),
                timeout: Self.agentTimeout)
        } catch {
            throw error.name == "org.bluez.Error.Canceled" ? .authenticationCanceled : .authenticationFailed
        }
    }
}
