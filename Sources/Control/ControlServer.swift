package import DBus
import EventLoop
package import FoundationEssentials

/// Puts a `ControlModel` on the bus as `life.ccdw.Celestia1`.
package actor ControlServer {
    private let connection: Connection
    let model: any ControlModel
    private let access: AccessRule
    private let logControl: (any LogControl)?
    let jobs: JobBoard
    let objects: ObjectBoard
    private let clock: any Clock<Duration>
    /// The imports under way, each ended when its caller leaves the bus.
    private var imports: [Int: (caller: String, task: Task<Result<ImportDocument, ControlError>, Never>)] =
        [:]
    private var lastImport = 0
    /// Passwords that are being read from pipes, which may take their time.
    private var passwordReads = 0
    private static let maximumPasswordReads = 8

    /// Changes are announced at most this often.
    private static let announcementInterval = Duration.milliseconds(500)
    private static let bus = "org.freedesktop.DBus"

    package init(
        connection: Connection, model: any ControlModel, access: AccessRule = AccessRule(),
        logControl: (any LogControl)? = nil, clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.connection = connection
        self.model = model
        self.access = access
        self.logControl = logControl
        self.clock = clock
        jobs = JobBoard(connection: connection, now: now)
        objects = ObjectBoard(connection: connection) { kind, id, call throws(ControlError) in
            try await Self.answer(model, kind, id, call)
        }
    }

    /// Takes the bus name. Calls that come from now on wait for `serve()`. Throws `busy` when another daemon has the
    /// name, `notAuthorized` when the bus does not let us have it.
    package func start() async throws(ControlError) {
        do throws(DBusError) {
            await connection.exportObjectManager(at: ControlNames.root)
            try await connection.export(
                ExportedObject(ControlNames.root, [managerInterface(), cloudInterface()]))
            if let logControl { try await connection.export(logControl.exported) }
            try await connection.requestName(ControlNames.busName)
        } catch {
            throw Self.startError(error)
        }
    }

    /// Answers until the connection closes or the task is cancelled; then every job has been cancelled.
    package func serve() async {
        let changes = await model.changes()
        let names = try? await connection.events(of: Self.bus)
        await showObjects()
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
        await objects.clear()
        // The exported objects refer to us.
        try? await connection.unexport(ControlNames.root)
        try? await connection.unexport(ControlNames.logControl)
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
            case .owner:
                await jobs.sweep()
                await sweepImports()
            case .signal(let signal):
                guard signal.member == "NameOwnerChanged", signal.arguments.count == 3,
                    let name = signal.arguments[0].asString, name.hasPrefix(":"),
                    signal.arguments[2].asString == ""
                else { continue }
                await jobs.callerLeft(name)
                await importerLeft(name)
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
                if !Self.kindsOfObjects.isDisjoint(with: kinds.compactMap { ChangeKind(rawValue: $0) }) {
                    await showObjects()
                }
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
                    return try await self.answer(method, CallArguments(call))
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

    private func answer(_ method: ManagerMethod, _ arguments: CallArguments) async throws(ControlError)
        -> [DBusValue]
    {
        switch method {
        case .status: return [try DocumentCoding.value(try await model.status())]
        case .recorders: return [try DocumentCoding.values(try await model.recorders())]
        case .recorder:
            return [try DocumentCoding.value(try await model.recorder(try arguments.identifier(0)))]
        case .sessions: return [try DocumentCoding.value(try await model.sessions(try query(arguments)))]
        case .session: return [try DocumentCoding.value(try await model.session(try arguments.identifier(0)))]
        case .reconcile, .retry, .cancel, .pause, .resume, .purge:
            guard let action = SessionAction(rawValue: method.rawValue) else { return [] }
            return [try DocumentCoding.value(try await model.act(action, on: try arguments.identifier(0)))]
        case .migrate: return [try DocumentCoding.value(try await model.migrate(try arguments.identifier(0)))]
        case .openAsset: return [.unixFD(try await model.openAsset(try arguments.identifier(0)))]
        case .storage: return [try DocumentCoding.value(try await model.storage())]
        case .importFile: return [try DocumentCoding.value(try await importFile(arguments))]
        case .scan: return [.objectPath(try await scan(arguments))]
        case .pair: return [.objectPath(try await pair(arguments))]
        case .forget:
            try await model.forget(try arguments.identifier(0), unbind: try arguments.flag("unbind"))
        case .sync: try await model.sync(recorder: try arguments.option("recorder"))
        case .login:
            let password = try await password(arguments.file(1))
            return [
                try DocumentCoding.value(
                    try await model.login(identifier: try arguments.identifier(0), password: password))
            ]
        case .logout: try await model.logout()
        }
        return []
    }

    private func query(_ arguments: CallArguments) throws(ControlError) -> SessionQuery {
        var query = SessionQuery()
        query.offset = try arguments.offset
        if let limit = try arguments.limit { query.limit = limit }
        query.recorder = try arguments.option("recorder")
        query.state = try arguments.option("state")
        query.attention = try arguments.flag("attention")
        return query
    }

    func caller(_ arguments: CallArguments) async throws(ControlError) -> JobBoard.Caller {
        let isDetached = try arguments.flag("detached")
        do throws(DBusError) {
            return JobBoard.Caller(
                connection: arguments.call.sender,
                user: try await connection.userID(of: arguments.call.sender),
                isDetached: isDetached)
        } catch {
            throw ControlError(error)
        }
    }

    private func scan(_ arguments: CallArguments) async throws(ControlError) -> ObjectPath {
        guard let seconds = arguments.call.arguments[0].asUInt32, (1...600).contains(seconds) else {
            throw ControlError(.invalidArgument, "a scan takes 1 to 600 seconds")
        }
        return try await jobs.start("scan", for: try await caller(arguments)) {
            [model] job throws(ControlError) in
            try await model.scan(for: .seconds(Int64(seconds))) { await job.report($0) }
            return nil
        }
    }

    private func pair(_ arguments: CallArguments) async throws(ControlError) -> ObjectPath {
        let request = PairRequest(
            device: try arguments.identifier(0), firstTime: try arguments.flag("first_time"),
            repair: try arguments.flag("repair"),
            allowJustWorks: try arguments.flag("allow_just_works"),
            searchSeconds: try arguments.seconds("search_seconds"))
        return try await jobs.start("pair", for: try await caller(arguments)) {
            [model] job throws(ControlError) in
            .paired(try await model.pair(request, dialogue: job))
        }
    }

    private func importFile(_ arguments: CallArguments) async throws(ControlError) -> ImportDocument {
        let options = arguments.options
        guard let file = arguments.file(0), let name = arguments.call.arguments[1].asString else {
            throw ControlError(.invalidArgument, "a file and its name are needed")
        }
        guard (1...1024).contains(name.utf8.count), (options["path"]?.asString?.utf8.count ?? 0) <= 4096
        else {
            throw ControlError(.invalidArgument, "a name has 1 to 1024 bytes, a path at most 4096")
        }
        let request = ImportRequest(
            file: file, name: name, path: options["path"]?.asString, source: try arguments.option("source"))
        return try await taking(request, for: arguments.call.sender)
    }

    /// A large file takes long: nobody wants it any more when its caller has left.
    private func taking(
        _ request: ImportRequest, for caller: String
    ) async throws(ControlError) -> ImportDocument {
        lastImport += 1
        let number = lastImport
        let model = model
        let task = Task { () async -> Result<ImportDocument, ControlError> in
            do throws(ControlError) {
                return .success(try await model.importFile(request))
            } catch {
                return .failure(error)
            }
        }
        imports[number] = (caller, task)
        defer { imports[number] = nil }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }

    private func importerLeft(_ caller: String) {
        for (_, running) in imports where running.caller == caller { running.task.cancel() }
    }

    /// Looks for callers that have left, after notices of it were lost.
    private func sweepImports() async {
        for caller in Set(imports.values.map(\.caller)) {
            do throws(DBusError) {
                if try await connection.owner(of: caller) == nil { importerLeft(caller) }
            } catch {
                return  // without a bus there is nobody to ask for
            }
        }
    }

    /// Reads a password from the pipe that a caller has passed.
    func password(_ pipe: SharedFD?) async throws(ControlError) -> Password {
        guard let pipe else {
            throw ControlError(.invalidArgument, "the password must come by a pipe")
        }
        guard passwordReads < Self.maximumPasswordReads else {
            throw ControlError(.busy, "too many passwords are being read", hint: "try again in a few seconds")
        }
        passwordReads += 1
        defer { passwordReads -= 1 }
        return try await PasswordPipe.read(pipe, on: connection.loop)
    }
}
