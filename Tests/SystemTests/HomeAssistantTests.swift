import Control
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
                #expect(observer.all.contains { $0.hasSuffix("/\(serial)/availability online") })
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
                try await lab.waitForHealth("mqtt_unreachable")
                let status = try await lab.cli("status")
                #expect(status.status == 14 && status.output.contains("Home Assistant is told nothing"))
                let doctor = try await lab.cli("doctor")
                #expect(doctor.output.contains("sudo systemctl reload celestiad"), "\(doctor)")
                #expect(await lab.endDaemon(SIGTERM) == 0)
                #expect(lab.log().components(separatedBy: "MQTT:").count == 2)
                // It comes.
                let next = try Broker(port: broker.port)
                try await lab.startDaemon()
                try await lab.waitForStatus("all is well with the broker") { status in
                    !status.health.contains { $0.code.hasPrefix("mqtt_") }
                }
                try await lab.waitUntil("it is told") { try await !kept(lab, next).isEmpty }
            }
        }

        @Test func aRefusedLoginIsSaid() async throws {
            let broker = try Broker(user: (name: "hub", password: "m0squito"))
            let environment = [
                "CELESTIAD_MQTT_HOST": "127.0.0.1", "CELESTIAD_MQTT_PORT": String(broker.port),
            ]
            try await Laboratory.run(environment: environment) { lab in
                try await lab.waitForHealth("mqtt_refused")
                #expect(try await lab.cli("status").output.contains("does not let the hub in"))
            }
        }

        // MARK: Taking back

        /// What a broker keeps, by its topics.
        private func kept(_ lab: Laboratory, _ broker: Broker) async throws -> [String: String] {
            let observer = try BrokerObserver(broker)
            try await lab.waitUntil("the observer is there") {
                try broker.publish("end", "x")
                return observer.last("end") != nil
            }
            let lines = observer.all.filter { !$0.hasPrefix("end ") }.map {
                $0.split(separator: " ", maxSplits: 1)
            }
            observer.stop()
            return Dictionary(
                lines.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") }, uniquingKeysWith: { $1 })
        }

        private func waitUntilKept(
            _ lab: Laboratory, _ broker: Broker, by prefixes: Set<String>, with serial: Bool
        ) async throws {
            try await lab.waitUntil("kept is what is below \(prefixes)") {
                let topics = try await kept(lab, broker).keys
                let name = Laboratory.serial()
                return Set(topics.map { String($0.prefix { $0 != "/" }) }) == prefixes
                    && topics.contains { $0.contains("_\(name)/battery/config") } == serial
                    && topics.contains { $0.contains("/\(name)/state") } == serial
            }
        }

        private func configure(
            _ lab: Laboratory, _ port: UInt16?, _ lines: String = "", host: String = "127.0.0.1"
        ) throws {
            let text = port.map { "[MQTT]\nHost=\(host)\nPort=\($0)\n\(lines)\n" } ?? "# none\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: lab.folder.path + "/celestiad.conf"))
        }

        @Test func whatIsNotMeantAnyMoreIsTakenBack() async throws {
            let (broker, gone) = (try Broker(), try Broker())
            gone.stop()
            try await Laboratory.run(try Captures("interview", ["one.wav": 1000])) { lab in
                try await lab.pair()
                try configure(lab, broker.port)
                lab.signalDaemon(SIGHUP)
                try await waitUntilKept(lab, broker, by: ["homeassistant", "celestiad"], with: true)
                // Other prefixes, by a reload and by a restart.
                try configure(lab, broker.port, "DiscoveryPrefix=ha\nTopicPrefix=hub")
                lab.signalDaemon(SIGHUP)
                try await waitUntilKept(lab, broker, by: ["ha", "hub"], with: true)
                #expect(await lab.endDaemon(SIGKILL) != 0)
                try configure(lab, broker.port, "DiscoveryPrefix=ha\nTopicPrefix=other")
                try await lab.startDaemon()
                try await waitUntilKept(lab, broker, by: ["ha", "other"], with: true)
                // Forgotten while the broker is not the one that is configured.
                try configure(lab, gone.port)
                #expect(await lab.endDaemon(SIGTERM) == 0)
                try await lab.startDaemon()
                #expect(try await lab.cli("forget", Laboratory.serial(), "--yes").status == 0)
                #expect(await lab.endDaemon(SIGTERM) == 0)
                try configure(lab, broker.port)
                try await lab.startDaemon()
                try await waitUntilKept(lab, broker, by: ["homeassistant", "celestiad"], with: false)
                // None any more, by a reload and by a restart.
                try configure(lab, nil)
                lab.signalDaemon(SIGHUP)
                try await waitUntilKept(lab, broker, by: [], with: false)
                try configure(lab, broker.port)
                lab.signalDaemon(SIGHUP)
                try await waitUntilKept(lab, broker, by: ["homeassistant", "celestiad"], with: false)
                #expect(await lab.endDaemon(SIGTERM) == 0)
                try configure(lab, nil)
                try await lab.startDaemon()
                try await waitUntilKept(lab, broker, by: [], with: false)
                #expect(try await lab.cli("status").output.contains("Home Assistant") == false)
            }
        }

        @Test func anotherBrokerIsToldApartFromAnotherName() async throws {
            let (first, second) = (try Broker(), try Broker())
            try await Laboratory.run(try Captures("interview", ["one.wav": 1000])) { lab in
                try await lab.pair()
                try configure(lab, first.port)
                lab.signalDaemon(SIGHUP)
                try await waitUntilKept(lab, first, by: ["homeassistant", "celestiad"], with: true)
                try configure(lab, second.port)
                lab.signalDaemon(SIGHUP)
                try await waitUntilKept(lab, second, by: ["homeassistant", "celestiad"], with: true)
                try await waitUntilKept(lab, first, by: [], with: false)
                // The same one, by another name: nothing that people see in Home Assistant goes for a moment.
                let observer = try BrokerObserver(second)
                try await lab.waitUntil("the observer is there") { !observer.all.isEmpty }
                try configure(lab, second.port, host: "localhost")
                lab.signalDaemon(SIGHUP)
                let answer = "taken back what was announced at 127.0.0.1:\(second.port)"
                try await lab.waitUntil(answer) { lab.log().contains(answer) }
                #expect(!observer.all.contains { $0.hasPrefix("homeassistant/") && $0.hasSuffix("/config ") })
                try await waitUntilKept(lab, second, by: ["homeassistant", "celestiad"], with: true)
            }
        }
    }
}
