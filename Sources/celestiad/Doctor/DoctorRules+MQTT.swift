import Control
import Gateway

/// The MQTT broker, where one is configured.
extension DoctorRules {
    static func isOfBroker(_ item: HealthItem) -> Bool { item.code.hasPrefix("mqtt_") }

    static func mqtt(_ facts: DoctorFacts) -> [Finding] {
        let settings = facts.configuration.value?.mqtt
        var findings: [Finding] = []
        if let exposure = settings?.exposure(hasPassword: settings?.passwordFile != nil) {
            findings.append(Finding(.mqtt, .warn, exposure, advice: MQTTConfiguration.exposureHint))
        }
        guard case .success(let status) = facts.daemon.status else {
            guard let settings, !settings.host.isEmpty else { return findings }
            return findings + [
                Finding(
                    .mqtt, .skipped,
                    "whether the MQTT broker \(settings.address) is reached is the daemon's to say: \(facts.daemon.silence)"
                )
            ]
        }
        let items = status.health.filter(isOfBroker)
        findings += items.map { item in
            guard item.code != "mqtt_library_absent" else {
                return Finding(.mqtt, .warn, item.text, fix: ["sudo apt-get install libmosquitto1"])
            }
            let key = item.code == "mqtt_refused" ? "Username" : "Host"
            return Finding(
                .mqtt, .warn, item.text, advice: item.hint, fix: change("MQTT", key, facts, by: "reload"))
        }
        if findings.isEmpty, let settings, !settings.host.isEmpty {
            findings.append(Finding(.mqtt, .ok, "the MQTT broker \(settings.address) is connected"))
        }
        return findings
    }
}
