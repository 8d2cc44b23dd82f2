package import DBus
package import EventLoop

/// The daemon's API as its clients call it.
package struct ControlClient: Sendable {
    private let connection: Connection

    /// Longer than any answer takes that is given from memory.
    static let timeout = Duration.seconds(25)
    /// A large file from a slow card is read twice.
    private static let importTimeout = Duration.seconds(6 * 3600)
    /// The cloud is asked meanwhile.
    static let loginTimeout = Duration.seconds(120)

    /// Connects to the bus at `address`; whether the daemon is there shows with the first request. Throws `noBus`.
    package static func connect(_ address: String, on loop: EventLoop) async throws(ControlError)
        -> ControlClient
    {
        do throws(DBusError) {
            return ControlClient(connection: try await Connection.open(address, on: loop))
        } catch {
            throw ControlError(error)
        }
    }

    /// Leaves the bus: the jobs that were asked for by this client end.
    package func close() async {
        await connection.close()
    }

    // MARK: Reading

    package func status() async throws(ControlError) -> StatusDocument {
        try await document("Status")
    }

    package func recorders() async throws(ControlError) -> [RecorderDocument] {
        let reply = try await call("Recorders")
        var recorders: [RecorderDocument] = []
        for value in reply.first?.asArray ?? [] {
            recorders.append(try DocumentCoding.document(from: value))
        }
        return recorders
    }

    package func recorder(_ id: String) async throws(ControlError) -> RecorderDocument {
        try await document("Recorder", [.string(id)])
    }

    package func sessions(_ query: SessionQuery) async throws(ControlError) -> SessionPage {
        var options: [String: DBusValue] = [
            "offset": .int64(Int64(query.offset)), "limit": .int64(Int64(query.limit)),
        ]
        options["recorder"] = query.recorder.map { .string($0) }
        options["state"] = query.state.map { .string($0) }
        if query.attention { options["attention"] = .boolean(true) }
        return try await document("Sessions", options: options)
    }

    package func session(_ id: String) async throws(ControlError) -> SessionDocument {
        try await document("Session", [.string(id)])
    }

    package func storage() async throws(ControlError) -> StorageReportDocument {
        try await document("Storage")
    }

    /// A file of a session, open for reading.
    package func openAsset(_ id: String) async throws(ControlError) -> SharedFD {
        guard let file = try await call("OpenAsset", [.string(id)]).first?.asFD else {
            throw ControlError(.failed, "the daemon did not pass the file")
        }
        return file
    }

    /// Version of the daemon that runs.
    package func version() async throws(ControlError) -> VersionDocument {
        let reply = try await call(
            "GetAll", [.string(ControlNames.manager)], interface: "org.freedesktop.DBus.Properties")
        guard let values = reply.first?.asProperties, let version = values["Version"]?.asString else {
            throw ControlError(.failed, "the daemon does not say its version")
        }
        return VersionDocument(version: version, apiVersion: Int(values["ApiVersion"]?.asUInt32 ?? 0))
    }

    // MARK: Changing

    package func forget(_ id: String, unbind: Bool) async throws(ControlError) {
        _ = try await call(
            "Forget", [.string(id)], options: ["unbind": .boolean(unbind)], timeout: Self.loginTimeout)
    }

    package func act(_ action: SessionAction, on id: String) async throws(ControlError) -> SessionDocument {
        try await document(action.rawValue, [.string(id)])
    }

    package func migrate(_ id: String) async throws(ControlError) -> SessionDocument {
        try await document("Migrate", [.string(id)])
    }

    package func importFile(_ request: ImportRequest) async throws(ControlError) -> ImportDocument {
        var options: [String: DBusValue] = [:]
        options["path"] = request.path.map { .string($0) }
        options["source"] = request.source.map { .string($0) }
        return try await document(
            "Import", [.unixFD(request.file), .string(request.name)], options: options,
            timeout: Self.importTimeout)
    }

    package func sync(recorder: String?) async throws(ControlError) {
        var options: [String: DBusValue] = [:]
        options["recorder"] = recorder.map { .string($0) }
        _ = try await call("Sync", options: options)
    }

    package func login(identifier: String, password: Password) async throws(ControlError) -> AccountDocument {
        let pipe = try PasswordPipe.readEnd(holding: password)
        return try await document("Login", [.string(identifier), .unixFD(pipe)], timeout: Self.loginTimeout)
    }

    package func logout() async throws(ControlError) {
        _ = try await call("Logout", timeout: Self.loginTimeout)
    }

    // MARK: Following

    /// Whether the daemon is there, at first and whenever that changes, and what it says has changed. Ends with the bus.
    package func events() async throws(ControlError) -> some AsyncSequence<ControlEvent, Never> {
        try await nameEvents().compactMap { event in
            switch event {
            case .owner(let owner): return .daemon(isRunning: owner != nil)
            case .signal(let signal):
                guard signal.path == ControlNames.root, signal.member == "Changed" else { return nil }
                return .changed(Set((signal.arguments.first?.asStrings ?? []).compactMap(ChangeKind.init)))
            }
        }
    }

    private func nameEvents() async throws(ControlError) -> AsyncStream<NameEvent> {
        do throws(DBusError) {
            return try await connection.events(of: ControlNames.busName)
        } catch {
            throw ControlError(error)
        }
    }

    /// Scans; `update` gets everything found so far, again and again. When the task is cancelled the scan ends.
    package func scan(
        seconds: UInt32, update: ([ScanResultDocument]) async -> Void
    ) async throws(ControlError) -> [ScanResultDocument] {
        let job = try await run("Scan", [.uint32(seconds)]) { document throws(ControlError) in
            await update(document.found)
            return nil
        }
        return job.found
    }

    /// Pairs; `update` gets the job whenever it has changed and answers its prompt once it has one. When the task is
    /// cancelled, or `update` throws, the pairing is cancelled before this returns.
    package func pair(
        _ request: PairRequest, update: (JobDocument) async throws(ControlError) -> PairingAnswer?
    ) async throws(ControlError) -> PairResultDocument {
        var options: [String: DBusValue] = [
            "first_time": .boolean(request.firstTime), "repair": .boolean(request.repair),
            "allow_just_works": .boolean(request.allowJustWorks),
        ]
        if let seconds = request.searchSeconds { options["search_seconds"] = .uint32(seconds) }
        let job = try await run("Pair", [.string(request.device)], options: options, update)
        guard let result = job.pairing else {
            throw ControlError(.failed, "the pairing ended without a result")
        }
        return result
    }

    func run(
        _ member: String, _ arguments: [DBusValue], options: [String: DBusValue] = [:],
        interface: String = ControlNames.manager,
        _ update: (JobDocument) async throws(ControlError) -> PairingAnswer?
    ) async throws(ControlError) -> JobDocument {
        // Before the job exists, so that none of its changes is missed.
        let events = try await nameEvents()
        let reply = try await call(member, arguments, options: options, interface: interface)
        guard let path = reply.first?.asObjectPath else {
            throw ControlError(.failed, "\(member) returned no job")
        }
        do throws(ControlError) {
            return try await follow(path, events, update)
        } catch {
            if error.code != .notRunning { await cancel(path) }
            throw error
        }
    }

    private func follow(
        _ path: ObjectPath, _ events: AsyncStream<NameEvent>,
        _ update: (JobDocument) async throws(ControlError) -> PairingAnswer?
    ) async throws(ControlError) -> JobDocument {
        var events = events.makeAsyncIterator()
        var hasOwner = false
        var lastAnswered = 0
        while true {
            let reply = try await call("Describe", path: path, interface: ControlNames.job)
            let job: JobDocument = try DocumentCoding.document(from: reply.first ?? .properties([:]))
            if let answer = try await update(job), let prompt = job.prompt, prompt.serial != lastAnswered {
                lastAnswered = prompt.serial
                try await respond(path, prompt, answer)
            }
            guard job.state == JobBoard.State.running else { return try Self.end(job) }
            waiting: while true {
                switch await events.next(isolation: #isolation) {
                case .signal(let signal):
                    if signal.path == path { break waiting }
                case .owner(.some) where !hasOwner: hasOwner = true
                case .owner:
                    throw ControlError(.notRunning, "celestiad went away", hint: "systemctl status celestiad")
                case nil:
                    throw Task.isCancelled ? .cancelled : ControlError(.noBus, "the message bus went away")
                }
            }
        }
    }

    private func respond(
        _ path: ObjectPath, _ prompt: PromptDocument, _ answer: PairingAnswer
    ) async throws(ControlError) {
        var passkey = ""
        if case .passkey(let number) = answer { passkey = PromptDocument.digits(number) }
        let arguments: [DBusValue] = [
            .uint32(UInt32(clamping: prompt.serial)), .boolean(answer != .refuse), .string(passkey),
        ]
        do throws(ControlError) {
            _ = try await call("Respond", arguments, path: path, interface: ControlNames.job)
        } catch {
            // The question was withdrawn while the user thought; the job says why.
            guard error.code == .invalidArgument else { throw error }
        }
    }

    private static func end(_ job: JobDocument) throws(ControlError) -> JobDocument {
        guard job.state != JobBoard.State.succeeded else { return job }
        guard let error = job.error else {
            throw job.state == JobBoard.State.cancelled ? .cancelled : ControlError(.failed, "the job failed")
        }
        throw ControlError(
            ControlError.Code(rawValue: error.code) ?? .failed, error.message, hint: error.hint)
    }

    private func cancel(_ path: ObjectPath) async {
        // In a task of its own, because the calling one may be cancelled and every call in it fails.
        await Task { _ = try? await call("Cancel", path: path, interface: ControlNames.job) }.value
    }

    // MARK: Calls

    func document<Document: Decodable>(
        _ member: String, _ arguments: [DBusValue] = [], options: [String: DBusValue] = [:],
        interface: String = ControlNames.manager, timeout: Duration = ControlClient.timeout
    ) async throws(ControlError) -> Document {
        let reply = try await call(
            member, arguments, options: options, interface: interface, timeout: timeout)
        return try DocumentCoding.document(from: reply.first ?? .properties([:]))
    }

    func call(
        _ member: String, _ arguments: [DBusValue] = [], options: [String: DBusValue] = [:],
        path: ObjectPath = ControlNames.root, interface: String = ControlNames.manager,
        timeout: Duration = ControlClient.timeout
    ) async throws(ControlError) -> [DBusValue] {
        let takesOptions = interface.hasPrefix(ControlNames.busName)
        let call = MethodCall(
            ControlNames.busName, path, interface, member,
            arguments + (takesOptions ? [.properties(options)] : []))
        do throws(DBusError) {
            return try await connection.call(call, timeout: timeout)
        } catch {
            throw ControlError(error)
        }
    }
}

/// What a client learns without asking.
package enum ControlEvent: Sendable, Hashable {
    /// The daemon is on the bus or not; whatever was known of it is void.
    case daemon(isRunning: Bool)
    /// These kinds of documents are different now.
    case changed(Set<ChangeKind>)
}
