internal import DBus
internal import EventLoop
internal import ObjectTransfer
package import RecorderModel
internal import SimulatorControl

/// A hub that is connected.
final class HubLink {
    let hub: ObjectPath
    /// The ATT MTU, as bluetoothd says with every request.
    var mtu = 23
    /// Whether bluetoothd has let the hub at a protected attribute, so that the link is known to be secure.
    var isProtected = false
    /// The link is to end: nothing is answered any more, as if the radio were silent.
    var isEnding = false
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(hub: ObjectPath) {
        self.hub = hub
    }

    /// Returns when the link has ended.
    func waitForEnd() async {
        await withCheckedContinuation { waiters.append($0) }
    }

    func ended() {
        for waiter in waiters { waiter.resume() }
        waiters = []
    }
}

/// Links and bonds.
extension BlueZPeripheral {
    /// A hub connected. A second one is not served.
    func beginLink(_ hub: ObjectPath) {
        guard link == nil else { return }
        link = HubLink(hub: hub)
        model.connect(security: .open)
        resumeSubscriptions(isProtected: false)
        onEvent(.connected(serial: model.serial))
    }

    func endLink(_ hub: ObjectPath) {
        guard let link, link.hub == hub else { return }
        self.link = nil
        stopSending()
        model.disconnect()
        link.ended()
        onEvent(.disconnected(serial: model.serial))
        // Another hub may have waited for its turn.
        if let next = adapter.hubs.first(where: { $0.value.isConnected }) { beginLink(next.key) }
    }

    private func stopSending() {
        pumpTimer?.cancel()
        pendingFrame = 0
        user.confirm(false)
        channel?.close()
    }

    func bondChanged(_ address: String, _ isBonded: Bool) {
        deliver(model.setBond(isBonded ? configuration.recorder.requiredSecurity : nil, with: address))
        if isBonded { onEvent(.paired(serial: model.serial)) }
    }

    /// bluetoothd or the kernel let the hub at something that needs a secure link, so the link is one.
    func protect(_ link: HubLink) {
        guard !link.isProtected else { return }
        link.isProtected = true
        model.secure(configuration.recorder.requiredSecurity)
        resumeSubscriptions(isProtected: true)
    }

    /// bluetoothd does not say again what a bonded hub had subscribed to on an earlier link.
    private func resumeSubscriptions(isProtected: Bool) {
        for id in subscriptions where AttributeTable.characteristic(id)?.isProtected == isProtected {
            try? model.subscribe(id, true)
        }
    }

    /// The link that a request came over. Waits with a link that is to end until it has, and throws then.
    func link(of options: [String: DBusValue], for id: GATTCharacteristicID) async throws(DBusError)
        -> HubLink
    {
        if let hub = options["device"]?.asObjectPath, link == nil { beginLink(hub) }
        guard let link, options["device"] == nil || options["device"]?.asObjectPath == link.hub else {
            throw .blueZ("NotAuthorized", "another hub is connected")
        }
        guard !link.isEnding else {
            await link.waitForEnd()
            throw .blueZ("Failed", "the link is lost")
        }
        if let mtu = options["mtu"]?.asUInt16 { link.mtu = Int(mtu) }
        if AttributeTable.characteristic(id)?.isProtected == true { protect(link) }
        return link
    }

    func disconnect(_ link: HubLink) async {
        do throws(DBusError) {
            _ = try await call(link.hub, BlueZNames.device, "Disconnect")
        } catch {
            if self.link === link { trouble("bluetoothd does not end the link", error) }
        }
    }
}

/// What tests and people do to the recorder.
extension BlueZPeripheral: RecorderHost {
    package var serials: [String] { [model.serial] }

    package func model(of serial: String) throws(RecorderModelError) -> RecorderModel {
        guard serial.isEmpty || serial == model.serial else {
            throw RecorderModelError(.fault, "there is no recorder \(serial)")
        }
        return model
    }

    package func deliver(_ outputs: [RecorderOutput], of serial: String) {
        deliver(outputs)
    }

    package func confirm(_ answer: Bool, on serial: String) throws(RecorderModelError) {
        _ = try model(of: serial)
        user.confirm(answer)
    }

    /// The recorder falls silent at once. bluetoothd, asked to disconnect, takes two seconds to do so.
    package func cutLink(_ serial: String) {
        guard let link, !link.isEnding else { return }
        link.isEnding = true
        stopSending()
        model.disconnect()
        Task { await self.disconnect(link) }
    }

    package func setInRange(_ isInRange: Bool, _ serial: String) async throws(RecorderModelError) {
        _ = try model(of: serial)
        if !isInRange { cutLink(serial) }
        do throws(DBusError) {
            try await setAdvertising(isInRange)
        } catch {
            throw RecorderModelError(.fault, error.message)
        }
    }

    package func loseBonds(of serial: String) async throws(RecorderModelError) {
        _ = try model(of: serial)
        for (path, hub) in adapter.hubs where hub.isPaired {
            do throws(DBusError) {
                _ = try await call(adapter.path, BlueZNames.adapter, "RemoveDevice", [.objectPath(path)])
            } catch {
                throw RecorderModelError(.fault, error.message)
            }
        }
    }
}
