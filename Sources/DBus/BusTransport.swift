internal import CDBus
import EventLoop

/// One libdbus connection on an event loop: owns the C handle, feeds libdbus with ready descriptors and due
/// timers, and turns messages into values at once. Used on the loop's thread only.
final class BusTransport {
    typealias Completion = (Result<[DBusValue], DBusError>) -> Void

    private let loop: EventLoop
    /// Nil once closed: libdbus aborts the process when a closed connection is used.
    private var connection: OpaquePointer?
    private var watches: [Int32: WatchedFD] = [:]
    private var timers: [OpaquePointer: LoopTimer] = [:]
    private var pending: [UInt64: PendingReply] = [:]
    private var lastPending: UInt64 = 0
    private var isDispatchScheduled = false

    var onSignal: ((Signal) -> Void)?
    var onCall: ((IncomingCall) -> Void)?
    /// Called once, after the bus has gone or `close()`.
    var onClosed: (() -> Void)?

    /// Messages larger than this are refused by libdbus, which then drops the connection.
    private static let maximumMessageSize = 16 << 20
    /// Messages dispatched in one turn of the loop, so that a flood does not starve timers.
    private static let dispatchBatch = 128

    /// Starts to connect; authentication happens later, on the loop.
    init(address: String, loop: EventLoop) throws(DBusError) {
        self.loop = loop
        var error = CDBus.DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let connection = dbus_connection_open_private(address, &error) else {
            let reason = error.message.map { String(cString: $0) } ?? "no reason given"
            throw DBusError(.cannotConnect, "no message bus at \(address): \(reason)")
        }
        self.connection = connection
        dbus_connection_set_exit_on_disconnect(connection, 0)
        dbus_connection_set_max_message_size(connection, Self.maximumMessageSize)
        installCallbacks(on: connection)
    }

    var isOpen: Bool { connection != nil }

    // MARK: Sending

    /// Sends a call; `completion` is called exactly once, on the loop. Returns an id for `cancel`.
    func send(_ call: MethodCall, timeout: Duration, completion: @escaping Completion) throws(DBusError)
        -> UInt64
    {
        guard let connection else { throw .closed }
        let message = try Self.message(for: call)
        defer { dbus_message_unref(message) }
        var handle: OpaquePointer?
        let sent = dbus_connection_send_with_reply(connection, message, &handle, Self.milliseconds(timeout))
        guard sent != 0 else { throw MessageWriter.outOfMemory }
        guard let handle else { throw .closed }
        lastPending += 1
        let reply = PendingReply(id: lastPending, handle: handle, transport: self, completion: completion)
        pending[reply.id] = reply
        // Balanced by the free function, which libdbus calls when the pending call goes.
        let context = Unmanaged.passRetained(reply)
        let isSet = dbus_pending_call_set_notify(
            handle,
            { _, context in
                guard let context else { return }
                Unmanaged<PendingReply>.fromOpaque(context).takeUnretainedValue().finish()
            }, context.toOpaque(),
            { context in context.map { Unmanaged<PendingReply>.fromOpaque($0).release() } })
        guard isSet != 0 else {
            context.release()
            cancel(reply.id, with: MessageWriter.outOfMemory)
            return reply.id
        }
        if dbus_pending_call_get_completed(handle) != 0 { reply.finish() }
        return lastPending
    }

    /// Ends the wait for a reply; harmless when it has come.
    func cancel(_ id: UInt64, with error: DBusError) {
        guard let reply = pending.removeValue(forKey: id) else { return }
        reply.cancel(with: error)
    }

    fileprivate func finished(_ reply: PendingReply) {
        pending[reply.id] = nil
    }

    func reply(to call: IncomingCall, with result: Result<[DBusValue], DBusError>) {
        guard let connection, call.expectsReply else { return }
        let isError = if case .failure = result { true } else { false }
        let type = isError ? DBUS_MESSAGE_TYPE_ERROR : DBUS_MESSAGE_TYPE_METHOD_RETURN
        guard let message = dbus_message_new(type) else { return }
        defer { dbus_message_unref(message) }
        dbus_message_set_destination(message, call.sender)
        dbus_message_set_reply_serial(message, call.serial)
        dbus_message_set_no_reply(message, 1)
        do throws(DBusError) {
            switch result {
            case .success(let values): try MessageWriter.append(values, to: message)
            case .failure(let error):
                dbus_message_set_error_name(message, Self.errorName(error.name))
                try MessageWriter.append([.string(error.message)], to: message)
            }
            dbus_connection_send(connection, message, nil)
        } catch {
            guard !isError else { return }
            reply(to: call, with: .failure(.remote(DBusErrorName.failed, error.message)))
        }
    }

