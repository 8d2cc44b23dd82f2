import DBus

/// Our org.bluez.Agent1: answers for the devices that we are pairing, and refuses everything else.
extension BlueZ {
    private static let agentInterface = "org.bluez.Agent1"
    private static let rejected = DBusError.remote(BlueZError.Name.rejected, "rejected")
    private static let canceled = DBusError.remote(BlueZError.Name.canceled, "canceled")

    // MARK: Registration

    /// Registers the agent with the bluetoothd of this generation: never as the default agent, which is the desktop's.
    func registerAgent(in generation: UInt64) async {
        let scope = Scope.bluetoothd(generation)
        var mayMakeRoom = true
        while failure(of: scope) == nil {
            do throws(BlueZError) {
                try await callAgentManager("RegisterAgent", [.string("KeyboardDisplay")], in: scope)
                agent.isRegistered = true
                return stateChanged()
            } catch {
                if error.name == BlueZError.Name.alreadyExists, mayMakeRoom {
                    // One of an earlier life of ours on this connection is in the way.
                    mayMakeRoom = false
                    _ = try? await callAgentManager("UnregisterAgent", in: scope)
                } else if (try? await clock.sleep(for: .seconds(5))) == nil {
                    return
                }
            }
        }
    }

    private func callAgentManager(
        _ member: String, _ arguments: [DBusValue] = [], in scope: Scope
    ) async throws(BlueZError) {
        try await call(
            Self.root, ObjectCache.Interface.agentManager, member,
            [.objectPath(configuration.agentPath)] + arguments, in: scope,
            timeout: configuration.deadlines.other)
    }

    // MARK: The exported object

    /// Refuses callers other than bluetoothd: anybody on the bus can call us.
    func admit(_ call: IncomingCall) throws(DBusError) {
        guard let owner, call.sender == owner else {
            throw .remote(DBusErrorName.accessDenied, "only bluetoothd may call this")
        }
    }

    func agentObject() -> ExportedObject {
        let device = ExportedArgument("device", .objectPath)
        let passkey = ExportedArgument("passkey", .uint32)
        let interface = ExportedInterface(
            Self.agentInterface,
            methods: [
                method("Release") { $0.takeQuestionsBack(isReleased: true) },
                method("Cancel") { $0.takeQuestionsBack(isReleased: false) },
                ExportedMethod(
                    "RequestPinCode", in: [device], out: [ExportedArgument("pin", .string)], Self.refuse),
                ExportedMethod(
                    "DisplayPinCode", in: [device, ExportedArgument("pin", .string)], Self.refuse),
                ExportedMethod(
                    "RequestPasskey", in: [device], out: [passkey], ask { _ in .enterPasskey }),
                ExportedMethod(
                    "DisplayPasskey", in: [device, passkey, ExportedArgument("entered", .uint16)], display()),
                ExportedMethod(
                    "RequestConfirmation", in: [device, passkey],
                    ask { call in Self.passkey(call).map { .confirm(passkey: $0) } }),
                ExportedMethod("RequestAuthorization", in: [device], ask { _ in .justWorks }),
                ExportedMethod(
                    "AuthorizeService", in: [device, ExportedArgument("uuid", .string)], authorizeService()),
            ])
        return ExportedObject(configuration.agentPath, [interface])
    }

    private static let refuse: ExportedMethod.Handler = { _ throws(DBusError) in throw rejected }

    private func method(
        _ name: String, _ body: @escaping @Sendable (isolated BlueZ) -> Void
    ) -> ExportedMethod {
        // Weak here and below: the connection holds the object, and this actor the connection.
        ExportedMethod(name) { [weak self] _ throws(DBusError) in
            if let self { await self.run(body) }
            return []
        }
    }

    private func run(_ body: @Sendable (isolated BlueZ) -> Void) {
        body(self)
    }

    private func ask(
        _ prompt: @escaping @Sendable (IncomingCall) -> PairingPrompt?
    ) -> ExportedMethod.Handler {
        { [weak self] call throws(DBusError) in
            guard let self, let device = call.arguments.first?.asObjectPath, let prompt = prompt(call) else {
                throw Self.rejected
            }
            return try await self.answer(prompt, of: device)
        }
    }

    /// bluetoothd waits for no answer, and tells again with every digit that is typed.
    private func display() -> ExportedMethod.Handler {
        { [weak self] call throws(DBusError) in
            guard let self, let device = call.arguments.first?.asObjectPath,
                let passkey = Self.passkey(call), let entered = call.arguments.last?.asUInt16
            else { throw Self.rejected }
            try await self.announce(.display(passkey: passkey, entered: min(6, Int(entered))), of: device)
            return []
        }
    }

    private func authorizeService() -> ExportedMethod.Handler {
        { [weak self] call throws(DBusError) in
            guard let self, let device = call.arguments.first?.asObjectPath,
                let uuid = call.arguments.last?.asString,
                await self.mayUse(uuid.lowercased(), device: device)
            else { throw Self.rejected }
            return []
        }
    }

    private func mayUse(_ uuid: String, device: ObjectPath) -> Bool {
        cache.devices[device]?.isPaired == true && configuration.services.contains(uuid)
    }

    /// The passkey of a call as people compare it: six digits.
    private static func passkey(_ call: IncomingCall) -> String? {
        guard call.arguments.count > 1, let number = call.arguments[1].asUInt32, number <= 999_999 else {
            return nil
        }
        let digits = String(number)
        return String(repeating: "0", count: 6 - digits.count) + digits
    }

    // MARK: Prompts

    /// Cancel and Release: nobody waits for the open questions any more.
    private func takeQuestionsBack(isReleased: Bool) {
        agent.cancellations += 1
        if isReleased, agent.isRegistered {
            agent.isRegistered = false
            post(.registerAgent(busGeneration))
        }
        stateChanged()
    }

    /// Asks the handler of the device's pairing.
    private func answer(_ prompt: PairingPrompt, of device: ObjectPath) async throws(DBusError) -> [DBusValue]
    {
        guard let pairing = agent.pairings[device] else { throw Self.rejected }
        agent.pairings[device]?.wasPrompted = true
        let cancellations = agent.cancellations
        let answer = await withTaskGroup(of: PairingAnswer?.self) { group in
            group.addTask { await pairing.handler(prompt) }
            group.addTask { await self.withdrawal(of: pairing.id, device: device, since: cancellations) }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        switch (answer, prompt) {
        case (nil, _): throw Self.canceled
        case (.accept, .confirm), (.accept, .justWorks): return []
        case (.passkey(let number), .enterPasskey) where number <= 999_999: return [.uint32(number)]
        default:
            if agent.pairings[device]?.id == pairing.id { agent.pairings[device]?.wasDeclined = true }
            throw Self.rejected
        }
    }

    private func withdrawal(
        of pairing: UInt64, device: ObjectPath, since cancellations: UInt64
    ) async -> PairingAnswer? {
        _ = await park { bluez in
            bluez.agent.cancellations == cancellations && bluez.agent.pairings[device]?.id == pairing
                ? .pending : .met
        }
        return nil
    }

    private func announce(_ prompt: PairingPrompt, of device: ObjectPath) throws(DBusError) {
        guard agent.pairings[device] != nil else { throw Self.rejected }
        agent.pairings[device]?.wasPrompted = true
        post(.show(prompt, device))
    }

    func show(_ prompt: PairingPrompt, of device: ObjectPath) async {
        guard let pairing = agent.pairings[device] else { return }
        _ = await pairing.handler(prompt)
    }
}
