import DBus

extension BlueZ {
    /// Sends a call and waits for nothing but its answer.
    func send(_ call: MethodCall, timeout: Duration) async -> Result<[DBusValue], BlueZError> {
        do throws(DBusError) {
            return .success(try await connection.call(call, timeout: timeout))
        } catch {
            return .failure(BlueZError(error))
        }
    }

    /// A call to the bluetoothd that is there now: by its unique name, so that its successor does not get what was
    /// meant for it, and so that it is never started.
    func method(
        _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [DBusValue] = []
    ) -> MethodCall {
        MethodCall(owner ?? Self.service, path, interface, member, arguments)
    }

    /// Calls bluetoothd; fails at once when what the call depends on goes.
    @discardableResult
    func call(
        _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [DBusValue] = [],
        in scope: Scope, timeout: Duration
    ) async throws(BlueZError) -> [DBusValue] {
        let call = method(path, interface, member, arguments)
        return try await guarded(by: scope) { await self.send(call, timeout: timeout) }
    }

    /// Waits until `isMet`; fails when what it depends on goes, or with `timedOut` after `timeout`.
    func wait(
        for what: String, in scope: Scope, timeout: Duration,
        until isMet: @escaping @Sendable (isolated BlueZ) -> Bool
    ) async throws(BlueZError) {
        try await guarded(by: scope, deadline: (what, timeout)) {
            await self.park { isMet($0) ? .met : .pending }
        }
    }

    /// Runs `operation` until it ends, what it depends on goes, the deadline passes or the task is cancelled; the
    /// operation must end promptly when its task is cancelled.
    func guarded<Value: Sendable>(
        by scope: Scope, deadline: (what: String, after: Duration)? = nil,
        _ operation: @escaping @Sendable () async -> Result<Value, BlueZError>
    ) async throws(BlueZError) -> Value {
        if let failure = failure(of: scope) { throw failure }
        let result = await withTaskGroup(of: Result<Value, BlueZError>.self) { group in
            group.addTask { await operation() }
            group.addTask { .failure(await self.loss(of: scope)) }
            if let deadline { group.addTask { .failure(await self.expiry(of: deadline)) } }
            let first = await group.next() ?? .failure(.cancelled)
            group.cancelAll()
            return first
        }
        return try result.get()
    }

    private func loss(of scope: Scope) async -> BlueZError {
        let result = await park { bluez in bluez.failure(of: scope).map { .failed($0) } ?? .pending }
        return if case .failure(let error) = result { error } else { .cancelled }
    }

    private func expiry(of deadline: (what: String, after: Duration)) async -> BlueZError {
        do {
            try await clock.sleep(for: deadline.after)
            return .timedOut(deadline.what, deadline.after)
        } catch {
            return .cancelled
        }
    }

    /// Asks for all objects again and takes what is missing. For the signals that BlueZ sends late.
    func poll(in scope: Scope) async throws(BlueZError) {
        let reply = try await call(
            .root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", in: scope,
            timeout: configuration.deadlines.other)
        apply(try cache.merge(reply.first))
    }
}
