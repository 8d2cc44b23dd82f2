import Cloud
import Control
import DBus
import Dates
import Dispatch
import EventLoop
import FoundationEssentials
import Gateway
import Glibc
import HTTP

/// Gathers what the doctor's rules go by, all of it at once; nothing that hangs holds up the rest.
struct DoctorLook: Sendable {
    let machine: MachineLook
    let environment: [String: String]
    /// The configuration file that the user names.
    let configurationPath: String?
    let busAddress: String
    let loop: EventLoop
    var now = Date()

    private static let patience = Duration.seconds(10)
    /// The daemon asks the cloud meanwhile.
    private static let cloudPatience = Duration.seconds(25)
    private static let systemBuses = ["/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"]

    /// Everything; in half a minute at most.
    func facts() async -> DoctorFacts {
        let configuration = await configuration()
        let settings = configuration.value?.configuration ?? Configuration()
        let machine = machine
        async let radio = Self.look("the kernel's files") { machine.radio() }
        async let disk = Self.look("the disk") { machine.disk(settings.stateDirectory) }
        async let credentials = Self.look("the state directory") {
            machine.credentials(settings.stateDirectory)
        }
        async let folder = self.folder(settings)
        async let tools = Self.look("the installed programs") { machine.tools() }
        async let policy = Self.look("the bus's policy") { machine.hasPolicy() }
        let answers = await answers(settings)
        let user = SystemUserAccounts().account(of: geteuid())?.name ?? "uid \(geteuid())"
        return DoctorFacts(
            now: now, user: user, isRoot: geteuid() == 0,
            configurationPath: configurationPath ?? environment["CELESTIAD_CONFIG"]
                ?? Configuration.defaultPath,
            configuration: configuration.map(\.configuration), settings: configuration.value?.settings ?? [],
            bus: BusFacts(
                address: busAddress,
                isSystemBus: Self.systemBuses.contains { busAddress == "unix:path=\($0)" },
                trouble: answers.trouble, hasPolicy: await policy.value ?? true),
            service: answers.service, bluetoothService: answers.bluetoothService, daemon: answers.daemon,
            radio: await radio, bluez: answers.bluez,
            clock: .found(
                ClockFacts(isSynchronized: SystemClock.isSynchronized, keeper: answers.timeKeeper)),
            disk: Self.joined(await disk), credentials: await credentials, cloud: answers.cloud,
            folder: await folder, tools: await tools.value ?? ToolFacts())
    }

    private static func joined<Value>(_ look: Look<Look<Value>>) -> Look<Value> {
        switch look {
        case .found(let inner): inner
        case .blind(let reason): .blind(reason)
        }
    }

    private func configuration() async -> Look<LoadedConfiguration> {
        let (path, environment, tree) = (configurationPath, environment, machine.tree)
        return Self.joined(
            await Self.look("the configuration") {
                do throws(GatewayError) {
                    let loaded = try Configuration.load(
                        path: path, environment: environment, files: TreeConfigurationFiles(tree: tree))
                    return .found((loaded.configuration, loaded.settings))
                } catch {
                    return .blind("\(error)")
                }
            })
    }

    private typealias LoadedConfiguration = (configuration: Configuration, settings: [ConfigurationSetting])

    /// Every key as it is set.
    func settings() async -> Look<[ConfigurationSetting]> {
        await configuration().map(\.settings)
    }

    private func folder(_ settings: Configuration) async -> Look<FolderFacts>? {
        guard let path = settings.watchedFolder else { return nil }
        let machine = machine
        return await Self.look("the watched folder") { machine.folder(path) }
    }

    // MARK: Who is asked

    private struct Answers: Sendable {
        var trouble: String?
        var service = Look<UnitFacts>.blind("there is no message bus")
        var bluetoothService = Look<UnitFacts>.blind("there is no message bus")
        var bluez = Look<BlueZFacts>.blind("without a message bus bluetoothd cannot be asked")
        var daemon = DaemonFacts.notAsked
        var cloud = Look<ReachFacts>.blind("the daemon was asked")
        var timeKeeper: String?
    }

