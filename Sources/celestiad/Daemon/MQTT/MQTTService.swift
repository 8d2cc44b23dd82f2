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
        if !settings.host.isEmpty { await keepConnected() }
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(1 << 30)) }
    }

    private func keepConnected() async {
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
        while !Task.isCancelled {
            let reason: String
            switch await attempt(client) {
            case .success(let lost):
                attempts.progressed()
                isTold = false
                reason = lost
            case .failure(let error): reason = error.message
            }
            guard !Task.isCancelled else { break }
            if !isTold { log.warning("MQTT: \(Terminal.printable(reason)); it is tried again", .mqttFailed) }
            isTold = true
            try? await Task.sleep(for: attempts.failed(retry, using: &random))
        }
    }

    /// One connection, from its beginning to its end; why it ended.
    private func attempt(_ client: MQTTClient) async -> Result<String, MQTTError> {
        do throws(MQTTError) {
            // The connecting blocks its loop and cannot be ended: a stop leaves it behind.
            let connecting = Task { () -> Result<AsyncStream<MQTTEvent>, MQTTError> in
                do throws(MQTTError) {
                    return .success(try await client.connect(try settings.forClient(homeAssistant)))
                } catch {
                    return .failure(error)
                }
            }
            guard let connected = await Self.unlessCancelled(connecting) else { return .success("stopped") }
            let events = try connected.get()
            log.notice("MQTT: connected to \(settings.host):\(settings.port)", .mqttConnected)
            let reason = await follow(client, events)
            if Task.isCancelled { await leave(client) }
            return .success(reason)
        } catch {
            return .failure(error)
        }
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

    private static func first(
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
        case everything
        case lost(String)
    }

    private func follow(_ client: MQTTClient, _ events: AsyncStream<MQTTEvent>) async -> String {
        let changes = await control.changes()
        let (steps, continuation) = AsyncStream.makeStream(
            of: Step.self, bufferingPolicy: .bufferingNewest(4))
        let feeder = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for await _ in changes { continuation.yield(.look) } }
                group.addTask {
                    while (try? await Task.sleep(for: Self.interval)) != nil { continuation.yield(.look) }
                }
                for await event in events {
                    switch event {
                    case .message(let topic, let payload):
                        if topic == homeAssistant.birthTopic, payload == "online" {
                            continuation.yield(.everything)
                        }
                    case .lost(let reason): continuation.yield(.lost(reason))
                    }
                }
                group.cancelAll()
            }
            continuation.finish()
        }
        defer { feeder.cancel() }
        var told = Told()
        do throws(MQTTError) {
            try await client.subscribe(to: homeAssistant.birthTopic)
            try await tell(client, &told)
            try await client.publish(homeAssistant.availability(true))
            for await step in steps {
                switch step {
                case .lost(let reason): return reason
                case .everything: told = Told(recorders: told.recorders)
                case .look: break
                }
                try await tell(client, &told)
                if case .everything = step { try await client.publish(homeAssistant.availability(true)) }
                try? await Task.sleep(for: Self.gathering)
            }
            return "the connection ended"
        } catch {
            return error.message
        }
    }

    /// What the broker has.
    private struct Told {
        var messages: [String: MQTTMessage] = [:]
        var recorders: Set<String> = []
    }

    /// Publishes what is not there yet, or is not the same any more.
    private func tell(_ client: MQTTClient, _ told: inout Told) async throws(MQTTError) {
        guard let status = try? await control.status() else { return }
        let recorders = Set(status.recorders.map(\.id))
        var messages = told.recorders.subtracting(recorders).sorted().flatMap(homeAssistant.withdrawal)
        messages += homeAssistant.discovery(status) + homeAssistant.states(status)
        for message in messages where told.messages[message.topic] != message {
            try await client.publish(message)
            told.messages[message.topic] = message
        }
        told.recorders = recorders
    }
}

extension MQTTConfiguration {
    /// For one attempt; the password is read anew each time.
    fileprivate func forClient(_ homeAssistant: HomeAssistant) throws(MQTTError) -> MQTTSettings {
        var client = MQTTSettings(
            host: host, port: port, clientID: "celestiad-\(homeAssistant.hub)",
            will: homeAssistant.availability(false))
        (client.username, client.usesTLS, client.caFile) = (username, usesTLS, caFile)
        if let passwordFile {
            guard let password = try Self.password(in: passwordFile) else {
                throw MQTTError(.invalidSettings, "there is no password of the broker in \(passwordFile)")
            }
            client.password = password
        } else if let credentialFile {
            client.password = try Self.password(in: credentialFile)
        }
        return client
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

/// What this hub is called where others may read it.
enum HubName {
    /// Made from the machine's id, which is nobody's to know (machine-id(5)).
    static func ofThisMachine() -> String {
        let id = SystemTree().word("/etc/machine-id") ?? "unknown"
        return String(SHA256Digest(hashing: Array("celestiad-mqtt \(id)".utf8)).hex.prefix(12))
    }
}
