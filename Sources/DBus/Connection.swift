package import EventLoop

/// A connection to a message bus. Everything about it happens on its event loop.
package actor Connection {
    /// The loop that the connection lives on; actors that share it call without a change of thread.
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var transport: BusTransport?
    private var router = SignalRouter()
    private var closedWaiters: [CheckedContinuation<Void, Never>] = []
    var exports = ExportTable()
    /// Bounded by `callsInAll`.
    private let (incoming, incomingContinuation) = AsyncStream.makeStream(of: IncomingCall.self)
    /// How many calls of each sender have no answer yet.
    private var callsUnderWay: [String: Int] = [:]
    /// Our unique name on the bus.
    package private(set) var uniqueName = ""

    /// The deadline of a call that names none: what libdbus itself uses.
    package static let defaultTimeout = Duration.seconds(25)

    static let busName = "org.freedesktop.DBus"
    static let busPath = ObjectPath(trusted: "/org/freedesktop/DBus")

    private init(loop: EventLoop) {
        self.loop = loop
    }

    isolated deinit {
        transport?.close()
    }

    /// Connects to the bus at `address` (a D-Bus address such as `unix:path=/run/dbus/system_bus_socket`) and says
    /// hello. Throws `cannotConnect` when there is no bus or it refuses us.
    package static func open(
        _ address: String, on loop: EventLoop, timeout: Duration = defaultTimeout
    ) async throws(DBusError) -> Connection {
        let connection = Connection(loop: loop)
        try await connection.connect(to: address, timeout: timeout)
        return connection
    }

    private func connect(to address: String, timeout: Duration) async throws(DBusError) {
        let transport = try BusTransport(address: address, loop: loop)
        self.transport = transport
        // Weak: the transport is this actor's own.
        transport.onSignal = { [weak self] signal in self?.assumeIsolated { $0.router.deliver(signal) } }
        transport.onCall = { [weak self] call in self?.assumeIsolated { $0.accept(call) } }
        transport.onClosed = { [weak self] in self?.assumeIsolated { $0.didClose() } }
        do throws(DBusError) {
            let hello = MethodCall(Self.busName, Self.busPath, Self.busName, "Hello")
            guard let name = try await call(hello, timeout: timeout).first?.asString else {
                throw DBusError(.malformed, "the bus did not say our name")
            }
            transport.setUniqueName(name)
            uniqueName = name
        } catch {
            transport.close()
            throw DBusError(
                .cannotConnect, "the message bus at \(address) did not accept us: \(error.message)")
        }
    }

    /// Closes the connection: every pending call fails, every stream ends.
    package func close() {
        transport?.close()
    }

    /// Returns when the connection is gone, by `close()` or because the bus went away.
    package func waitUntilClosed() async {
        guard transport?.isOpen == true else { return }
        await withCheckedContinuation { closedWaiters.append($0) }
    }

    private func didClose() {
        router.finish()
        incomingContinuation.finish()
        for waiter in closedWaiters { waiter.resume() }
        closedWaiters = []
    }

    // MARK: Calls

    /// Calls a method and returns its reply's arguments. Throws `noReply` after `timeout`, `remote` with the callee's
    /// error name, `cancelled` when the task is cancelled (the callee does not learn of it).
    package func call(
        _ call: MethodCall, timeout: Duration = defaultTimeout
    ) async throws(DBusError) -> [DBusValue] {
        let ticket = CallTicket()
        let result: Result<[DBusValue], DBusError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                // A method of ours, so that the closure is isolated to this actor and runs on the loop.
                self.start(call, timeout: timeout, ticket: ticket) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            loop.submit { [weak self] in self?.assumeIsolated { $0.cancel(ticket) } }
        }
        return try result.get()
    }

    private func start(
        _ call: MethodCall, timeout: Duration, ticket: CallTicket,
        completion: @escaping BusTransport.Completion
    ) {
        guard !Task.isCancelled else { return completion(.failure(.cancelledByTask)) }
        guard let transport else { return completion(.failure(.closed)) }
        do throws(DBusError) {
            ticket.id = try transport.send(call, timeout: timeout, completion: completion)
        } catch {
            completion(.failure(error))
        }
    }

    private func cancel(_ ticket: CallTicket) {
        guard let id = ticket.id else { return }
        transport?.cancel(id, with: .cancelledByTask)
    }

    /// Calls a method of the bus itself.
    private func callBus(_ member: String, _ arguments: [DBusValue]) async throws(DBusError) -> [DBusValue] {
        try await call(MethodCall(Self.busName, Self.busPath, Self.busName, member, arguments))
    }

    // MARK: Names

    /// Takes a well-known name. Throws `nameTaken` when it has another owner, `remote` with AccessDenied when the bus
    /// policy forbids it.
    package func requestName(_ name: String) async throws(DBusError) {
        let doNotQueue: UInt32 = 4
        let reply = try await callBus("RequestName", [.string(name), .uint32(doNotQueue)])
        guard let code = reply.first?.asUInt32, code == 1 || code == 4 else {
            throw DBusError(.nameTaken, "the bus name \(name) already has an owner")
        }
    }

    /// The unique name of a name's owner, or nil when it has none.
    package func owner(of name: String) async throws(DBusError) -> String? {
        do throws(DBusError) {
            return try await callBus("GetNameOwner", [.string(name)]).first?.asString
        } catch {
            guard error.name == DBusErrorName.nameHasNoOwner else { throw error }
            return nil
        }
    }

    /// The Unix user id behind a unique name, vouched for by the bus.
    package func userID(of name: String) async throws(DBusError) -> UInt32 {
        guard let id = try await callBus("GetConnectionUnixUser", [.string(name)]).first?.asUInt32 else {
            throw DBusError(.malformed, "the bus did not say which user \(name) is")
        }
        return id
    }

    /// The owner and the signals of `name`, in order, for as long as the stream is read. One broad match rule per
    /// name serves every stream of it. The stream ends with the connection.
    package func events(of name: String) async throws(DBusError) -> AsyncStream<NameEvent> {
        let (stream, isFirst) = router.subscribe(to: name)
        guard isFirst else { return stream }
        do throws(DBusError) {
            _ = try await callBus("AddMatch", [.string("type='signal',sender='\(name)'")])
            if name != Self.busName {
                let changes =
                    "type='signal',sender='\(Self.busName)',member='NameOwnerChanged',arg0='\(name)'"
                _ = try await callBus("AddMatch", [.string(changes)])
            }
            router.resolve(name, owner: try await owner(of: name))
        } catch {
            router.drop(name)
            throw error
        }
        return stream
    }

    // MARK: Serving

    /// Calls of one sender, and of all, that may be under way; more are refused at once, so that nobody can make us keep
    /// what he sends.
    private static let callsPerSender = 128
    private static let callsInAll = 256

    private func accept(_ call: IncomingCall) {
        let (own, all) = (callsUnderWay[call.sender, default: 0], callsUnderWay.values.reduce(0, +))
        guard own < Self.callsPerSender, all < Self.callsInAll else {
            return reply(
                to: call, with: .failure(.remote(DBusErrorName.limitsExceeded, "too many calls are waiting")))
        }
        callsUnderWay[call.sender] = own + 1
        incomingContinuation.yield(call)
    }

    private func ended(_ call: IncomingCall) {
        let left = callsUnderWay[call.sender, default: 1] - 1
        callsUnderWay[call.sender] = left > 0 ? left : nil
    }

    /// Answers method calls to exported objects until the connection closes or the task is cancelled. `authorize` is
    /// asked before every call but introspection and may throw the error to answer with.
    package func serve(
        authorize: @escaping @Sendable (IncomingCall) async throws(DBusError) -> Void = {
            _ throws(DBusError) in
        }
    ) async {
        await withDiscardingTaskGroup { group in
            for await call in incoming {
                // At once and without a change of thread: calls of one sender begin in their order.
                group.addImmediateTask { await self.serve(call, authorize: authorize) }
            }
        }
    }

    private func serve(
        _ call: IncomingCall, authorize: @Sendable (IncomingCall) async throws(DBusError) -> Void
    ) async {
        let answer = await answer(call, authorize: authorize)
        ended(call)
        reply(to: call, with: answer)
    }

    private func reply(to call: IncomingCall, with result: Result<[DBusValue], DBusError>) {
        transport?.reply(to: call, with: result)
    }

    /// Sends a signal to whoever listens.
    package func emit(
        _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [DBusValue] = []
    ) throws(DBusError) {
        guard let transport else { throw .closed }
        try transport.emit(path, interface, member, arguments)
    }
}

extension DBusError {
    static let cancelledByTask = DBusError(.cancelled, "the call was cancelled")
}

/// Where the cancellation handler finds the id of the call that it is to cancel.
private final class CallTicket: @unchecked Sendable {
    // Proof for @unchecked: written and read on the connection's loop only; the cancellation handler passes the
    // reference on and touches nothing.
    var id: UInt64?
}
