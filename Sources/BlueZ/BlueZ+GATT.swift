package import DBus
import EventLoop

/// The values of one characteristic on one link, for everybody who wants them.
struct Subscription {
    let link: Link
    /// Whether BlueZ has accepted it.
    var isActive = false
    var streams: [UInt64: AsyncStream<[UInt8]>.Continuation] = [:]
}

/// A notification channel that somebody may still hold.
struct OpenChannel {
    let link: Link
    weak var channel: NotifyChannel?
}

extension BlueZ {
    /// Values that a slow reader may lag behind before it loses the oldest.
    private static let valueBuffer = 256

    // MARK: Values

    /// The characteristics of a device that BlueZ tells of now.
    package func characteristics(of device: ObjectPath) -> [GATTCharacteristic] {
        cache.characteristics.values.filter { $0.path.isBelow(device) }.sorted { $0.path < $1.path }
    }

    /// Whether a device has the characteristic now.
    package func offers(_ characteristic: CharacteristicAddress, on link: Link) -> Bool {
        failure(of: .attributes(link)) == nil
            && cache.characteristic(characteristic, of: link.device) != nil
    }

    /// Reads a value, long ones included. Throws `attribute` with the device's error, `notPaired`, `linkLost`, ….
    package func read(
        _ characteristic: CharacteristicAddress, on link: Link
    ) async throws(BlueZError) -> [UInt8] {
        let path = try path(of: characteristic, on: link)
        let reply = try await callCharacteristic(path, "ReadValue", [.properties([:])], on: link)
        guard let value = reply.first?.asBytes, value.count <= PropertyReader.longestValue else {
            throw BlueZError(.malformed, "the value of \(characteristic) is not a value")
        }
        return value
    }

    /// Writes a value with response: returns when the device has accepted it. At most 512 bytes.
    package func write(
        _ value: [UInt8], to characteristic: CharacteristicAddress, on link: Link
    ) async throws(BlueZError) {
        guard value.count <= PropertyReader.longestValue else {
            throw BlueZError(.invalidArgument, "a value of \(value.count) bytes cannot be written")
        }
        let path = try path(of: characteristic, on: link)
        let options = DBusValue.properties(["type": .string("request")])
        try await callCharacteristic(path, "WriteValue", [.bytes(value), options], on: link)
    }

    /// The link's MTU as BlueZ tells it with this characteristic, else 23.
    package func mtu(of characteristic: CharacteristicAddress, on link: Link) -> Int {
        guard links[link.device] == link else { return 23 }
        return Int(cache.characteristic(characteristic, of: link.device)?.mtu ?? 23)
    }

    @discardableResult
    private func callCharacteristic(
        _ path: ObjectPath, _ member: String, _ arguments: [DBusValue] = [], on link: Link,
        timeout: Duration? = nil
    ) async throws(BlueZError) -> [DBusValue] {
        try await call(
            path, ObjectCache.Interface.characteristic, member, arguments, in: .attributes(link),
            timeout: timeout ?? configuration.deadlines.attribute)
    }

    private func path(
        of characteristic: CharacteristicAddress, on link: Link
    ) throws(BlueZError) -> ObjectPath {
        if let failure = failure(of: .attributes(link)) { throw failure }
        guard let found = cache.characteristic(characteristic, of: link.device) else {
            throw BlueZError(.characteristicMissing, "\(link.device.name) does not offer \(characteristic)")
        }
        return found.path
    }

    // MARK: Subscriptions

