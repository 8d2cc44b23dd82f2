internal import BlueZ
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
    /// When the link is to end, at the latest; nil while it is not to end. No data are sent any more.
    var end: ContinuousClock.Instant?
    var isEnding: Bool { end != nil }
    var endTimer: LoopTimer?

    init(hub: ObjectPath) {
        self.hub = hub
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
        link.endTimer?.cancel()
        stopSending()
        channel?.close()
        model.disconnect()
        onEvent(.disconnected(serial: model.serial))
        // Another hub may have waited for its turn.
        if let next = adapter.hubs.first(where: { $0.value.isConnected }) { beginLink(next.key) }
    }

    private func stopSending() {
        pumpTimer?.cancel()
        pendingFrame = 0
        user.confirm(false)
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

    /// The link that a request came over.
    func link(of options: [String: DBusValue], for id: GATTCharacteristicID) throws(DBusError)
        -> HubLink
    {
        if let hub = options["device"]?.asObjectPath, link == nil { beginLink(hub) }
        guard let link, options["device"] == nil || options["device"]?.asObjectPath == link.hub else {
            throw .blueZ("NotAuthorized", "another hub is connected")
        }
        if link.isEnding { endWhenQuiet(link) }
        if let mtu = options["mtu"]?.asUInt16 { link.mtu = Int(mtu) }
        if AttributeTable.characteristic(id)?.isProtected == true { protect(link) }
        return link
    }

    /// Requests of the hub are still answered, for bluetoothd 5.66 does not survive a link that goes while it waits for
    /// us: it times out later and uses what it has freed (src/shared/gatt-server.c, write_complete_cb).
    private func endWhenQuiet(_ link: HubLink) {
        guard let end = link.end else { return }
        link.endTimer?.cancel()
        let wait = min(Self.quiet, max(.zero, end - ContinuousClock.now))
        link.endTimer = loop.schedule(after: wait) { Task { await self.disconnect(link) } }
    }

    private static let quiet = Duration.milliseconds(250)
    private static let longestEnd = Duration.seconds(2)

    /// bluetoothd, asked to disconnect, takes two seconds, in which it goes on answering; so the kernel is asked first.
    private func disconnect(_ link: HubLink) async {
        do throws(SystemError) {
            guard let hub = adapter.hubs[link.hub], let address = DeviceAddress(hub.address),
                let index = UInt16(configuration.adapter.dropFirst(3))
            else { return }
            return try Management.disconnect(
                address, hub.addressType == "random" ? .random : .public, adapter: index)
        } catch {
            trouble("the kernel does not end the link", error)
        }
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

    package func cutLink(_ serial: String) {
        guard let link, !link.isEnding else { return }
        link.end = ContinuousClock.now + Self.longestEnd
        stopSending()
        endWhenQuiet(link)
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
