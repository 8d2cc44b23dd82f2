import EventLoop
package import FoundationEssentials

/// What changed; whoever shows it reads anew.
package enum GatewayChange: String, Sendable, CaseIterable {
    case account, adapters, recorders, sessions, transfers, health
}

/// One file on its way.
package struct Transfer: Sendable {
    package enum Leg: String, Sendable, Hashable {
        case deviceToHub = "device_to_hub"
        case hubToCloud = "hub_to_cloud"
    }

    package let leg: Leg
    /// The recorder's serial number.
    package let recorder: String?
    /// The session's id, where it is known.
    package let session: String?
    /// The asset's id.
    package let asset: String
    /// The file's name, made fit to be shown.
    package let name: String
    package let totalBytes: Int64
    package let startedAt: Date
    package var bytes: Int64
    package var meter: RateMeter
}

/// A recorder's link, as the status shows it.
package struct LinkStatus: Sendable {
    package var state = LinkMachine.State.absent
    package var reason: String?
    package var since: Date
    package var nextTry: Date?
    package var rssi: Int?
    /// `coc` or `notification`, once bytes have come.
    package var dataPlane: String?
    /// Why they do not come by the L2CAP channel, on this link.
    package var dataPlaneReason: String?
    package var clockWrittenAt: Date?
    /// When everything on the recorder was last taken care of.
    package var lastSyncAt: Date?
    /// The last thing that was not as it should be, since then.
    package var lastProblem: String?
    /// When a sync last ended without everything, since then.
    package var lastShortfallAt: Date?
    package var address: String?
    /// The address of the adapter that it is in reach of.
    package var adapter: String?

    package init(since: Date) {
        self.since = since
    }

    /// A sync came to its end on a link that held.
    package mutating func endSync(isWhole: Bool, at now: Date) {
        guard isWhole else {
            lastShortfallAt = now
            return
        }
        (lastSyncAt, lastProblem, lastShortfallAt) = (now, nil, nil)
    }
}

/// Why the MQTT broker that is configured is not told anything.
package struct BrokerTrouble: Sendable, Hashable {
    package enum Kind: String, Sendable {
        /// libmosquitto is not installed.
        case libraryAbsent = "library_absent"
        /// A setting cannot be used.
        case settings
        case unreachable
        /// The broker does not let us in.
        case refused
    }

    package let kind: Kind
    /// The broker's host and port.
    package let broker: String
    package let message: String
    package let since: Date
}

/// The watched folder, where it or a part of it cannot be read.
package struct FolderTrouble: Sendable, Equatable {
    package let path: String
    /// Whether the rest of it can be.
    package let isPartial: Bool

    package init(path: String, isPartial: Bool) {
        (self.path, self.isPartial) = (path, isPartial)
    }
}

/// What goes on now, in memory: links and transfers. Written by the supervisors, read by whoever shows it.
package final class Board: Sendable {
    private struct State {
        var links: [String: LinkStatus] = [:]
        var transfers: [String: Transfer] = [:]
        var transferredBytes: [Transfer.Leg: Int64] = [:]
        var broker: BrokerTrouble?
        var folderTrouble: FolderTrouble?
        var observers: [AsyncStream<GatewayChange>.Continuation] = []
    }

    private let state = Locked(State())
    private let now: @Sendable () -> Date

    package init(now: @escaping @Sendable () -> Date) {
        self.now = now
    }

    /// What of the watched folder cannot be read; nil: nothing, or none is watched.
    package var folderTrouble: FolderTrouble? { state.withLock { $0.folderTrouble } }

    func note(_ trouble: FolderTrouble?) {
        state.withLock { $0.folderTrouble = trouble }
    }

    // MARK: Links

    /// Every link that is supervised, by the recorder's serial number.
    package var links: [String: LinkStatus] { state.withLock { $0.links } }

    package func updateLink(_ serial: String, _ update: @Sendable (inout LinkStatus) -> Void) {
        let now = now()
        state.withLock { state in
            var link = state.links[serial] ?? LinkStatus(since: now)
            let before = link.state
            update(&link)
            if link.state != before { link.since = now }
            state.links[serial] = link
        }
        announce(.recorders)
    }

    package func removeLink(_ serial: String) {
        _ = state.withLock { $0.links.removeValue(forKey: serial) }
        announce(.recorders)
    }

    // MARK: Transfers

    /// Every file that is on its way.
    package var transfers: [Transfer] {
        state.withLock { $0.transfers.values.sorted { ($0.startedAt, $0.asset) < ($1.startedAt, $1.asset) } }
    }

    /// Bytes that went each way since the start.
    package var transferredBytes: [Transfer.Leg: Int64] { state.withLock { $0.transferredBytes } }

    package func begin(
        _ leg: Transfer.Leg, asset: String, name: String, of total: Int64, at bytes: Int64,
        recorder: String? = nil,
        session: String? = nil
    ) {
        let transfer = Transfer(
            leg: leg, recorder: recorder, session: session, asset: asset, name: Terminal.printable(name),
            totalBytes: total, startedAt: now(), bytes: bytes, meter: RateMeter(at: .now, bytes: bytes))
        state.withLock { $0.transfers[leg.rawValue + asset] = transfer }
        announce(.transfers)
    }

    /// Notes how many bytes of the asset have gone this way.
    package func progress(_ leg: Transfer.Leg, asset: String, bytes: Int64) {
        state.withLock { state in
            if let before = state.transfers[leg.rawValue + asset]?.bytes, bytes > before {
                state.transferredBytes[leg, default: 0] += bytes - before
            }
            state.transfers[leg.rawValue + asset]?.bytes = bytes
            state.transfers[leg.rawValue + asset]?.meter.note(bytes, at: .now)
        }
        announce(.transfers)
    }

    package func end(_ leg: Transfer.Leg, asset: String) {
        _ = state.withLock { $0.transfers.removeValue(forKey: leg.rawValue + asset) }
        announce(.transfers)
    }

    // MARK: The MQTT broker

    /// What keeps the MQTT broker from being told; nil: nothing, or none is configured.
    package var brokerTrouble: BrokerTrouble? { state.withLock { $0.broker } }

    package func note(_ kind: BrokerTrouble.Kind, of broker: String, _ message: String) {
        let now = now()
        state.withLock { state in
            let before = state.broker.flatMap { $0.broker == broker ? $0.since : nil }
            state.broker = BrokerTrouble(kind: kind, broker: broker, message: message, since: before ?? now)
        }
        announce(.health)
    }

    package func clearBrokerTrouble() {
        let before = state.withLock { state in
            defer { state.broker = nil }
            return state.broker
        }
        if before != nil { announce(.health) }
    }

    // MARK: Changes

    /// The changes from now on; a slow reader misses repeats, not kinds of change for ever: it is told again.
    package func changes() -> AsyncStream<GatewayChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: GatewayChange.self, bufferingPolicy: .bufferingNewest(64))
        state.withLock { $0.observers.append(continuation) }
        return stream
    }

    package func announce(_ change: GatewayChange) {
        let observers = state.withLock { $0.observers }
        var hasEnded = false
        for observer in observers {
            if case .terminated = observer.yield(change) { hasEnded = true }
        }
        guard hasEnded else { return }
        // A stream whose reader has gone says so to every yield; all are asked once more under the lock.
        state.withLock { state in
            state.observers.removeAll { if case .terminated = $0.yield(change) { true } else { false } }
        }
    }
}
