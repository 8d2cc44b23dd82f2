package import DBus

extension BlueZ {
    // MARK: Connecting

    /// The device's link, while it is connected.
    package func link(to device: ObjectPath) -> Link? {
        links[device]
    }

    /// Connects a device and returns its link; adopts the link of a device that is connected already. One connect or
    /// pairing at a time per adapter; discovery stands still meanwhile. Services are not resolved yet. Throws
    /// `connectFailed`, `deviceGone` (to be discovered again), `adapterOff`, `adapterGone`, `timedOut`, ….
    package func connect(_ device: ObjectPath) async throws(BlueZError) -> Link {
        if let link = links[device] { return link }
        return try await exclusively(with: device) { () async throws(BlueZError) -> Link in
            try await self.connectNow(device)
        }
    }

    private func connectNow(_ device: ObjectPath) async throws(BlueZError) -> Link {
        if let link = links[device] { return link }
        heardOfLink.remove(device)
        do throws(BlueZError) {
            try await call(
                device, ObjectCache.Interface.device, "Connect", in: .device(device),
                timeout: configuration.deadlines.connect)
            try await expectLink(to: device)
        } catch {
            switch error.code {
            // A connect is under way already, BlueZ's own or that of another client.
            case .inProgress, .connectFailed(.alreadyConnected): try await waitForLink(to: device)
            case .timedOut, .cancelled:
                abandonConnect(of: device)
                throw error
            case .connectFailed(.abortByLocal): throw await endedAtOnce(device, error)
            default: throw error
            }
        }
        guard let link = links[device] else {
            throw BlueZError(.linkLost, "\(device.name) was disconnected at once")
        }
        return link
    }

    private func waitForLink(to device: ObjectPath) async throws(BlueZError) {
        do throws(BlueZError) {
            try await wait(
                for: "the connection of \(device.name)", in: .device(device),
                timeout: configuration.deadlines.connect
            ) { $0.links[device] != nil }
        } catch {
            abandonConnect(of: device)
            throw error
        }
    }

    /// BlueZ has said that the device is connected. When its ATT socket was ready before the kernel told of the link, it
    /// announces neither that Connected is true, nor, of a link that ends at once, that it is false again (BlueZ
    /// src/device.c, device_connect_le and device_add_connection).
    private func expectLink(to device: ObjectPath) async throws(BlueZError) {
        do throws(BlueZError) {
            try await wait(
                for: "the announcement of the link", in: .device(device),
                timeout: configuration.deadlines.lateAnnouncement
            ) { $0.links[device] != nil }
        } catch {
            guard error.code == .timedOut else { throw error }
            try await ask(for: device)
        }
    }

    /// BlueZ before 5.82 says the same of a device that could not be reached and of one whose link the kernel ended at
    /// once, because the device did not know our key. The latter was connected for a moment, which is announced with
    /// the answer or a little later.
    private func endedAtOnce(_ device: ObjectPath, _ failure: BlueZError) async -> BlueZError {
        do throws(BlueZError) {
            try await wait(
                for: "the announcement of the link", in: .device(device),
                timeout: configuration.deadlines.lateAnnouncement
            ) { $0.heardOfLink.contains(device) }
        } catch {
            return error.code == .timedOut ? failure : error
        }
        return BlueZError(
            .linkLost, name: failure.name, "the link ended as soon as it was made (\(failure.message))")
    }

    /// Asks BlueZ for a device's properties and takes them, unless some were announced meanwhile, which are newer.
    private func ask(for device: ObjectPath) async throws(BlueZError) {
        let known = deviceChanges
        let reply = try await call(
            device, "org.freedesktop.DBus.Properties", "GetAll", [.string(ObjectCache.Interface.device)],
            in: .device(device), timeout: configuration.deadlines.other)
        guard known == deviceChanges, let values = reply.first?.asProperties else { return }
        apply(cache.changed(device, ObjectCache.Interface.device, values, invalidated: []))
    }

    /// Ends a connect that we no longer wait for: it would go on in bluetoothd.
    private func abandonConnect(of device: ObjectPath) {
        guard owner != nil, cache.devices[device] != nil else { return }
        post(.call(method(device, ObjectCache.Interface.device, "Disconnect")))
    }

