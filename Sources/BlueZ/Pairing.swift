package import DBus

/// What BlueZ asks, or tells, the user during a pairing.
package enum PairingPrompt: Sendable, Hashable {
    /// Numeric comparison: does the device show the same six digits?
    case confirm(passkey: String)
    /// The device shows six digits: which?
    case enterPasskey
    /// To be typed on the device; `entered` digits have been. No answer is waited for.
    case display(passkey: String, entered: Int)
    /// Just Works: pair without a proof of who the device is?
    case justWorks
}

/// The user's answer to a prompt.
package enum PairingAnswer: Sendable, Hashable {
    case accept
    case reject
    /// To `enterPasskey`: 0…999999.
    case passkey(UInt32)
}

/// Gets the prompts of one pairing. Must return promptly when its task is cancelled: then nobody waits for the
/// answer any more.
package typealias PairingHandler = @Sendable (PairingPrompt) async -> PairingAnswer

/// A pairing of ours under way.
struct Pairing {
    let id: UInt64
    let handler: PairingHandler
    var wasPrompted = false
    var wasDeclined = false
}

/// Our agent, and the pairings that it answers for.
struct AgentState {
    var isRegistered = false
    var pairings: [ObjectPath: Pairing] = [:]
    /// How often bluetoothd has taken its questions back.
    var cancellations: UInt64 = 0
}

extension BlueZ {
    /// Pairs a device, unless it is; `prompts` is asked what BlueZ asks. Connects it where it is not connected, and is
    /// best called then: on a link that is there already, a pairing of another may be under way, and fail ours. Never
    /// sets Trusted. Throws `authenticationFailed` and its kin, `pairingDeclined` when `prompts` said no, `timedOut`,
    /// `connectFailed`, `linkLost`, ….
    package func pair(_ device: ObjectPath, prompts: @escaping PairingHandler) async throws(BlueZError) {
        // Checked first: BlueZ 5.66 pages a bonded device by BR/EDR instead.
        if cache.devices[device]?.isPaired == true { return }
        try await exclusively(with: device) { () async throws(BlueZError) in
            try await self.pairNow(device, prompts: prompts)
        }
    }

    private func pairNow(_ device: ObjectPath, prompts: @escaping PairingHandler) async throws(BlueZError) {
        try await wait(
            for: "the registration of the pairing agent", in: .device(device),
            timeout: configuration.deadlines.other
        ) { $0.agent.isRegistered }
        do throws(BlueZError) {
            try await attemptPairing(device, prompts: prompts)
        } catch {
            guard error.code == .authenticationCanceled else { throw error }
            // Right after a connect the device may not be ready (bluest#44).
            try await pause(for: configuration.deadlines.pairAgain)
            if cache.devices[device]?.isPaired != true { try await attemptPairing(device, prompts: prompts) }
        }
        try await wait(
            for: "the pairing of \(device.name)", in: .device(device),
            timeout: configuration.deadlines.disconnect
        ) { $0.cache.devices[device]?.isPaired == true }
    }

    private func attemptPairing(
        _ device: ObjectPath, prompts: @escaping PairingHandler
    ) async throws(BlueZError) {
        agent.pairings[device] = Pairing(id: nextID(), handler: prompts)
        let result: Result<Void, BlueZError>
        do throws(BlueZError) {
            try await call(
                device, ObjectCache.Interface.device, "Pair", in: .device(device),
                timeout: configuration.deadlines.pair)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        let pairing = agent.pairings.removeValue(forKey: device)
        stateChanged()  // ends a prompt that is still open
        do throws(BlueZError) {
            try result.get()
        } catch {
            // Whether it is true, the Paired property tells.
            if error.name == BlueZError.Name.alreadyExists { return }
            if error.code == .timedOut || error.code == .cancelled { post(.cancelPairing(device)) }
            if pairing?.wasDeclined == true {
                throw BlueZError(.pairingDeclined, name: error.name, "the pairing was refused by the user")
            }
            if error.code == .authenticationCanceled, pairing?.wasPrompted == true {
                // Somebody was asked: not the failure that a repetition mends.
                throw BlueZError(.authenticationFailed, name: error.name, error.message)
            }
            if error.code == .authenticationRejected, pairing?.wasPrompted != true {
                // The kernel's BUSY, not the device's no: a bluetoothd that died has left it a connection or a pairing.
                throw BlueZError(
                    .inProgress, name: error.name, "an earlier connection or pairing has not ended yet")
            }
            throw error
        }
    }

    /// Ends a Pair of ours that we no longer wait for. Not when it has succeeded meanwhile: without a pairing under
    /// way, CancelPairing deletes the bond.
    func cancelPairing(of device: ObjectPath) async {
        guard owner != nil, let known = cache.devices[device], known.isPaired != true,
            agent.pairings[device] == nil
        else { return }
        _ = await send(
            method(device, ObjectCache.Interface.device, "CancelPairing"),
            timeout: configuration.deadlines.other)
    }

    private func pause(for duration: Duration) async throws(BlueZError) {
        do {
            try await clock.sleep(for: duration)
        } catch {
            throw .cancelled
        }
    }
}
