import CaptureQueue
import Cloud
import Control
import EventLoop
import FoundationEssentials
import Gateway
import MQTT

/// Keeps Home Assistant informed, for as long as there is a broker.
struct MQTTService: Sendable {
    let control: DaemonControl
    let settings: MQTTConfiguration
    let homeAssistant: HomeAssistant
    let log: Log
    var retry = RetryPolicy()

    /// States are told at least this often, and changes at most.
    private static let interval = Duration.seconds(60)
    private static let gathering = Duration.seconds(2)
    private static let patience = Duration.seconds(2)

    init(control: DaemonControl, settings: MQTTConfiguration) {
        self.control = control
        self.settings = settings
        log = control.gateway.log
        homeAssistant = HomeAssistant(
            discoveryPrefix: settings.discoveryPrefix, topicPrefix: settings.topicPrefix,
            hub: HubName.ofThisMachine())
    }

    /// Runs until the task is cancelled, also where no broker is named. One that cannot be had is tried again and again,
    /// and told of once.
    func run() async {
        control.gateway.board.clearBrokerTrouble()
        let book = await AnnouncementBook.open(
            in: control.gateway.configuration.stateDirectory, log: log)
        await book.configure(settings)
        if settings.host.isEmpty {
            await takeBack(book)
        } else {
            await keepConnected(book)
        }
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(1 << 30)) }
    }

    private func keepConnected(_ book: AnnouncementBook) async {
        let loop: EventLoop
        do throws(SystemError) {
            loop = try EventLoop.start(name: "mqtt")
        } catch {
            return log.warning("MQTT: \(error)", .mqttFailed)
        }
        // Not waited for: the loop may be on its way to a broker that does not answer.
        defer { loop.stop() }
        let client = MQTTClient(on: loop)
        var attempts = RetryState()
        var random = SystemRandomNumberGenerator()
        var isTold = false
        if let exposure = settings.exposure(hasPassword: (try? settings.password()) != nil) {
            log.warning("MQTT: \(exposure) → \(MQTTConfiguration.exposureHint)")
        }
        while !Task.isCancelled {
            let reason: String
            var kind = BrokerTrouble.Kind.unreachable
            switch await attempt(client, book) {
            case .success(let lost):
                attempts.progressed()
                isTold = false
                reason = lost
            case .failure(let error): (kind, reason) = (BrokerTrouble.Kind(error.code), error.message)
            }
            guard !Task.isCancelled else { break }
            control.gateway.board.note(kind, of: settings.address, reason)
            if !isTold { log.warning("MQTT: \(Terminal.printable(reason)); it is tried again", .mqttFailed) }
            isTold = true
            try? await Task.sleep(for: attempts.failed(retry, using: &random))
        }
    }

    /// One connection, from its beginning to its end; why it ended.
    private func attempt(_ client: MQTTClient, _ book: AnnouncementBook) async -> Result<String, MQTTError> {
        do throws(MQTTError) {
            let connection = try settings.forClient(
                "celestiad-\(homeAssistant.hub)", will: homeAssistant.availability(false))
            guard let events = try await Self.connect(client, connection) else { return .success("stopped") }
            log.notice("MQTT: connected to \(settings.host):\(settings.port)", .mqttConnected)
            control.gateway.board.clearBrokerTrouble()
            let reason = await follow(client, events, book)
            if Task.isCancelled { await leave(client) }
            return .success(reason)
        } catch {
            return .failure(error)
        }
    }

    /// nil when the task is cancelled: the connecting blocks its loop and cannot be ended, and is left behind.
    static func connect(
        _ client: MQTTClient, _ settings: MQTTSettings
    ) async throws(MQTTError) -> AsyncStream<MQTTEvent>? {
        let connecting = Task { () -> Result<AsyncStream<MQTTEvent>, MQTTError> in
            do throws(MQTTError) {
                return .success(try await client.connect(settings))
            } catch {
                return .failure(error)
            }
        }
        return try await unlessCancelled(connecting)?.get()
    }

    private static func unlessCancelled<Value: Sendable>(_ task: Task<Value, Never>) async -> Value? {
        let (values, continuation) = AsyncStream.makeStream(of: Value.self)
        let forwarding = Task {
            continuation.yield(await task.value)
            continuation.finish()
        }
        defer { forwarding.cancel() }
        // A stream ends when its reader's task is cancelled.
        for await value in values { return value }
        return nil
    }

    private func leave(_ client: MQTTClient) async {
        let goodbye = Task {
            try? await client.publish(homeAssistant.availability(false))
            await client.disconnect()
        }
        // In a task of its own, because this one is cancelled and does not sleep any more.
        await Task {
            _ = await Self.first({ await goodbye.value }, { try? await Task.sleep(for: Self.patience) })
        }.value
    }

    /// Whichever ends first; the other is left behind.
    static func first(
        _ left: @escaping @Sendable () async -> Void, _ right: @escaping @Sendable () async -> Void
    ) async {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        for body in [left, right] {
            Task {
                await body()
                end.finish()
            }
        }
        for await _ in ends {}
    }

    // MARK: Telling

    private enum Step: Sendable {
        case look
        case lost(String)
    }

    private func follow(
        _ client: MQTTClient, _ events: AsyncStream<MQTTEvent>, _ book: AnnouncementBook
    ) async -> String {
        let changes = await control.changes()
        // Not a step: of too many the oldest are dropped.
        let isAnew = Locked(false)
        let (steps, continuation) = AsyncStream.makeStream(
            of: Step.self, bufferingPolicy: .bufferingNewest(4))
        let tellAnew: @Sendable () -> Void = {
            isAnew.withLock { $0 = true }
            continuation.yield(.look)
        }
        let feeder = Task { await feed(continuation, changes, events, tellAnew) }
        defer { feeder.cancel() }
        var told: [String: MQTTMessage] = [:]
        do throws(MQTTError) {
            try await client.subscribe(to: homeAssistant.birthTopic)
            try await tell(client, &told, book)
            try await client.publish(homeAssistant.availability(true))
            // Not before: only who is connected here can tell whether a former broker is this one by another name. Where that
            // did not show, what is told anew mends it.
            let takingBack = Task { await takeBack(book, beside: client, then: tellAnew) }
            defer { takingBack.cancel() }
            for await step in steps {
                if case .lost(let reason) = step { return reason }
                let isAll = isAnew.withLock { flag in
                    defer { flag = false }
                    return flag
                }
                if isAll { told = [:] }
                try await tell(client, &told, book)
                if isAll { try await client.publish(homeAssistant.availability(true)) }
                try? await Task.sleep(for: Self.gathering)
            }
            return "the connection ended"
        } catch {
            return error.message
        }
    }

    /// Everything that is a reason to look again, until the connection is lost. `tellAnew` is for Home Assistant's start.
    private func feed(
        _ steps: AsyncStream<Step>.Continuation, _ changes: AsyncStream<ChangeKind>,
        _ events: AsyncStream<MQTTEvent>, _ tellAnew: @Sendable () -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in changes { steps.yield(.look) } }
            group.addTask {
                while (try? await Task.sleep(for: Self.interval)) != nil { steps.yield(.look) }
            }
            for await event in events {
                switch event {
                case .message(let topic, let payload):
                    if topic == homeAssistant.birthTopic, payload == "online" { tellAnew() }
                case .lost(let reason): steps.yield(.lost(reason))
                }
            }
            group.cancelAll()
        }
        steps.finish()
    }

    /// Publishes what is not there yet, or is not the same any more, and takes back what should not be there.
    private func tell(
        _ client: MQTTClient, _ told: inout [String: MQTTMessage], _ book: AnnouncementBook
    ) async throws(MQTTError) {
        guard let status = try? await control.status() else { return }
        let messages = homeAssistant.retained(status)
        let topics = Set(messages.map(\.topic) + [homeAssistant.availabilityTopic])
        let before = await book.topics
        if !topics.isSubset(of: before) { await book.note(before.union(topics)) }
        let gone = before.subtracting(topics)
        for topic in gone.sorted() {
            try await client.publish(MQTTMessage(topic, "", isRetained: true))
            told[topic] = nil
        }
        for message in messages where told[message.topic] != message {
            try await client.publish(message)
            told[message.topic] = message
        }
        guard !gone.isEmpty else { return }
        try await client.delivered()
        await book.note(topics)
    }
}