    private func answers(_ settings: Configuration) async -> Answers {
        var answers = Answers()
        do throws(DBusError) {
            let connection = try await Connection.open(busAddress, on: loop, timeout: Self.patience)
            let bus = BusLook(connection: connection)
            let machine = machine
            let version = await Self.look("the list of packages") { machine.version(ofPackage: "bluez") }
            async let bluez = bus.bluetooth(version: version.value ?? nil)
            async let service = bus.unit("celestiad.service")
            async let bluetoothService = bus.unit("bluetooth.service")
            async let timeKeeper = bus.timeKeeper()
            async let daemon = daemon()
            answers.service = await service
            answers.bluetoothService = await bluetoothService
            answers.timeKeeper = await timeKeeper
            answers.bluez = await bluez
            answers.daemon = await daemon
            await connection.close()
        } catch {
            answers.trouble = error.message
        }
        if case .success(let status) = answers.daemon.cloud, status.state == "ok" { return answers }
        answers.cloud = await reach(settings)
        return answers
    }

    private func daemon() async -> DaemonFacts {
        let (address, loop) = (busAddress, loop)
        let client: ControlClient
        do throws(ControlError) {
            client = try await ControlClient.connect(address, on: loop)
        } catch {
            return DaemonFacts(status: .failure(error))
        }
        async let status = Self.ask { () throws(ControlError) in try await client.status() }
        async let storage = Self.ask { () throws(ControlError) in try await client.storage() }
        async let cloud = Self.ask(Self.cloudPatience) { () throws(ControlError) in
            try await client.cloudStatus()
        }
        let facts = DaemonFacts(status: await status, storage: await storage, cloud: await cloud)
        await client.close()
        return facts
    }

    private static func ask<Value: Sendable>(
        _ limit: Duration = patience, _ call: @escaping @Sendable () async throws(ControlError) -> Value
    ) async -> Result<Value, ControlError> {
        do throws(ControlError) {
            return .success(try await withDeadline(limit, "the daemon did not answer in time", call))
        } catch {
            return .failure(error)
        }
    }

    // MARK: The cloud

    /// Asks the cloud itself, without an account.
    private func reach(_ settings: Configuration) async -> Look<ReachFacts> {
        let base: APIBase
        do throws(CloudError) {
            base = try APIBase(settings.cloudURL)
        } catch {
            return .blind(error.message)
        }
        let http: HTTPClient
        do throws(HTTPError) {
            try HTTPClient.globalSetUp()
            http = try HTTPClient(
                loop: loop,
                configuration: HTTPConfiguration(
                    userAgent: "celestiad/\(Version.number)", caFile: settings.cloudCAFile,
                    pinnedPublicKey: settings.cloudPinnedKey))
        } catch {
            return .blind(error.message)
        }
        let facts = await withTaskGroup(of: ReachFacts.self) { group in
            group.addTask { await Self.probe(base, http) }
            group.addTask {
                try? await Task.sleep(for: Self.patience)
                return ReachFacts(
                    stage: .connection, host: base.host, message: "\(base.host) did not answer in time")
            }
            defer { group.cancelAll() }
            return await group.next() ?? ReachFacts(host: base.host)
        }
        await http.shutDown()
        return .found(facts)
    }

    private static func probe(_ base: APIBase, _ http: HTTPClient) async -> ReachFacts {
        var facts = ReachFacts(host: base.host)
        let began = ContinuousClock.now
        do throws(CloudError) {
            let server = try await CelestiaAPI.probe(base, transport: http)
            facts.skewMs = server.map {
                Int64(((Date().timeIntervalSince1970 - Double($0.secondsSince1970)) * 1000).rounded())
            }
        } catch {
            facts.stage =
                switch error.transport {
                case .resolve: .name
                case .tls, .tlsUntrusted: .certificate
                case .tlsNotYetValid: .clock
                case .connect, .timeout, .stalled, .send, .receive, .emptyReply: .connection
                default: .answer
                }
            (facts.message, facts.hint) = (error.message, error.hint)
        }
        facts.milliseconds = Int64(began.duration(to: .now) / .milliseconds(1))
        return facts
    }

    // MARK: Patience

    /// Runs what may block on a thread of its own. What hangs, as a dead network file system does, is left behind.
    static func look<Value: Sendable>(
        _ what: String, within limit: Duration = patience, _ work: @escaping @Sendable () -> Value
    ) async -> Look<Value> {
        await withCheckedContinuation { continuation in
            let waiting = Locked<CheckedContinuation<Look<Value>, Never>?>(continuation)
            let answer: @Sendable (Look<Value>) -> Void = { look in
                let first = waiting.withLock { waiting in
                    defer { waiting = nil }
                    return waiting
                }
                first?.resume(returning: look)
            }
            DispatchQueue.global().async { answer(.found(work())) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(limit / .milliseconds(1))))
            {
                answer(.blind("\(what) did not answer in time"))
            }
        }
    }
}

extension APIBase {
    /// Host and, unless it is the usual one, port.
    fileprivate var host: String { String(origin.split(separator: "/").last ?? "") }
}