    func emit(
        _ path: ObjectPath, _ interface: String, _ member: String, _ arguments: [DBusValue]
    ) throws(DBusError) {
        guard let connection else { throw .closed }
        guard dbus_validate_interface(interface, nil) != 0, dbus_validate_member(member, nil) != 0,
            let message = dbus_message_new_signal(path.text, interface, member)
        else { throw DBusError(.invalidArgument, "\(interface).\(member) is not a signal's name") }
        defer { dbus_message_unref(message) }
        try MessageWriter.append(arguments, to: message)
        guard dbus_connection_send(connection, message, nil) != 0 else { throw MessageWriter.outOfMemory }
    }

    func setUniqueName(_ name: String) {
        guard let connection else { return }
        dbus_bus_set_unique_name(connection, name)
    }

    private static func message(for call: MethodCall) throws(DBusError) -> OpaquePointer {
        guard dbus_validate_bus_name(call.destination, nil) != 0,
            dbus_validate_interface(call.interface, nil) != 0, dbus_validate_member(call.member, nil) != 0,
            let message = dbus_message_new_method_call(
                call.destination, call.path.text, call.interface, call.member)
        else {
            throw DBusError(
                .invalidArgument, "\(call.destination) \(call.interface).\(call.member) cannot be called")
        }
        dbus_message_set_auto_start(message, call.mayStartService ? 1 : 0)
        do throws(DBusError) {
            try MessageWriter.append(call.arguments, to: message)
        } catch {
            dbus_message_unref(message)
            throw error
        }
        return message
    }

    private static func milliseconds(_ duration: Duration) -> Int32 {
        let (seconds, attoseconds) = duration.components
        let milliseconds = seconds.multipliedReportingOverflow(by: 1000)
        guard !milliseconds.overflow, milliseconds.partialValue < Int64(Int32.max) else {
            return Int32.max - 1
        }
        return max(1, Int32(milliseconds.partialValue + attoseconds / 1_000_000_000_000_000))
    }

    private static func errorName(_ name: String) -> String {
        dbus_validate_error_name(name, nil) != 0 ? name : DBusErrorName.failed
    }

    // MARK: Closing

    /// Fails everything that waits and gives the C handle back.
    func close() {
        guard let connection else { return }
        self.connection = nil
        for reply in pending.values { reply.cancel(with: .closed) }
        pending.removeAll()
        // Clearing the functions removes every watch and timeout through their callbacks.
        dbus_connection_set_dispatch_status_function(connection, nil, nil, nil)
        dbus_connection_set_timeout_functions(connection, nil, nil, nil, nil, nil)
        dbus_connection_set_watch_functions(connection, nil, nil, nil, nil, nil)
        dbus_connection_remove_filter(connection, Self.filter, Unmanaged.passUnretained(self).toOpaque())
        dbus_connection_close(connection)
        dbus_connection_unref(connection)
        let onClosed = onClosed
        (self.onSignal, self.onCall, self.onClosed) = (nil, nil, nil)
        onClosed?()
    }

    // MARK: libdbus callbacks

    private static let filter: DBusHandleMessageFunction = { _, message, context in
        guard let context, let message else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
        let transport = Unmanaged<BusTransport>.fromOpaque(context).takeUnretainedValue()
        return transport.handle(message) ? DBUS_HANDLER_RESULT_HANDLED : DBUS_HANDLER_RESULT_NOT_YET_HANDLED
    }