    /// Notifications or indications of a characteristic. When this returns the device sends them and none is missed;
    /// the stream is bounded, keeps their order and ends with the link (or when BlueZ resolves the services anew). Its
    /// termination ends the subscription. For control points: a fast stream belongs into `acquireNotify`.
    package func subscribe(
        to characteristic: CharacteristicAddress, on link: Link
    ) async throws(BlueZError) -> AsyncStream<[UInt8]> {
        let path = try path(of: characteristic, on: link)
        let (stream, continuation) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingNewest(Self.valueBuffer))
        let isFirst = subscriptions[path] == nil
        let id = nextID()
        // Before BlueZ is asked: a value may come before its answer.
        subscriptions[path, default: Subscription(link: link)].streams[id] = continuation
        continuation.onTermination = { [weak self, loop = connection.loop] _ in
            loop.submit { [weak self] in self?.assumeIsolated { $0.endStream(id, of: path) } }
        }
        do throws(BlueZError) {
            if isFirst {
                try await startNotify(path, on: link)
            } else {
                try await guarded(by: .attributes(link)) {
                    await self.park { bluez in
                        guard let subscription = bluez.subscriptions[path] else {
                            return .failed(BlueZError(.failed, "the subscription was refused"))
                        }
                        return subscription.isActive ? .met : .pending
                    }
                }
            }
        } catch {
            continuation.finish()
            throw error
        }
        return stream
    }

    private func startNotify(_ path: ObjectPath, on link: Link) async throws(BlueZError) {
        do throws(BlueZError) {
            // A session of an earlier link would make StartNotify succeed before the device has been told.
            if staleSessions.contains(path), !unanswered.contains(path) {
                _ = try? await callCharacteristic(path, "StopNotify", on: link)
            }
            try await callCharacteristic(path, "StartNotify", on: link)
            staleSessions.remove(path)
            // The next link may have a subscription of its own by now.
            if subscriptions[path]?.link == link { subscriptions[path]?.isActive = true }
            stateChanged()
        } catch {
            // bluetoothd may have begun what we no longer wait for.
            if error.code == .cancelled || error.code == .timedOut { staleSessions.insert(path) }
            if let subscription = subscriptions[path], subscription.link == link {
                subscriptions[path] = nil
                for stream in subscription.streams.values { stream.finish() }
            }
            stateChanged()
            throw error
        }
    }

    func deliver(_ value: [UInt8], of path: ObjectPath) {
        for stream in subscriptions[path]?.streams.values ?? [:].values { stream.yield(value) }
    }

    private func endStream(_ id: UInt64, of path: ObjectPath) {
        guard let subscription = subscriptions[path], subscription.streams[id] != nil else { return }
        subscriptions[path]?.streams[id] = nil
        guard subscription.streams.count == 1, subscription.isActive else { return }
        subscriptions[path] = nil
        guard failure(of: .attributes(subscription.link)) == nil, !unanswered.contains(path) else { return }
        post(.call(method(path, ObjectCache.Interface.characteristic, "StopNotify")))
    }

    /// The link's values are over: it is gone, or its services are no longer resolved.
    func endValues(of link: Link) {
        for (path, subscription) in subscriptions where subscription.link == link {
            subscriptions[path] = nil
            if cache.characteristics[path] != nil { staleSessions.insert(path) }
            for stream in subscription.streams.values { stream.finish() }
        }
        for (path, entry) in channels where entry.link == link {
            channels[path] = nil
            entry.channel?.assumeIsolated { $0.linkEnded() }
        }
    }

    /// Ends all subscriptions of a link before it is given up.
    func stopNotifications(on link: Link) async {
        let paths = subscriptions.filter { $0.value.link == link && $0.value.isActive }.map(\.key)
        let isUsable =
            failure(of: .attributes(link)) == nil && !unanswered.contains { $0.isBelow(link.device) }
        endValues(of: link)
        guard isUsable else { return }
        for path in paths {
            let stopped = try? await callCharacteristic(
                path, "StopNotify", on: link, timeout: configuration.deadlines.stopDiscovery)
            if stopped != nil { staleSessions.remove(path) }
        }
    }

    // MARK: Notifications by descriptor

    /// Takes over a characteristic's notifications as a descriptor, which no bus stands between. Throws
    /// `linkUnusable` when bluetoothd does not answer: the caller must disconnect the device then and ask nothing
    /// else of it before. `unsupported` for a characteristic that only indicates (BlueZ 5.66).
    package func acquireNotify(
        _ characteristic: CharacteristicAddress, on link: Link
    ) async throws(BlueZError) -> NotifyChannel {
        let path = try path(of: characteristic, on: link)
        let reply: [DBusValue]
        do throws(BlueZError) {
            reply = try await callCharacteristic(
                path, "AcquireNotify", [.properties([:])], on: link,
                timeout: configuration.deadlines.acquireNotify)
        } catch {
            guard error.code == .timedOut else { throw error }
            unanswered.insert(path)
            throw BlueZError(.linkUnusable, name: error.name, "bluetoothd did not answer AcquireNotify")
        }
        guard reply.count == 2, let descriptor = reply[0].asFD, let mtu = reply[1].asUInt16 else {
            throw BlueZError(.malformed, "bluetoothd's reply to AcquireNotify is not a descriptor and an MTU")
        }
        let channel = NotifyChannel(descriptor: descriptor, mtu: max(23, Int(mtu)), loop: connection.loop)
        try adopt(channel, of: path, on: link)
        return channel
    }

    /// At once, so that no packet waits in the socket and the end of the link reaches the channel.
    private func adopt(
        _ channel: NotifyChannel, of path: ObjectPath, on link: Link
    ) throws(BlueZError) {
        let started: Result<Void, BlueZError> = channel.assumeIsolated { channel in
            do throws(BlueZError) {
                return .success(try channel.start())
            } catch {
                return .failure(error)
            }
        }
        try started.get()
        channels[path] = OpenChannel(link: link, channel: channel)
    }
}
