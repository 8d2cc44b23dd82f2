package import BlueZ
import CaptureQueue
import DBus
import EventLoop
import FoundationEssentials
import Recorder

/// Whom to pair with, and how.
package struct PairingOptions: Sendable {
    /// A device's address or a recorder's serial number.
    package var target: String
    /// Fail when it is paired already, instead of doing nothing.
    package var isFirstTime = false
    /// Remove the bond that there is and make a new one.
    package var repairs = false
    /// Accept a pairing that does not prove who the recorder is.
    package var allowsJustWorks = false
    /// How long to look for one that is not in reach.
    package var searchTime = Duration.seconds(30)

    package init(target: String) {
        self.target = target
    }
}

/// The user's answer, under a name that does not collide where Control is imported too.
package typealias PromptAnswer = PairingAnswer

/// The user as a pairing sees them.
package protocol PairingUser: Sendable {
    /// What is being done now: `searching`, `connecting`, `pairing`, `reading`.
    func stage(_ stage: String) async

    /// Asks and waits; returns `reject` when nobody answers. Must return promptly when its task is cancelled.
    func answer(_ prompt: PairingPrompt) async -> PromptAnswer
}

/// What a pairing led to.
package struct PairingOutcome: Sendable {
    /// The recorder's serial number.
    package let serial: String
    /// Nothing was done: it was paired before.
    package let wasPaired: Bool
    /// `numeric_comparison`, `passkey`, `just_works`; nil where it is not known of a bond that was there before.
    package let security: String?
}

/// Pairs one recorder: finds it, connects, pairs through our agent, learns who it is, and only then calls it ours. A
/// pairing that does not come to that leaves no bond behind.
struct PairingDriver: Sendable {
    let context: LinkContext
    let links: LinkSupervisor

    private static let removalDeadline = Duration.seconds(10)
    private static let connectAttempts = 3
    /// Together almost as long as the 30 s after which the kernel ends a pairing that a bluetoothd left behind.
    private static let busyAttempts = 7

    func pair(_ options: PairingOptions, user: any PairingUser) async throws(GatewayError) -> PairingOutcome {
        try await requireAdapter()
        let (address, known) = try await resolve(options.target)
        var device = try await find(address, options.searchTime, user)
        if device.isPaired == true {
            guard !options.isFirstTime else {
                throw GatewayError(.refused, "\(Self.name(device)) is paired already")
            }
            if !options.repairs {
                // How a bond of somebody else's making came about, nobody can tell: it may prove nothing.
                guard let known else { throw Self.foreignBond(device) }
                return PairingOutcome(serial: known.serial, wasPaired: true, security: known.security)
            }
        }
        if let known { await links.release(known.serial) }
        do throws(GatewayError) {
            if device.isPaired == true {
                device = try await removeBond(of: device, address, options.searchTime, user)
            }
            device = try await endLink(to: device, address, options.searchTime, user)
            return try await bond(device, options, user)
        } catch {
            await undo(device)
            if let known { await links.supervise(known.serial, address: address) }
            throw error
        }
    }

    // MARK: Finding

    /// Says what is missing, and what to do about it, before anything is tried.
    func requireAdapter() async throws(GatewayError) {
        guard let trouble = await context.adapterTrouble() else { return }
        throw GatewayError(.notReady, trouble.text, hint: trouble.hint)
    }

    /// The address that is meant, and the recorder that is known by it.
    private func resolve(_ target: String) async throws(GatewayError) -> (String, RecorderRecord?) {
        let recorders: [RecorderRecord]
        do throws(QueueError) {
            recorders = try await context.queue.recorders()
        } catch {
            throw GatewayError(error)
        }
        if let address = DeviceAddress(target)?.description {
            return (address, recorders.first { $0.pairedAt != nil && $0.bluetoothIdentity == address })
        }
        guard let known = recorders.first(where: { $0.serial == target }),
            let address = known.bluetoothIdentity
        else {
            throw GatewayError(
                .notFound,
                "\(Terminal.printable(target)) is neither a Bluetooth address nor a known recorder",
                hint: "celestiad scan shows the recorders in reach with their addresses.")
        }
        return (address, known.pairedAt == nil ? nil : known)
    }

