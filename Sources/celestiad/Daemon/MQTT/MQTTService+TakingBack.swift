import Cloud
import EventLoop
import Gateway
import MQTT

/// What was announced at a broker that is not configured any more.
extension MQTTService {
    private static let probing = Duration.seconds(2)

    /// Takes back what former brokers were given, each as soon as it is reached. `main` is the connection to the broker
    /// that is configured; nil: none is. `isDone` is called after each.
    func takeBack(
        _ book: AnnouncementBook, beside main: MQTTClient? = nil, then isDone: @Sendable () -> Void = {}
    ) async {
        guard await !book.formers.isEmpty, let loop = try? EventLoop.start(name: "mqtt-former") else {
            return
        }
        defer { loop.stop() }
        var attempts = RetryState()
        var random = SystemRandomNumberGenerator()
        var told: Set<String> = []
        while true {
            let formers = await book.formers
            for former in formers {
                guard !Task.isCancelled else { return }
                let broker = former.settings.address
                do throws(MQTTError) {
                    try await takeBack(former, book, on: loop, beside: main)
                    guard !Task.isCancelled else { return }
                    await book.forget(former)
                    isDone()
                    log.notice("MQTT: taken back what was announced at \(broker)", .mqttConnected)
                } catch {
                    guard !Task.isCancelled, told.insert(broker).inserted else { continue }
                    let reason = Terminal.printable(error.message)
                    log.warning(
                        "MQTT: what was announced at \(broker) is not taken back yet: \(reason); it is tried again for a week",
                        .mqttFailed)
                }
            }
            await book.giveUp()
            guard await !book.formers.isEmpty else { return }
            guard (try? await Task.sleep(for: attempts.failed(retry, using: &random))) != nil else { return }
        }
    }

    private func takeBack(
        _ former: Announced.Broker, _ book: AnnouncementBook, on loop: EventLoop, beside main: MQTTClient?
    ) async throws(MQTTError) {
        // A name of its own: the broker may be the one that `main` is connected to.
        let client = MQTTClient(on: loop)
        let settings = try former.settings.forClient("celestiad-\(homeAssistant.hub)-former", will: nil)
        guard let events = try await Self.connect(client, settings) else { return }
        let mine = await book.topics
        func empty(_ topics: Set<String>) async throws(MQTTError) {
            for topic in topics.sorted() {
                try await client.publish(MQTTMessage(topic, "", isRetained: true))
            }
        }
        try await empty(former.topics.subtracting(mine))
        let shared = former.topics.intersection(mine)
        if let main, !shared.isEmpty, try await !isSame(client, events, main) { try await empty(shared) }
        try await client.delivered()
        await client.disconnect()
    }

    /// Whether two connections are to one broker, as when it got another name, port or TLS. To take back from it would take
    /// away what was announced anew, and what people have made of it in Home Assistant.
    private func isSame(
        _ client: MQTTClient, _ events: AsyncStream<MQTTEvent>, _ main: MQTTClient
    ) async throws(MQTTError) -> Bool {
        let topic = homeAssistant.probeTopic
        let mark = String(UInt64.random(in: 0 ... .max), radix: 16)
        try await client.subscribe(to: topic)
        // Taken after the subscription, and so the sign that it holds.
        try await client.publish(MQTTMessage(topic, ""))
        try await client.delivered()
        try await main.publish(MQTTMessage(topic, mark))
        try await main.delivered()
        let isSeen = Locked(false)
        await Self.first(
            {
                for await event in events where event == .message(topic: topic, payload: mark) {
                    return isSeen.withLock { $0 = true }
                }
            }, { try? await Task.sleep(for: Self.probing) })
        return isSeen.withLock { $0 }
    }
}
