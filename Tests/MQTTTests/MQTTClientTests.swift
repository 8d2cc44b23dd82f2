import EventLoop
import Foundation
import MQTT
import TestSupport
import Testing

/// Against a real mosquitto on loopback.
@Suite(.serialized, .timeLimit(.minutes(5))) struct MQTTClientTests {
    private static let will = MQTTMessage("hub/availability", "offline", isRetained: true)

    private func settings(_ port: UInt16) -> MQTTSettings {
        MQTTSettings(host: "127.0.0.1", port: port, clientID: "celestiad-test", will: Self.will)
    }

    private func waitUntil(_ what: String, _ condition: () -> Bool) async throws {
        for _ in 0..<3000 {
            if condition() { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        Issue.record("\(what) did not come")
    }

    private func error(_ settings: MQTTSettings) async -> MQTTError? {
        guard let loop = try? EventLoop.start(name: "mqtt") else { return nil }
        defer { loop.stop() }
        do throws(MQTTError) {
            _ = try await MQTTClient(on: loop).connect(settings)
            return nil
        } catch {
            return error
        }
    }

    @Test func whatIsPublishedIsThereAndTheWillIsMadeKnown() async throws {
        let broker = try Broker()
        let observer = try BrokerObserver(broker)
        let loop = try EventLoop.start(name: "mqtt")
        defer { loop.stop() }
        var client: MQTTClient? = MQTTClient(on: loop)
        _ = try await client?.connect(settings(broker.port))
        try await client?.publish(MQTTMessage("hub/availability", "online", isRetained: true))
        let long = String(repeating: "x", count: 100_000)
        try await client?.publish(MQTTMessage("hub/state", long, isRetained: true))
        try await waitUntil("the state") { observer.last("hub/state") == long }
        #expect(observer.last("hub/availability") == "online")
        // Who comes later is told what was retained.
        let late = try BrokerObserver(broker)
        try await waitUntil("what is retained") { late.last("hub/availability") == "online" }
        // Gone without a word.
        client = nil
        try await waitUntil("the will") { observer.last("hub/availability") == "offline" }
    }

    @Test func whoSaysGoodbyeKeepsItsWill() async throws {
        let broker = try Broker()
        let observer = try BrokerObserver(broker)
        let loop = try EventLoop.start(name: "mqtt")
        defer { loop.stop() }
        let client = MQTTClient(on: loop)
        let events = try await client.connect(settings(broker.port))
        try await client.publish(MQTTMessage("hub/availability", "away", isRetained: true))
        await client.disconnect()
        for await _ in events {}
        try await waitUntil("the last word") { observer.last("hub/availability") == "away" }
        try broker.publish("end", "x")
        try await waitUntil("the end") { observer.last("end") == "x" }
        #expect(!observer.all.contains("hub/availability offline"))
        await #expect(throws: MQTTError.self) { try await client.publish(Self.will) }
    }

    @Test func whatIsDeliveredTheBrokerHas() async throws {
        let broker = try Broker()
        let loop = try EventLoop.start(name: "mqtt")
        defer { loop.stop() }
        let client = MQTTClient(on: loop)
        await #expect(throws: MQTTError.self) { try await client.delivered() }
        var settings = settings(broker.port)
        settings.will = nil
        _ = try await client.connect(settings)
        try await client.delivered()
        // More than the library has under way at a time.
        for index in 0..<200 {
            try await client.publish(MQTTMessage("kept/\(index)", "x", isRetained: true))
        }
        try await client.delivered()
        let observer = try BrokerObserver(broker)
        try await waitUntil("what was kept") { observer.all.count == 200 }
        try await client.publish(MQTTMessage("kept/0", "y"))
        broker.stop()
        // Taken or lost, but never waited for without end.
        _ = try? await client.delivered()
        await #expect(throws: MQTTError.self) { try await client.delivered() }
    }

    @Test func messagesComeAndTheBrokersEndIsTold() async throws {
        let broker = try Broker()
        let loop = try EventLoop.start(name: "mqtt")
        defer { loop.stop() }
        let client = MQTTClient(on: loop)
        var events = try await client.connect(settings(broker.port)).makeAsyncIterator()
        try await client.subscribe(to: "homeassistant/status")
        // Subscribed or not is known by what comes.
        for _ in 0..<100 {
            try broker.publish("homeassistant/status", "online")
            if case .message(let topic, let payload) = await events.next() {
                #expect(topic == "homeassistant/status" && payload == "online")
                break
            }
        }
        broker.stop()
        var last: MQTTEvent?
        while let event = await events.next() { last = event }
        guard case .lost = last else {
            Issue.record("\(String(describing: last))")
            return
        }
        // And there is another one after it.
        let next = try Broker(port: broker.port)
        _ = try await client.connect(settings(next.port))
        try await client.publish(MQTTMessage("a", "b"))
    }

    @Test func onlyTheRightPasswordLetsIn() async throws {
        let user = (name: "hub", password: "s3cret")
        let broker = try Broker(user: user)
        var known = settings(broker.port)
        (known.username, known.password) = user
        #expect(await error(known) == nil)
        var wrong = known
        wrong.password = "guess"
        for settings in [settings(broker.port), wrong] {
            let error = await error(settings)
            #expect(error?.code == .refused)
            #expect(error?.description.contains("guess") == false)
        }
    }

    @Test func theCertificateIsChecked() async throws {
        let authority = try TestAuthority()
        let broker = try Broker(tls: try authority.identity("broker"))
        var trusting = settings(broker.port)
        (trusting.usesTLS, trusting.caFile) = (true, authority.file)
        #expect(await error(trusting) == nil)
        var strange = trusting
        let stranger = try TestAuthority()
        strange.caFile = stranger.file
        #expect(await error(strange)?.code == .unreachable)
        let other = try Broker(tls: try authority.identity("other", for: "IP:127.0.0.2"))
        var misled = trusting
        misled.port = other.port
        #expect(await error(misled)?.code == .unreachable)
        var plain = settings(broker.port)
        plain.usesTLS = false
        #expect(await error(plain)?.code == .unreachable)
    }

    @Test func nobodyThereIsSaid() async throws {
        let broker = try Broker()
        broker.stop()
        let error = await error(settings(broker.port))
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("127.0.0.1:\(broker.port)") == true)
    }
}
