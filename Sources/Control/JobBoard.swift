import DBus
import FoundationEssentials

/// The scans, pairings and downloads that callers have asked for, as objects on the bus.
///
/// A job belongs to its caller's connection: when that leaves the bus, the job's task is cancelled, so that a killed CLI
/// leaves no discovery running and no pairing half done. A detached job belongs to its caller's user instead.
actor JobBoard {
    /// Who asks.
    struct Caller: Sendable {
        let connection: String
        let user: UInt32
        var isDetached = false
    }

    typealias Work = @Sendable (JobHandle) async throws(ControlError) -> JobResult?

    private struct Job {
        var document: JobDocument
        let caller: Caller
        var task: Task<Void, Never>?
        var waiter: CheckedContinuation<Result<PairingAnswer, ControlError>, Never>?
        var lastSerial = 0
        /// The caller has been told of a change and has not read it yet.
        var isAnnounced = false
        var isAbandoned = false
        var isRunning: Bool { document.state == State.running }
    }

    enum State {
        static let running = "running"
        static let succeeded = "succeeded"
        static let failed = "failed"
        static let cancelled = "cancelled"
    }

    private static let maximumRunning = 16
    private static let maximumEnded = 16
    private static let maximumFound = 256

    private let connection: Connection
    private let now: @Sendable () -> Date
    private var jobs: [ObjectPath: Job] = [:]
    private var ended: [ObjectPath] = []
    private var lastNumber = 0

    init(connection: Connection, now: @escaping @Sendable () -> Date) {
        self.connection = connection
        self.now = now
    }

    // MARK: Life

    /// Puts a job on the bus and starts it.
    func start(_ kind: String, for caller: Caller, _ work: @escaping Work) async throws(ControlError)
        -> ObjectPath
    {
        guard jobs.values.count(where: \.isRunning) < Self.maximumRunning else {
            throw ControlError(
                .busy, "too many scans, pairings and downloads are under way", hint: "try again in a moment")
        }
        lastNumber += 1
        let path = ControlNames.jobs.appending("\(lastNumber)")
        let document = JobDocument(id: path.text, kind: kind, state: State.running, startedAt: now())
        jobs[path] = Job(document: document, caller: caller)
        do throws(DBusError) {
            try await connection.export(object(path))
        } catch {
            jobs[path] = nil
            throw ControlError(error)
        }
        let handle = JobHandle(board: self, path: path)
        // Unstructured: the job outlives the call that asked for it and ends by `cancel` or by itself.
        jobs[path]?.task = Task {
            let result: Result<JobResult?, ControlError>
            do throws(ControlError) {
                result = .success(try await work(handle))
            } catch {
                result = .failure(error)
            }
            self.finish(path, result, isCancelled: Task.isCancelled)
        }
        // The caller may have left before its departure meant anything here.
        if try await has(left: caller) { callerLeft(caller.connection) }
        return path
    }

    private func has(left caller: Caller) async throws(ControlError) -> Bool {
        do throws(DBusError) {
            return try await connection.owner(of: caller.connection) == nil
        } catch {
            throw ControlError(error)
        }
    }

    func cancelAll() {
        for path in jobs.keys { cancel(path) }
    }

    private func cancel(_ path: ObjectPath) {
        jobs[path]?.task?.cancel()
        answer(path, .failure(.cancelled))
    }

    func callerLeft(_ connection: String) {
        for (path, job) in jobs where job.caller.connection == connection && !job.caller.isDetached {
            jobs[path]?.isAbandoned = true
            if job.isRunning { cancel(path) } else { remove(path) }
        }
    }

    /// Looks for callers that have left, after notices of it were lost.
    func sweep() async {
        for caller in Set(jobs.values.map(\.caller.connection)) {
            do throws(DBusError) {
                if try await connection.owner(of: caller) == nil { callerLeft(caller) }
            } catch {
                return  // without a bus there is nobody to ask for
            }
        }
    }

    private func finish(
        _ path: ObjectPath, _ result: Result<JobResult?, ControlError>, isCancelled: Bool
    ) {
        guard var job = jobs[path] else { return }
        job.document.prompt = nil
        job.document.stage = nil
        switch result {
        case .success(let value):
            switch value {
            case .paired(let pairing): job.document.pairing = pairing
            case .downloaded(let bytes): job.document.bytes = bytes
            case nil: break
            }
            job.document.state = isCancelled && value == nil ? State.cancelled : State.succeeded
        case .failure(let error):
            job.document.state = isCancelled || error.code == .cancelled ? State.cancelled : State.failed
            job.document.error = ErrorDocument(
                code: error.code.rawValue, message: error.message, hint: error.hint)
        }
        job.task = nil
        jobs[path] = job
        announce(path)
        announceState(path, job.document.state)
        ended.append(path)
        if job.isAbandoned { remove(path) }
        while ended.count > Self.maximumEnded, let oldest = ended.first { remove(oldest) }
    }

    private func announceState(_ path: ObjectPath, _ state: String) {
        let connection = connection
        Task {
            try? await connection.emitPropertiesChanged(path, ControlNames.job, ["State": .string(state)])
        }
    }

    private func remove(_ path: ObjectPath) {
        jobs[path] = nil
        ended.removeAll { $0 == path }
        let connection = connection
        Task { try? await connection.unexport(path) }
    }

    // MARK: What the work tells

    func setStage(_ path: ObjectPath, _ stage: String) {
        jobs[path]?.document.stage = stage
        announce(path)
    }

    func report(_ path: ObjectPath, _ result: ScanResultDocument) {
        guard var found = jobs[path]?.document.found else { return }
        if let index = found.firstIndex(where: { $0.address == result.address }) {
            found[index] = result
        } else if found.count < Self.maximumFound {
            found.append(result)
        }
        jobs[path]?.document.found = found
        announce(path)
    }

    func ask(_ path: ObjectPath, _ question: PairingQuestion) async throws(ControlError) -> PairingAnswer {
        guard var job = jobs[path] else { throw .cancelled }
        job.lastSerial += 1
        let serial = job.lastSerial
        job.document.prompt = PromptDocument(serial, question)
        jobs[path] = job
        announce(path)
        if case .display = question { return .accept }
        let result: Result<PairingAnswer, ControlError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled || jobs[path] == nil {
                    continuation.resume(returning: .failure(.cancelled))
                } else {
                    jobs[path]?.waiter = continuation
                }
            }
        } onCancel: {
            Task { await self.withdraw(path, serial) }
        }
        return try result.get()
    }

    private func withdraw(_ path: ObjectPath, _ serial: Int) {
        guard jobs[path]?.document.prompt?.serial == serial else { return }
        answer(path, .failure(.cancelled))
    }

    private func answer(_ path: ObjectPath, _ result: Result<PairingAnswer, ControlError>) {
        guard let waiter = jobs[path]?.waiter else { return }
        jobs[path]?.waiter = nil
        jobs[path]?.document.prompt = nil
        announce(path)
        waiter.resume(returning: result)
    }

    /// Once per reading of the document, so that a caller is told of news but not flooded with them.
    private func announce(_ path: ObjectPath) {
        guard jobs[path]?.isAnnounced == false else { return }
        jobs[path]?.isAnnounced = true
        let connection = connection
        Task { try? await connection.emit(path, ControlNames.job, "Changed") }
    }

    // MARK: What callers ask

    private func object(_ path: ObjectPath) -> ExportedObject {
        let methods = JobMethod.allCases.map { method in
            ExportedMethod(method.rawValue, in: method.inputs, out: method.outputs) {
                [weak self] call throws(DBusError) in
                guard let self else { throw ControlError.notRunning.dbus }
                do throws(ControlError) {
                    return try await self.answer(method, call)
                } catch {
                    throw error.dbus
                }
            }
        }
        let kind = jobs[path]?.document.kind ?? ""
        let interface = ExportedInterface(
            ControlNames.job, methods: methods,
            properties: [
                ExportedProperty("Kind", .string) { .string(kind) },
                ExportedProperty("State", .string) { [weak self] in
                    await self?.jobs[path].map { .string($0.document.state) }
                },
            ],
            signals: [ExportedSignal("Changed")], xml: Introspection.job)
        return ExportedObject(path, [interface])
    }

    private func answer(_ method: JobMethod, _ call: IncomingCall) async throws(ControlError) -> [DBusValue] {
        guard let job = jobs[call.path] else { throw ControlError(.notFound, "the job is gone") }
        try await requireOwner(of: job, call)
        switch method {
        case .describe:
            jobs[call.path]?.isAnnounced = false
            return [try DocumentCoding.value(jobs[call.path]?.document ?? job.document)]
        case .respond: try respond(call)
        case .cancel: cancel(call.path)
        }
        return []
    }

    private func requireOwner(of job: Job, _ call: IncomingCall) async throws(ControlError) {
        if call.sender == job.caller.connection { return }
        let user = try? await connection.userID(of: call.sender)
        guard user == 0 || (job.caller.isDetached && user == job.caller.user) else {
            throw ControlError(.notAuthorized, "the job belongs to another caller")
        }
    }

    private func respond(_ call: IncomingCall) throws(ControlError) {
        guard let serial = call.arguments[0].asUInt32, let accept = call.arguments[1].asBool,
            let passkey = call.arguments[2].asString, let prompt = jobs[call.path]?.document.prompt,
            prompt.serial == Int(serial), jobs[call.path]?.waiter != nil
        else { throw ControlError(.invalidArgument, "that question is not asked (any more)") }
        guard accept else { return answer(call.path, .success(.refuse)) }
        guard prompt.kind == PromptDocument.Kind.passkey else {
            return answer(call.path, .success(.accept))
        }
        guard let number = PromptDocument.passkey(passkey) else {
            throw ControlError(.invalidArgument, "a passkey is six digits")
        }
        answer(call.path, .success(.passkey(number)))
    }
}

/// What a job led to.
enum JobResult: Sendable {
    case paired(PairResultDocument)
    /// The length of the file.
    case downloaded(Int64)
}

/// The methods of Job, as `dbus/life.ccdw.Celestia1.Job.xml` describes them.
enum JobMethod: String, CaseIterable {
    case describe = "Describe"
    case respond = "Respond"
    case cancel = "Cancel"

    var inputs: [ExportedArgument] {
        switch self {
        case .describe, .cancel: [.options]
        case .respond:
            [
                ExportedArgument("serial", .uint32), ExportedArgument("accept", .boolean),
                ExportedArgument("passkey", .string), .options,
            ]
        }
    }

    var outputs: [ExportedArgument] {
        self == .describe ? [ExportedArgument("job", .document)] : []
    }
}

/// What a job's work speaks to: the board, about this job.
struct JobHandle: PairingDialogue {
    let board: JobBoard
    let path: ObjectPath

    func stage(_ stage: String) async {
        await board.setStage(path, stage)
    }

    func ask(_ question: PairingQuestion) async throws(ControlError) -> PairingAnswer {
        try await board.ask(path, question)
    }

    func report(_ result: ScanResultDocument) async {
        await board.report(path, result)
    }
}