extension MQTTConfiguration {
    /// For one attempt; the password is read anew each time.
    func forClient(_ id: String, will: MQTTMessage?) throws(MQTTError) -> MQTTSettings {
        var client = MQTTSettings(host: host, port: port, clientID: id, will: will)
        (client.username, client.usesTLS, client.caFile) = (username, usesTLS, caFile)
        client.password = try password()
        return client
    }

    /// nil: there is none, and none was named.
    func password() throws(MQTTError) -> String? {
        guard let passwordFile else {
            return try credentialFile.flatMap { file throws(MQTTError) in
                try Self.password(in: file)
            }
        }
        guard let password = try Self.password(in: passwordFile) else {
            throw MQTTError(.invalidSettings, "there is no password of the broker in \(passwordFile)")
        }
        return password
    }

    private static func password(in file: String) throws(MQTTError) -> String? {
        do throws(GatewayError) {
            let text = try LocalConfigurationFiles().text(of: file)
            return text?.split(whereSeparator: \.isNewline).first.map(String.init)
        } catch {
            throw MQTTError(.invalidSettings, "the password of the broker cannot be read")
        }
    }
}

extension BrokerTrouble.Kind {
    fileprivate init(_ code: MQTTError.Code) {
        self =
            switch code {
            case .noLibrary: .libraryAbsent
            case .invalidSettings: .settings
            case .refused: .refused
            case .unreachable, .notConnected: .unreachable
            }
    }
}

/// What this hub is called where others may read it.
enum HubName {
    /// Made from the machine's id, which is nobody's to know (machine-id(5)).
    static func ofThisMachine() -> String {
        let id = SystemTree().word("/etc/machine-id") ?? "unknown"
        return String(SHA256Digest(hashing: Array("celestiad-mqtt \(id)".utf8)).hex.prefix(12))
    }
}
