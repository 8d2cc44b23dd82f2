/// Delivers signals to the streams of the names that their senders own.
struct SignalRouter {
    private struct Subscription {
        var streams: [Int: AsyncStream<NameEvent>.Continuation] = [:]
        /// Nil until the bus has said who owns the name: signals before that are void, because whoever reads the
        /// stream asks for the state after it has seen the owner.
        var owner: String??
    }

    /// How many events a slow reader may lag behind before it must start afresh.
    private static let buffer = 16_384

    private var subscriptions: [String: Subscription] = [:]
    private var lastStream = 0

    /// A new stream of `name`, and whether it is the name's first.
    mutating func subscribe(to name: String) -> (stream: AsyncStream<NameEvent>, isFirst: Bool) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NameEvent.self, bufferingPolicy: .bufferingNewest(Self.buffer))
        lastStream += 1
        let isFirst = subscriptions[name] == nil
        subscriptions[name, default: Subscription()].streams[lastStream] = continuation
        if let owner = subscriptions[name]?.owner { continuation.yield(.owner(owner)) }
        return (stream, isFirst)
    }

    /// The bus has said who owns the name.
    mutating func resolve(_ name: String, owner: String?) {
        guard subscriptions[name]?.owner == nil else { return }  // a change came first and is newer
        setOwner(of: name, to: owner)
    }

    mutating func drop(_ name: String) {
        guard let subscription = subscriptions.removeValue(forKey: name) else { return }
        for stream in subscription.streams.values { stream.finish() }
    }

    mutating func finish() {
        for name in Array(subscriptions.keys) { drop(name) }
    }

    mutating func deliver(_ signal: Signal) {
        if signal.sender == Connection.busName, signal.member == "NameOwnerChanged",
            signal.interface == Connection.busName, signal.arguments.count == 3,
            let name = signal.arguments[0].asString, let owner = signal.arguments[2].asString,
            subscriptions[name] != nil
        {
            setOwner(of: name, to: owner.isEmpty ? nil : owner)
        }
        for (name, subscription) in subscriptions {
            guard case .some(.some(signal.sender)) = subscription.owner else { continue }
            send(.signal(signal), to: name, owner: signal.sender)
        }
    }

    private mutating func setOwner(of name: String, to owner: String?) {
        subscriptions[name]?.owner = .some(owner)
        send(.owner(owner), to: name, owner: owner)
    }

    private mutating func send(_ event: NameEvent, to name: String, owner: String?) {
        for (id, stream) in subscriptions[name]?.streams ?? [:] {
            switch stream.yield(event) {
            case .dropped: stream.yield(.owner(owner))
            case .terminated: subscriptions[name]?.streams[id] = nil
            default: break
            }
        }
    }
}
