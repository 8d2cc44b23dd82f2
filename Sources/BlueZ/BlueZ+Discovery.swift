import DBus
import EventLoop

/// Somebody's wish that devices be discovered; ends with `end()` or the last reference.
package final class DiscoverySession: Sendable {
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void) {
        self.onEnd = onEnd
    }

    deinit {
        onEnd()
    }

    /// The wish is over; harmless when it already is.
    package func end() {
        onEnd()
    }
}

/// Who wants discovery, and how it stands on each adapter.
struct DiscoveryState {
    /// The adapter that each session wants, by address; nil for all.
    var sessions: [UInt64: String?] = [:]
    var machines: [ObjectPath: (epoch: UInt64, machine: DiscoveryMachine)] = [:]
    /// Connects under way, by adapter.
    var pauses: [ObjectPath: Int] = [:]

    func isWanted(on adapter: Adapter) -> Bool {
        sessions.values.contains { $0 == nil || $0 == adapter.address }
    }
}

/// An action of an adapter's discovery machine. Its outcome is void once the adapter was another meanwhile.
struct DiscoveryJob: Sendable {
    let adapter: ObjectPath
    let epoch: UInt64
    let action: DiscoveryMachine.Action
}

extension BlueZ {
    /// Discovers devices on the adapter with this address (nil: on all) until the session ends; sessions share one
    /// discovery. What cannot be done now (no adapter, off, busy) is done as soon as it can.
    package func discover(on adapter: String? = nil) -> DiscoverySession {
        let id = nextID()
        discovery.sessions[id] = .some(adapter)
        updateDiscovery()
        return DiscoverySession { [weak self, loop = connection.loop] in
            loop.submit { [weak self] in self?.assumeIsolated { $0.endDiscovery(id) } }
        }
    }

    private func endDiscovery(_ id: UInt64) {
        guard discovery.sessions.removeValue(forKey: id) != nil else { return }
        updateDiscovery()
    }

    /// Brings every adapter's machine up to date with what is known.
    func updateDiscovery() {
        for path in discovery.machines.keys where cache.adapters[path] == nil {
            discovery.machines[path] = nil
        }
        for adapter in cache.adapters.values {
            if discovery.machines[adapter.path] == nil {
                discovery.machines[adapter.path] = (nextID(), DiscoveryMachine())
            }
            feed(adapter.path, .powered(adapter.isPowered != false))
            feed(adapter.path, .discovering(adapter.isDiscovering == true))
            feed(adapter.path, .paused(discovery.pauses[adapter.path, default: 0] > 0))
            feed(adapter.path, .wanted(discovery.isWanted(on: adapter)))
        }
    }

    func heardAdvertisement(on adapter: ObjectPath) {
        feed(adapter, .advertisement)
    }

    private func feed(_ adapter: ObjectPath, _ input: DiscoveryMachine.Input) {
        guard let epoch = discovery.machines[adapter]?.epoch,
            let actions = discovery.machines[adapter]?.machine.handle(input)
        else { return }
        for action in actions {
            post(.discovery(DiscoveryJob(adapter: adapter, epoch: epoch, action: action)))
        }
    }

    func perform(_ job: DiscoveryJob) async {
        let input: DiscoveryMachine.Input
        switch job.action {
        case .start: input = .startEnded(await startDiscovery(on: job.adapter))
        case .stop:
            // Whatever it answers, the session is over: a failure means that there was none.
            _ = await send(
                method(job.adapter, ObjectCache.Interface.adapter, "StopDiscovery"),
                timeout: configuration.deadlines.stopDiscovery)
            input = .stopEnded
        case .schedule(let timer, let delay):
            guard (try? await clock.sleep(for: delay)) != nil else { return }
            input = .timer(timer)
        }
        guard discovery.machines[job.adapter]?.epoch == job.epoch else { return }
        feed(job.adapter, input)
    }

    private func startDiscovery(on adapter: ObjectPath) async -> DiscoveryMachine.StartOutcome {
        // These keys only: BlueZ 5.66 corrupts its filter with DuplicateData and Discoverable.
        var filter: [String: DBusValue] = ["Transport": .string("le")]
        if !configuration.services.isEmpty { filter["UUIDs"] = .strings(configuration.services.sorted()) }
        do throws(BlueZError) {
            // Other clients' filters are merged with ours, so a filter that is refused costs no more than noise.
            _ = await send(
                method(adapter, ObjectCache.Interface.adapter, "SetDiscoveryFilter", [.properties(filter)]),
                timeout: configuration.deadlines.other)
            try await call(
                adapter, ObjectCache.Interface.adapter, "StartDiscovery", in: .adapter(adapter),
                timeout: configuration.deadlines.startDiscovery)
            return .started
        } catch {
            return error.code == .inProgress ? .alreadyScanning : .failed
        }
    }

    /// Runs `body` while the adapter does not scan for us: most controllers cannot connect and scan at once. Another
    /// client's scan cannot be stopped and is waited for no longer than it takes to stop ours.
    func withDiscoveryPaused<Value: Sendable>(
        on adapter: ObjectPath, _ body: () async throws(BlueZError) -> Value
    ) async throws(BlueZError) -> Value {
        discovery.pauses[adapter, default: 0] += 1
        updateDiscovery()
        defer {
            discovery.pauses[adapter, default: 1] -= 1
            if discovery.pauses[adapter] == 0 { discovery.pauses[adapter] = nil }
            updateDiscovery()
        }
        do throws(BlueZError) {
            try await wait(
                for: "the end of the discovery", in: .adapter(adapter),
                timeout: configuration.deadlines.stopDiscovery
            ) { $0.cache.adapters[adapter]?.isDiscovering != true }
        } catch {
            guard error.code == .timedOut else { throw error }
        }
        return try await body()
    }
}
