import Foundation
import Glibc
import TestSupport
import Testing

extension SystemTests {
    /// The daemon and a real broker.
    @Suite struct HomeAssistantTests {
        private func value(_ observer: BrokerObserver, _ suffix: String) -> [String: Any]? {
            let line = observer.all.last { $0.prefix { $0 != " " }.hasSuffix(suffix) }
            let payload = line.map { $0.drop { $0 != " " }.dropFirst() } ?? ""
            return try? JSONSerialization.jsonObject(with: Data(payload.utf8)) as? [String: Any]
        }

        @Test func aBrokerIsToldAsLongAsThereIsOne() async throws {
            let user = (name: "hub", password: "m0squito")
            let broker = try Broker(user: user)
            let folder = TemporaryDirectory()
            let file = folder.path + "/password"
            try Data("m0squito\n".utf8).write(to: URL(fileURLWithPath: file))
            let environment = [
                "CELESTIAD_MQTT_HOST": "127.0.0.1", "CELESTIAD_MQTT_PORT": String(broker.port),
                "CELESTIAD_MQTT_USERNAME": user.name, "CELESTIAD_MQTT_PASSWORD_FILE": file,
            ]
            try await Laboratory.run(
                try Captures("interview", ["one.wav": 100_000]), environment: environment
            ) { lab in
                let observer = try BrokerObserver(broker, user: user)
                try await lab.waitUntil("the hub is there") {
                    observer.all.contains { $0.hasSuffix("/availability online") }
                }
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                let serial = Laboratory.serial()
                try await lab.waitUntil("the recorder's battery") {
                    value(observer, "/\(serial)/state")?["battery"] as? Int == 87
                }
                try await lab.waitUntil("the queue is empty") {
                    let hub = observer.all.last { $0.contains("\"queue_files\"") }
                    return hub?.contains("\"queue_files\":0") == true
                        && hub?.contains("\"problem\":\"OFF\"") == true
                }
                let battery = try #require(value(observer, "_\(serial)/battery/config"))
                #expect(
                    battery["device_class"] as? String == "battery"
                        && battery["unit_of_measurement"] as? String == "%")

                // The broker crashes and has forgotten everything.
                observer.stop()
                broker.stop()
                try await lab.waitUntil("it is noticed") { lab.log().contains("warning: MQTT: ") }
                let next = try Broker(port: broker.port)
                let second = try BrokerObserver(next)
                try await lab.waitUntil("all is told anew") {
                    second.all.contains { $0.hasSuffix("/availability online") }
                        && value(second, "_\(serial)/battery/config") != nil
                        && value(second, "/\(serial)/state") != nil
                }
                // Home Assistant has started, and wants everything once more.
                let before = second.all.count { $0.contains("/battery/config ") }
                try await lab.waitUntil("it is told again") {
                    try next.publish("homeassistant/status", "online")
                    return second.all.count { $0.contains("/battery/config ") } > before
                }
                #expect(try await lab.cli("forget", serial, "--yes").status == 0)
                try await lab.waitUntil("the recorder is taken back") {
                    second.all.contains {
                        $0.hasPrefix("homeassistant/") && $0.hasSuffix("_\(serial)/battery/config ")
                    }
                }
                #expect(!lab.log().contains(user.password))
                #expect(await lab.endDaemon(SIGTERM) == 0)
                try await lab.waitUntil("it says goodbye") {
                    second.all.contains { $0.hasSuffix("/availability offline") }
                }
            }
        }

        /// A broker that cannot be had is told of once, and is nobody's hindrance.
        @Test func withoutABrokerEverythingElseWorks() async throws {
            let broker = try Broker()
            broker.stop()
            let environment = [
                "CELESTIAD_MQTT_HOST": "127.0.0.1", "CELESTIAD_MQTT_PORT": String(broker.port),
            ]
            try await Laboratory.run(environment: environment) { lab in
                try await lab.waitUntil("it is said") {
                    lab.log().contains("warning: MQTT: 127.0.0.1:\(broker.port)")
                }
                #expect(try await lab.cli("status", "--json").output.contains("\"schema_version\":1"))
                #expect(await lab.endDaemon(SIGTERM) == 0)
                #expect(lab.log().components(separatedBy: "MQTT:").count == 2)
            }
        }
    }
}
