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
        let retained = home.retained(Fixtures.status)
        let states = Dictionary(uniqueKeysWithValues: retained.map { ($0.topic, $0.payload) })
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
            #expect(config["availability_mode"] as? String == "all")
            let topics = try #require(config["availability"] as? [[String: String]]).map { $0["topic"] }
            let isMeasured = ["battery", "storage_free"].contains(levels[3])
            #expect(
                topics == ["celestiad/0123abcd/availability"]
                    + (isMeasured ? ["celestiad/0123abcd/CR1-0042/availability"] : []))
            #expect(topics.dropFirst().allSatisfy { states[$0 ?? ""] == "online" })
            // Home Assistant from 2026.4 on takes no announcement with object_id.
            #expect(config["object_id"] == nil)
            let entity = try #require(config["default_entity_id"] as? String)
            #expect(entity.hasPrefix("\(levels[1]).celestiad_0123abcd") && entity == entity.lowercased())
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

    /// A recorder that sleeps for a day is as it was; what was read before that is not shown as if it were so now.
    @Test(
        arguments: [
            (nil, nil, "online"), (60, 60, "online"), (24 * 3600, nil, "online"), (26 * 3600, nil, "offline"),
            (26 * 3600, 3600, "online"), (26 * 3600, 30 * 3600, "offline"), (-3600, nil, "online"),
        ] as [(Int?, Int?, String)])
    func whatIsOldIsUnavailable(_ battery: Int?, _ storage: Int?, _ word: String) throws {
        var status = Fixtures.status
        status.recorders[0].battery = battery.map {
            BatteryDocument(percent: 81, measuredAt: Fixtures.ago($0))
        }
        status.recorders[0].storage = storage.map {
            StorageDocument(totalBytes: 2, freeBytes: 1, measuredAt: Fixtures.ago($0))
        }
        let message = home.retained(status).first { $0.topic.hasSuffix("/CR1-0042/availability") }
        #expect(message?.payload == word && message?.isRetained == true)
        // Its value is still told, with its time, for whoever wants it.
        let state = try json(try #require(home.states(status).last).payload)
        #expect(state["battery"] as? Int == battery.map { _ in 81 })
        #expect((state["battery_measured_at"] != nil) == (battery != nil))
    }

    @Test func thePasswordInTheClearIsSeen() {
        func exposure(
            _ host: String, tls: Bool = false, user: String? = "hub", hasPassword: Bool = true
        ) -> String? {
            var configuration = MQTTConfiguration()
            (configuration.host, configuration.usesTLS, configuration.username) = (host, tls, user)
            return configuration.exposure(hasPassword: hasPassword)
        }
        for host in ["homeassistant.local", "192.168.1.2", "128.0.0.1", "127.evil.example", "fe80::1"] {
            #expect(exposure(host)?.contains(host) == true, "\(host)")
            #expect(exposure(host, tls: true) == nil)
            #expect(exposure(host, user: nil) == nil)
            #expect(exposure(host, hasPassword: false) == nil)
        }
        for host in ["", "localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1"] {
            #expect(exposure(host) == nil, "\(host)")
        }
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