    private func installCallbacks(on connection: OpaquePointer) {
        // Unretained: `close()` takes the callbacks back, and the owner calls it before it lets go.
        let context = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_set_watch_functions(
            connection,
            { watch, context in
                BusTransport.from(context)?.watchesChanged(adding: watch)
                return 1
            },
            { watch, context in BusTransport.from(context)?.watchesChanged(removing: watch) },
            { _, context in BusTransport.from(context)?.watchesChanged() },
            context, nil)
        dbus_connection_set_timeout_functions(
            connection,
            { timeout, context in
                timeout.map { BusTransport.from(context)?.arm($0) }
                return 1
            },
            { timeout, context in timeout.map { BusTransport.from(context)?.disarm($0) } },
            { timeout, context in timeout.map { BusTransport.from(context)?.arm($0) } },
            context, nil)
        dbus_connection_set_dispatch_status_function(
            connection,
            { _, status, context in
                if status == DBUS_DISPATCH_DATA_REMAINS { BusTransport.from(context)?.scheduleDispatch() }
            }, context, nil)
        dbus_connection_add_filter(connection, Self.filter, context, nil)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> BusTransport? {
        context.map { Unmanaged<BusTransport>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Watches

    /// libdbus keeps one watch for reading and one for writing on the same descriptor; epoll takes one
    /// registration for both.
    private final class WatchedFD {
        var watches: [OpaquePointer] = []
        var registration: FDWatch?
    }

    private func watchesChanged(adding added: OpaquePointer? = nil, removing removed: OpaquePointer? = nil) {
        if let added {
            let fd = dbus_watch_get_unix_fd(added)
            let entry = watches[fd] ?? WatchedFD()
            entry.watches.append(added)
            watches[fd] = entry
        }
        if let removed {
            for entry in watches.values { entry.watches.removeAll { $0 == removed } }
        }
        for (fd, entry) in watches { register(entry, fd: fd) }
        watches = watches.filter { !$0.value.watches.isEmpty }
    }

    private func register(_ entry: WatchedFD, fd: Int32) {
        var events: FDEvents = []
        var isEnabled = false
        for watch in entry.watches where dbus_watch_get_enabled(watch) != 0 {
            isEnabled = true
            let flags = dbus_watch_get_flags(watch)
            if flags & DBUS_WATCH_READABLE.rawValue != 0 { events.insert(.readable) }
            if flags & DBUS_WATCH_WRITABLE.rawValue != 0 { events.insert(.writable) }
        }
        guard isEnabled else {
            entry.registration?.cancel()
            entry.registration = nil
            return
        }
        if let registration = entry.registration {
            try? registration.update(events)
        } else {
            entry.registration = try? loop.watch(fd, for: events) { [weak self] events in
                self?.ready(fd: fd, events: events)
            }
        }
    }

    private func ready(fd: Int32, events: FDEvents) {
        guard let connection else { return }
        dbus_connection_ref(connection)  // a handler may close the connection
        defer { dbus_connection_unref(connection) }
        let flags = Self.flags(events)
        for watch in watches[fd]?.watches ?? [] {
            // Handling one watch may have removed another.
            guard watches[fd]?.watches.contains(watch) == true, dbus_watch_get_enabled(watch) != 0 else {
                continue
            }
            let wanted = dbus_watch_get_flags(watch) | DBUS_WATCH_ERROR.rawValue | DBUS_WATCH_HANGUP.rawValue
            if flags & wanted != 0 { dbus_watch_handle(watch, flags & wanted) }
        }
        dispatch()
    }

    private static func flags(_ events: FDEvents) -> UInt32 {
        var flags: UInt32 = 0
        if events.contains(.readable) { flags |= DBUS_WATCH_READABLE.rawValue }
        if events.contains(.writable) { flags |= DBUS_WATCH_WRITABLE.rawValue }
        if events.contains(.error) { flags |= DBUS_WATCH_ERROR.rawValue }
        if events.contains(.hangup) { flags |= DBUS_WATCH_HANGUP.rawValue }
        return flags
    }

    // MARK: Timeouts

    private func arm(_ timeout: OpaquePointer) {
        disarm(timeout)
        guard dbus_timeout_get_enabled(timeout) != 0 else { return }
        timers[timeout] = loop.schedule(after: .milliseconds(Int(dbus_timeout_get_interval(timeout)))) {
            [weak self] in
            guard let self, timers[timeout] != nil else { return }
            dbus_timeout_handle(timeout)
            if timers[timeout] != nil { arm(timeout) }  // libdbus timeouts repeat until they are removed
            dispatch()
        }
    }

    private func disarm(_ timeout: OpaquePointer) {
        timers.removeValue(forKey: timeout)?.cancel()
    }

    // MARK: Dispatching

    private func scheduleDispatch() {
        guard !isDispatchScheduled else { return }
        isDispatchScheduled = true
        _ = loop.schedule(after: .zero) { [weak self] in
            self?.isDispatchScheduled = false
            self?.dispatch()
        }
    }

    private func dispatch() {
        guard let connection else { return }
        dbus_connection_ref(connection)
        defer { dbus_connection_unref(connection) }
        for _ in 0..<Self.dispatchBatch {
            guard self.connection != nil,
                dbus_connection_dispatch(connection) == DBUS_DISPATCH_DATA_REMAINS
            else { return }
        }
        scheduleDispatch()
    }

    private func handle(_ message: OpaquePointer) -> Bool {
        switch dbus_message_get_type(message) {
        case DBUS_MESSAGE_TYPE_SIGNAL:
            if dbus_message_is_signal(message, DBUS_INTERFACE_LOCAL, "Disconnected") != 0 {
                // Not here: libdbus is still dispatching.
                _ = loop.schedule(after: .zero) { [weak self] in self?.close() }
            } else if let signal = Self.signal(message) {
                onSignal?(signal)
            }
            return true
        case DBUS_MESSAGE_TYPE_METHOD_CALL:
            guard let onCall, let call = incomingCall(message) else { return false }
            onCall(call)
            return true
        default:
            return false
        }
    }

    private static func signal(_ message: OpaquePointer) -> Signal? {
        guard let sender = string(dbus_message_get_sender(message)),
            let path = string(dbus_message_get_path(message)),
            let interface = string(dbus_message_get_interface(message)),
            let member = string(dbus_message_get_member(message)),
            let arguments = try? MessageReader.arguments(of: message, limits: .reply)
        else { return nil }
        return Signal(
            sender: sender, path: ObjectPath(trusted: path), interface: interface, member: member,
            arguments: arguments)
    }

    private func incomingCall(_ message: OpaquePointer) -> IncomingCall? {
        guard let sender = Self.string(dbus_message_get_sender(message)),
            let path = Self.string(dbus_message_get_path(message)),
            let member = Self.string(dbus_message_get_member(message))
        else { return nil }
        var arguments: [DBusValue] = []
        var refusal: String?
        do throws(DBusError) {
            arguments = try MessageReader.arguments(of: message, limits: .call)
        } catch {
            refusal = error.message
        }
        return IncomingCall(
            sender: sender, path: ObjectPath(trusted: path),
            interface: Self.string(dbus_message_get_interface(message)) ?? "", member: member,
            arguments: arguments, serial: dbus_message_get_serial(message),
            expectsReply: dbus_message_get_no_reply(message) == 0, refusal: refusal)
    }

    private static func string(_ characters: UnsafePointer<CChar>?) -> String? {
        characters.map { String(cString: $0) }
    }
}

/// One reply that is waited for; owns the libdbus pending call until it has come or is given up. The pending call owns
/// this object in turn, as its notification's context: letting go of the handle is what frees both.
private final class PendingReply {
    let id: UInt64
    private var handle: OpaquePointer?
    private weak var transport: BusTransport?
    private var completion: BusTransport.Completion?

    init(
        id: UInt64, handle: OpaquePointer, transport: BusTransport,
        completion: @escaping BusTransport.Completion
    ) {
        self.id = id
        self.handle = handle
        self.transport = transport
        self.completion = completion
    }

    func finish() {
        guard let completion, let handle else { return }
        self.completion = nil
        transport?.finished(self)
        completion(Self.result(of: handle))
        release()
    }

    func cancel(with error: DBusError) {
        guard let completion, let handle else { return }
        self.completion = nil
        dbus_pending_call_cancel(handle)
        completion(.failure(error))
        release()
    }

    private func release() {
        guard let handle else { return }
        self.handle = nil
        dbus_pending_call_unref(handle)
    }

    private static func result(of handle: OpaquePointer) -> Result<[DBusValue], DBusError> {
        guard let message = dbus_pending_call_steal_reply(handle) else {
            return .failure(DBusError(.noReply, "no reply came"))
        }
        defer { dbus_message_unref(message) }
        do throws(DBusError) {
            let values = try MessageReader.arguments(of: message, limits: .reply)
            guard dbus_message_get_type(message) == DBUS_MESSAGE_TYPE_ERROR else { return .success(values) }
            return .failure(error(named: dbus_message_get_error_name(message), values))
        } catch {
            return .failure(error)
        }
    }

    private static func error(named name: UnsafePointer<CChar>?, _ values: [DBusValue]) -> DBusError {
        let name = name.map { String(cString: $0) } ?? DBusErrorName.failed
        let message = values.first?.asString ?? name
        switch name {
        case DBusErrorName.noReply: return DBusError(.noReply, name: name, message)
        case DBusErrorName.disconnected: return DBusError(.disconnected, name: name, message)
        default: return DBusError(.remote, name: name, message)
        }
    }
}
