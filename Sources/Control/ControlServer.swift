package import DBus
import EventLoop
package import FoundationEssentials

/// Puts a `ControlModel` on the bus as `life.ccdw.Celestia1`.
package actor ControlServer {
    private let connection: Connection
    private let model: any ControlModel
    private let access: AccessRule
    private let jobs: JobBoard
    private let clock: any Clock<Duration>

    /// Changes are announced at most this often.
    private static let announcementInterval = Duration.milliseconds(500)
    private static let bus = "org.freedesktop.DBus"

    package init(
        connection: Connection, model: any ControlModel, access: AccessRule = AccessRule(),
        clock: any Clock<Duration> = ContinuousClock(), now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.connection = connection
        self.model = model
        self.access = access
        self.clock = clock
        jobs = JobBoard(connection: connection, now: now)
    }

    /// Takes the bus name. Calls that come from now on wait for `serve()`. Throws `busy` when another daemon has the
    /// name, `notAuthorized` when the bus does not let us have it.
    package func start() async throws(ControlError) {
        do throws(DBusError) {
            await connection.exportObjectManager(at: ControlNames.root)
            try await connection.export(ExportedObject(ControlNames.root, [managerInterface()]))
            try await connection.requestName(ControlNames.busName)
        } catch {
            throw Self.startError(error)
        }
    }

    /// Answers until the connection closes or the task is cancelled; then every job has been cancelled.
    package func serve() async {
        let changes = await model.changes()
        let names = try? await connection.events(of: Self.bus)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.announce(changes) }
            if let names { group.addTask { await self.watch(names) } }
            await connection.serve { [connection, access] call throws(DBusError) in
                let user = try await connection.userID(of: call.sender)
                do throws(ControlError) {
                    try await access.checkElsewhere(user)
                } catch {
                    throw error.dbus
                }
            }
            group.cancelAll()
        }
        await jobs.cancelAll()
        // The exported objects refer to us.
        try? await connection.unexport(ControlNames.root)
    }

    private static func startError(_ error: DBusError) -> ControlError {
        switch error.code {
        case .nameTaken:
            ControlError(
                .busy, "another celestiad runs on this bus (\(ControlNames.busName) is taken)",
                hint: "systemctl status celestiad")
        case .remote where error.name == DBusErrorName.accessDenied:
            ControlError(
                .notAuthorized, "the bus does not let this user be \(ControlNames.busName)",
                hint:
                    "install dbus/life.ccdw.Celestia1.conf in /usr/share/dbus-1/system.d and run as user celestiad"
            )
        default: ControlError(error)
        }
    }

    // MARK: Beside the calls

    private nonisolated func watch(_ names: AsyncStream<NameEvent>) async {
        for await event in names {
            switch event {
            case .owner: await jobs.sweep()
            case .signal(let signal):
                guard signal.member == "NameOwnerChanged", signal.arguments.count == 3,
                    let name = signal.arguments[0].asString, name.hasPrefix(":"),
                    signal.arguments[2].asString == ""
                else { continue }
                await jobs.callerLeft(name)
            }
        }
    }

    /// Passes changes on: the first at once, those that follow it closely together.
    private nonisolated func announce(_ changes: AsyncStream<ChangeKind>) async {
        let pending = Locked<Set<ChangeKind>>([])
        let (due, isDue) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for await kind in changes {
                    pending.withLock { _ = $0.insert(kind) }
                    isDue.yield()
                }
                isDue.finish()
            }
            for await _ in due {
                let kinds = pending.withLock { pending in
                    defer { pending = [] }
                    return pending.map(\.rawValue).sorted()
                }
                guard !kinds.isEmpty else { continue }
                try? await connection.emit(
                    ControlNames.root, ControlNames.manager, "Changed", [.strings(kinds)])
                try? await clock.sleep(for: Self.announcementInterval, tolerance: nil)
            }
            group.cancelAll()
        }
    }

    // MARK: Manager

    private func managerInterface() async -> ExportedInterface {
        let version = await model.version().version
        let methods = ManagerMethod.allCases.map { method in
            ExportedMethod(method.rawValue, in: method.inputs, out: method.outputs) {
                call throws(DBusError) in
                do throws(ControlError) {
                    return try await self.answer(method, call)
                } catch {
                    throw error.dbus
                }
            }
        }
        return ExportedInterface(
            ControlNames.manager, methods: methods,
            properties: [
                ExportedProperty("Version", .string) { .string(version) },
                ExportedProperty("ApiVersion", .uint32) { .uint32(ControlNames.apiVersion) },
            ],
            signals: [ExportedSignal("Changed", [ExportedArgument("kinds", .array(.string))])],
            xml: Introspection.manager)
    }

    private func answer(_ method: ManagerMethod, _ call: IncomingCall) async throws(ControlError)
        -> [DBusValue]
    {
        let options = call.arguments.last?.asProperties ?? [:]
        let subject = call.arguments.first?.asString ?? ""
        switch method {
        case .status: return [try DocumentCoding.value(try await model.status())]
        case .recorders: return [try DocumentCoding.values(try await model.recorders())]
        case .recorder: return [try DocumentCoding.value(try await model.recorder(try identifier(subject)))]
        case .sessions: return [try DocumentCoding.value(try await model.sessions(try query(options)))]
        case .session: return [try DocumentCoding.value(try await model.session(try identifier(subject)))]
        case .reconcile, .retry, .cancel, .pause, .resume, .purge:
            guard let action = SessionAction(rawValue: method.rawValue) else { return [] }
            return [try DocumentCoding.value(try await model.act(action, on: try identifier(subject)))]
        case .migrate: return [try DocumentCoding.value(try await model.migrate(try identifier(subject)))]
        case .openAsset: return [.unixFD(try await model.openAsset(try identifier(subject)))]
        case .storage: return [try DocumentCoding.value(try await model.storage())]
        case .importFile: return [try DocumentCoding.value(try await importFile(call, options))]
        case .scan: return [.objectPath(try await scan(call, options))]
        case .pair: return [.objectPath(try await pair(try identifier(subject), call, options))]
        case .forget:
            try await model.forget(try identifier(subject), unbind: options["unbind"]?.asBool ?? false)
        case .sync: try await model.sync(recorder: try options["recorder"]?.asString.map(identifier))
        case .login: return [try DocumentCoding.value(try await login(try identifier(subject), call))]
        case .logout: try await model.logout()
        }
        return []
    }

    /// What callers name things by is short text.
    private func identifier(_ text: String) throws(ControlError) -> String {
        guard (1...256).contains(text.utf8.count),
            text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else {
            throw ControlError(.invalidArgument, "a name must have 1 to 256 bytes without control characters")
        }
        return text
    }

    private func query(_ options: [String: DBusValue]) throws(ControlError) -> SessionQuery {
        var query = SessionQuery()
        if let offset = options["offset"]?.asInt64 { query.offset = Int(max(0, offset)) }
        if let limit = options["limit"]?.asInt64 {
            query.limit = Int(min(max(1, limit), Int64(SessionQuery.maximumLimit)))
        }
        query.recorder = try options["recorder"]?.asString.map(identifier)
        query.state = try options["state"]?.asString.map(identifier)
        query.attention = options["attention"]?.asBool ?? false
        return query
    }

    private func caller(
        _ call: IncomingCall, _ options: [String: DBusValue]
    ) async throws(ControlError) -> JobBoard.Caller {
        do throws(DBusError) {
            return JobBoard.Caller(
                connection: call.sender, user: try await connection.userID(of: call.sender),
                isDetached: options["detached"]?.asBool ?? false)
        } catch {
            throw ControlError(error)
        }
    }

    private func scan(
        _ call: IncomingCall, _ options: [String: DBusValue]
    ) async throws(ControlError) -> ObjectPath {
        guard let seconds = call.arguments[0].asUInt32, (1...600).contains(seconds) else {
            throw ControlError(.invalidArgument, "a scan takes 1 to 600 seconds")
        }
        return try await jobs.start("scan", for: try await caller(call, options)) {
            [model] job throws(ControlError) in
            try await model.scan(for: .seconds(Int64(seconds))) { await job.report($0) }
            return nil
        }
    }

    private func pair(
        _ device: String, _ call: IncomingCall, _ options: [String: DBusValue]
    ) async throws(ControlError) -> ObjectPath {
        let request = PairRequest(
            device: device, firstTime: options["first_time"]?.asBool ?? false,
            repair: options["repair"]?.asBool ?? false,
            allowJustWorks: options["allow_just_works"]?.asBool ?? false,
            searchSeconds: options["search_seconds"]?.asUInt32)
        return try await jobs.start("pair", for: try await caller(call, options)) {
            [model] job throws(ControlError) in
            try await model.pair(request, dialogue: job)
        }
    }

    private func importFile(
        _ call: IncomingCall, _ options: [String: DBusValue]
    ) async throws(ControlError) -> ImportDocument {
        guard let file = call.arguments.first?.asFD, call.arguments.count > 1,
            let name = call.arguments[1].asString
        else { throw ControlError(.invalidArgument, "a file and its name are needed") }
        guard (1...1024).contains(name.utf8.count), (options["path"]?.asString?.utf8.count ?? 0) <= 4096
        else {
            throw ControlError(.invalidArgument, "a name has 1 to 1024 bytes, a path at most 4096")
        }
        return try await model.importFile(
            ImportRequest(
                file: file, name: name, path: options["path"]?.asString,
                source: try options["source"]?.asString.map(identifier)))
    }

    private func login(
        _ identifier: String, _ call: IncomingCall
    ) async throws(ControlError) -> AccountDocument {
        guard let pipe = call.arguments[1].asFD else {
            throw ControlError(.invalidArgument, "the password must come by a pipe")
        }
        let password = try await PasswordPipe.read(pipe, on: connection.loop)
        return try await model.login(identifier: identifier, password: password)
    }
}
