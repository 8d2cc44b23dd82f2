package import DBus

extension BlueZ {
    /// Whether bluetoothd runs and its objects are known.
    package var isReady: Bool { owner != nil }

    /// The adapters, in BlueZ's order.
    package var adapters: [Adapter] {
        cache.adapters.values.sorted { $0.path < $1.path }
    }

    /// The devices that BlueZ knows, in its order.
    package var devices: [Device] {
        cache.devices.values.sorted { $0.path < $1.path }
    }

    /// The adapter with this address, wherever BlueZ has it now.
    package func adapter(address: String) -> Adapter? {
        cache.adapter(address: address)
    }

    package func device(_ path: ObjectPath) -> Device? {
        cache.devices[path]
    }

    /// Waits until bluetoothd runs and its objects are known. Throws `timedOut`, `busGone` or `cancelled`.
    package func waitUntilReady(timeout: Duration) async throws(BlueZError) {
        try await wait(until: { $0.isReady }, what: "bluetoothd's start", timeout: timeout)
    }

    /// Waits for a condition on what is known, asked after every change. Throws `timedOut`, `busGone` or `cancelled`;
    /// that bluetoothd, an adapter or a device goes is the condition's own business.
    package func wait(
        until isMet: @escaping @Sendable (isolated BlueZ) -> Bool, what: String = "what was waited for",
        timeout: Duration
    ) async throws(BlueZError) {
        let result = await withTaskGroup(of: Result<Void, BlueZError>.self) { group in
            group.addTask {
                await self.park { $0.isBusGone ? .failed(.busGone) : isMet($0) ? .met : .pending }
            }
            group.addTask {
                do {
                    try await self.clock.sleep(for: timeout)
                    return .failure(.timedOut(what, timeout))
                } catch {
                    return .failure(.cancelled)
                }
            }
            let first = await group.next() ?? .failure(.cancelled)
            group.cancelAll()
            return first
        }
        try result.get()
    }

    /// Switches an adapter on or off. Throws `adapterOff` when rfkill blocks it, `inProgress` when it is being
    /// switched.
    package func setPowered(_ isOn: Bool, adapter address: String) async throws(BlueZError) {
        guard let adapter = cache.adapter(address: address) else {
            throw BlueZError(.adapterGone, "there is no Bluetooth adapter \(address)")
        }
        try await call(
            adapter.path, "org.freedesktop.DBus.Properties", "Set",
            [.string(ObjectCache.Interface.adapter), .string("Powered"), .variant(.boolean(isOn))],
            in: .bluetoothd(busGeneration), timeout: configuration.deadlines.other)
    }
}