    private func find(
        _ address: String, _ time: Duration, _ user: any PairingUser
    ) async throws(GatewayError) -> Device {
        if let device = await context.devices(address: address).first { return device }
        await user.stage("searching")
        let discovery = await context.bluez.discover(on: context.configuration.adapter)
        defer { discovery.end() }
        do throws(BlueZError) {
            try await context.bluez.wait(
                until: { bluez in bluez.devices.contains { $0.address?.uppercased() == address } },
                what: "the recorder's advertisement", timeout: time)
        } catch {
            guard error.code == .timedOut else { throw GatewayError(error) }
            throw GatewayError(
                .notFound, "no device at \(address) was seen within \(time.components.seconds) s",
                hint: "Is it awake, near and not connected elsewhere? celestiad scan shows what is in reach.")
        }
        guard let device = await context.devices(address: address).first else {
            throw GatewayError(.notReady, "the adapter that saw \(address) may not be used")
        }
        return device
    }

    private func removeBond(
        of device: Device, _ address: String, _ time: Duration, _ user: any PairingUser
    ) async throws(GatewayError) -> Device {
        do throws(BlueZError) {
            try await context.bluez.removeDevice(device.path)
            // The answer may come before the news of it, and what is still known would be taken for found.
            try await context.bluez.wait(
                until: { bluez in !bluez.devices.contains { $0.path == device.path && $0.isPaired == true } },
                what: "the end of the bond", timeout: Self.removalDeadline)
        } catch {
            throw GatewayError(error)
        }
        return try await find(address, time, user)
    }

    /// Ends a link without a bond: a pairing that is not ours may be under way on it, begun by the recorder that asked for
    /// the security of a bond which we lost, or left to the kernel by a bluetoothd that died. Pair would fail with it.
    private func endLink(
        to device: Device, _ address: String, _ time: Duration, _ user: any PairingUser
    ) async throws(GatewayError) -> Device {
        guard await context.bluez.device(device.path)?.isConnected == true else { return device }
        do throws(BlueZError) {
            try await context.bluez.disconnect(device.path)
        } catch {
            throw GatewayError(error)
        }
        // BlueZ forgets a device that it knew by its link alone.
        return try await find(address, time, user)
    }

    // MARK: Bonding

    private func bond(
        _ device: Device, _ options: PairingOptions, _ user: any PairingUser
    ) async throws(GatewayError) -> PairingOutcome {
        await user.stage("connecting")
        let security = try await pair(device, options, user)
        let link = try await connect(device)
        await user.stage("reading")
        let serial = try await introduce(link, security)
        let address = await context.bluez.device(device.path)?.address ?? device.address ?? ""
        context.log.notice("recorder \(serial): paired", .recorderPaired, recorder: serial)
        await links.supervise(serial, address: address)
        return PairingOutcome(serial: serial, wasPaired: false, security: security)
    }

    private func connect(_ device: Device) async throws(GatewayError) -> Link {
        do throws(BlueZError) {
            return try await repeatedly { () async throws(BlueZError) in
                try await context.bluez.connect(device.path)
            }
        } catch {
            throw GatewayError(error)
        }
    }

    /// Does what needs a connection, and again where that did not come about.
    private func repeatedly<Value: Sendable>(
        untilAsked prompt: AskedPrompt = AskedPrompt(), _ body: () async throws(BlueZError) -> Value
    ) async throws(BlueZError) -> Value {
        var attempt = 1
        while true {
            do throws(BlueZError) {
                return try await body()
            } catch {
                let limit = error.code == .inProgress ? Self.busyAttempts : Self.connectAttempts
                guard error.isTransient, prompt.security == nil, attempt < limit else { throw error }
                attempt += 1
                try? await context.clock.sleep(for: .seconds(attempt))
            }
        }
    }