    /// Waits until the services of a link are resolved and `required` (UUIDs of services or characteristics) are
    /// among them; BlueZ may announce them late, or not at all, so it is asked once again. Throws `linkLost`,
    /// `timedOut`, or `characteristicMissing` when services are resolved without them.
    package func waitServicesResolved(
        on link: Link, requiring required: Set<String> = []
    ) async throws(BlueZError) {
        let required = Set(required.map { $0.lowercased() })
        let limit = configuration.deadlines.resolveServices
        do throws(BlueZError) {
            try await guarded(by: .link(link), deadline: ("resolving the services", limit)) {
                await self.resolveServices(of: link, requiring: required)
            }
        } catch {
            guard error.code == .timedOut, cache.devices[link.device]?.areServicesResolved == true else {
                throw error
            }
            let missing = cache.missing(required, of: link.device).sorted().joined(separator: ", ")
            throw BlueZError(.characteristicMissing, "\(link.device.name) does not offer \(missing)")
        }
    }

    private func resolveServices(of link: Link, requiring required: Set<String>) async -> Result<
        Void, BlueZError
    > {
        let device = link.device
        do throws(BlueZError) {
            try await park { $0.cache.devices[device]?.areServicesResolved == true ? .met : .pending }.get()
            do throws(BlueZError) {
                try await wait(
                    for: "the announcement of the services", in: .link(link),
                    timeout: configuration.deadlines.lateAnnouncement
                ) { $0.offers(required, on: link) }
                return .success(())
            } catch {
                guard error.code == .timedOut else { throw error }
            }
            try await poll(in: .link(link))
            return await park { $0.offers(required, on: link) ? .met : .pending }
        } catch {
            return .failure(error)
        }
    }

    private func offers(_ required: Set<String>, on link: Link) -> Bool {
        failure(of: .attributes(link)) == nil && cache.missing(required, of: link.device).isEmpty
    }

    /// Ends our subscriptions and the link, and waits until it is gone. A device that is not connected is no error.
    package func disconnect(_ device: ObjectPath) async throws(BlueZError) {
        if let link = links[device] { await stopNotifications(on: link) }
        do throws(BlueZError) {
            try await call(
                device, ObjectCache.Interface.device, "Disconnect", in: .device(device),
                timeout: configuration.deadlines.disconnect)
            try await wait(
                for: "the disconnection of \(device.name)", in: .device(device),
                timeout: configuration.deadlines.disconnect
            ) { $0.links[device] == nil }
        } catch {
            guard ![.linkLost, .deviceGone].contains(error.code) else { return }
            throw error
        }
    }

    /// Makes BlueZ forget a device with its bond. A device that it does not know is no error.
    package func removeDevice(_ device: ObjectPath) async throws(BlueZError) {
        guard let adapter = cache.devices[device]?.adapter else { return }
        do throws(BlueZError) {
            try await call(
                adapter, ObjectCache.Interface.adapter, "RemoveDevice", [.objectPath(device)],
                in: .adapter(adapter), timeout: configuration.deadlines.other)
        } catch {
            guard error.code != .deviceGone else { return }
            throw error
        }
    }

    // MARK: One at a time

    /// Runs `body` as the only connect or pairing on the device's adapter, with discovery paused.
    func exclusively<Value: Sendable>(
        with device: ObjectPath, _ body: () async throws(BlueZError) -> Value
    ) async throws(BlueZError) -> Value {
        if let failure = failure(of: .device(device)) { throw failure }
        guard let adapter = cache.devices[device]?.adapter else { throw .cancelled }
        try await park { bluez in
            if let failure = bluez.failure(of: .device(device)) { return .failed(failure) }
            return bluez.busyAdapters.insert(adapter).inserted ? .met : .pending
        }.get()
        defer {
            busyAdapters.remove(adapter)
            stateChanged()
        }
        // A link that is up is not disturbed by a scan.
        if links[device] != nil { return try await body() }
        return try await withDiscoveryPaused(on: adapter, body)
    }
}
