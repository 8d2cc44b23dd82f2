import Control
import Foundation
import MQTT
import Testing

@testable import Gateway
@testable import celestiad

@Suite struct HomeAssistantTests {
    private let home = HomeAssistant(
        discoveryPrefix: "homeassistant", topicPrefix: "celestiad", hub: "0123abcd")

    private func json(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    @Test func everythingThatIsAnnouncedHasAState() throws {
        let states = Dictionary(
            uniqueKeysWithValues: home.states(Fixtures.status).map { ($0.topic, $0.payload) })
        let announcements = home.discovery(Fixtures.status)
        #expect(announcements.count == 6 + 8 * Fixtures.status.recorders.count)
        #expect(Set(announcements.map(\.topic)).count == announcements.count)
        var ids: Set<String> = []
        for message in announcements {
            #expect(message.isRetained)
            let levels = message.topic.split(separator: "/")
            #expect(levels.count == 5 && levels[0] == "homeassistant" && levels[4] == "config")
            #expect(["sensor", "binary_sensor"].contains(levels[1]))
            let config = try json(message.payload)
            ids.insert(try #require(config["unique_id"] as? String))
            #expect(config["availability_topic"] as? String == "celestiad/0123abcd/availability")
            let stateTopic = try #require(config["state_topic"] as? String)
            let payload = try #require(states[stateTopic])
            let state = try json(payload)
            let key = String(levels[3])
            #expect(config["value_template"] as? String == "{{ value_json.get('\(key)') }}")
            if let value = state[key] {
                #expect(value is String || levels[1] == "sensor", "\(key)")
                if levels[1] == "binary_sensor" { #expect(["ON", "OFF"].contains(value as? String)) }
            }
            let device = try #require(config["device"] as? [String: Any])
            #expect((device["identifiers"] as? [String])?.count == 1)
            #expect((config["origin"] as? [String: Any])?["name"] as? String == "celestiad")
        }
        #expect(ids.count == announcements.count)
    }

    @Test func theStatesAreWhatTheStatusSays() throws {
        let states = home.states(Fixtures.status)
        let hub = try json(states[0].payload)
        #expect(hub["queue_files"] as? Int == 3 && hub["queue_bytes"] as? Int == 54_525_952)
        #expect(hub["problem"] as? String == "ON" && hub["problems"] as? String == "cloud_unreachable")
        #expect(states[1].topic == "celestiad/0123abcd/CR1-0042/state")
        let recorder = try json(states[1].payload)
        #expect(recorder["battery"] as? Int == Fixtures.recorder.battery?.percent)
        #expect((recorder["last_sync"] as? String)?.hasSuffix("Z") == true)
        var status = Fixtures.status
        status.health = []
        status.recorders[0].battery = nil
        let bare = home.states(status)
        #expect(try json(bare[0].payload)["problem"] as? String == "OFF")
        #expect(try json(bare[1].payload)["battery"] == nil)
    }

    @Test func aForgottenRecorderIsTakenBack() {
        let topics = Set(home.withdrawal(of: "CR1-0042").map(\.topic))
        let announced = home.discovery(Fixtures.status).map(\.topic).filter { $0.contains("CR1-0042") }
        #expect(topics == Set(announced + ["celestiad/0123abcd/CR1-0042/state"]))
        #expect(home.withdrawal(of: "CR1-0042").allSatisfy { $0.payload.isEmpty && $0.isRetained })
    }

    /// A recorder says its own id.
    @Test func idsAreNoTopics() {
        let ids = [
            "#", "+", "a/b", "a_b", "a b", "ü", "../x", String(repeating: "x", count: 500), "CR1-0042",
        ]
        let slugs = ids.map(HomeAssistant.slug)
        #expect(Set(slugs).count == ids.count)
        #expect(slugs.last == "CR1-0042")
        for slug in slugs {
            #expect(slug.utf8.count < 80)
            #expect(
                slug.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") },
                "\(slug)")
        }
    }

    @Test func prefixesAreTopics() {
        for text in ["celestiad", "home/a-b_c", "x1"] { #expect(MQTTConfiguration.isTopic(text)) }
        for text in ["", "/a", "a/", "a//b", "#", "a+b", "ü", "a b", String(repeating: "a", count: 101)] {
            #expect(!MQTTConfiguration.isTopic(text), "\(text)")
        }
        var configuration = MQTTConfiguration()
        #expect(configuration.port == 1883)
        configuration.usesTLS = true
        #expect(configuration.port == 8883)
        configuration.givenPort = 1
        #expect(configuration.port == 1)
    }
}