    /// Pairs and says how: a pairing in which nobody was asked anything proves nothing. The device is not connected yet:
    /// on a link that Pair makes, no pairing but ours is under way.
    private func pair(
        _ device: Device, _ options: PairingOptions, _ user: any PairingUser
    ) async throws(GatewayError) -> String {
        let asked = AskedPrompt()
        do throws(BlueZError) {
            try await repeatedly(untilAsked: asked) { () async throws(BlueZError) in
                try await context.bluez.pair(device.path) { prompt in
                    if asked.note(prompt) { await user.stage("pairing") }
                    if prompt == .justWorks, !options.allowsJustWorks { return .reject }
                    return await user.answer(prompt)
                }
            }
        } catch {
            if asked.security == "just_works", !options.allowsJustWorks { throw Self.justWorksRefused }
            throw GatewayError(error)
        }
        let security = asked.security ?? "just_works"
        guard security != "just_works" || options.allowsJustWorks else { throw Self.justWorksRefused }
        return security
    }

    private static func foreignBond(_ device: Device) -> GatewayError {
        GatewayError(
            .refused,
            "\(name(device)) is bonded with this machine already, but not by celestiad: whether that bond proves who "
                + "it is, is not known",
            hint: "Add --repair, which removes that bond and makes a new one.")
    }

    private static let justWorksRefused = GatewayError(
        .refused,
        "this device pairs by Just Works, which does not prove who it is: another device could be between",
        hint: "If you are sure that nobody interferes, add --allow-just-works.")

    /// Reads who it is, sets its clock, and stores it as paired.
    private func introduce(_ link: Link, _ security: String) async throws(GatewayError) -> String {
        do throws(BlueZError) {
            try await context.bluez.waitServicesResolved(on: link, requiring: LinkContext.requiredServices)
        } catch {
            if error.code == .characteristicMissing {
                throw GatewayError(.refused, "this is not a Celestia recorder: \(error.message)")
            }
            throw GatewayError(error)
        }
        let gatt = BlueZGATTLink(bluez: context.bluez, link: link)
        let device = await context.bluez.device(link.device)
        let journal = LinkJournal(
            context: context, deviceName: device?.name, address: device?.address,
            problems: ProblemLog(context.log))
        let store = QueueCaptureStore(
            queue: context.queue, targetHost: context.targetHost, policy: .never, now: context.now)
        let session = context.session(
            over: gatt, channel: await context.planes.choose(for: gatt).channel, store: store,
            ledger: FailureLedger(),
            isIntroduction: true
        ) { journal.note($0) }
        let report = await journal.keep { await session.run() }
        if let failure = report.failure {
            throw GatewayError(
                .refused, failure.message,
                hint: failure.hint ?? "Keep the recorder near and awake, and try again.")
        }
        guard var update = journal.learned, !update.serial.isEmpty else {
            throw GatewayError(.refused, "the device did not say who it is")
        }
        update.pairedAt = context.now()
        update.security = security
        do throws(QueueError) {
            try await context.queue.record(update)
        } catch {
            throw GatewayError(error)
        }
        return update.serial
    }

    /// Leaves no half bond. Not cancelled with the pairing: it is what a cancelled pairing needs most.
    private func undo(_ device: Device) async {
        let bluez = context.bluez
        let undoing = Task {
            if await bluez.device(device.path)?.isPaired == true {
                try? await bluez.removeDevice(device.path)
            } else {
                try? await bluez.disconnect(device.path)
            }
        }
        await undoing.value
    }

    private static func name(_ device: Device) -> String {
        Terminal.printable(device.name ?? device.address ?? device.path.name)
    }
}

/// Remembers what the user was asked.
private final class AskedPrompt: Sendable {
    private let last = Locked<String?>(nil)

    var security: String? { last.withLock { $0 } }

    /// Returns whether it is the first.
    func note(_ prompt: PairingPrompt) -> Bool {
        let security =
            switch prompt {
            case .confirm: "numeric_comparison"
            case .enterPasskey, .display: "passkey"
            case .justWorks: "just_works"
            }
        return last.withLock { last in
            defer { last = security }
            return last == nil
        }
    }
}
