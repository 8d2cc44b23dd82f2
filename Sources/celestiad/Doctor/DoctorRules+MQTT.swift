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
            let fix = fix(item, settings, facts.configurationPath)
            return Finding(.mqtt, .warn, item.text, advice: fix.isEmpty ? item.hint : nil, fix: fix)
        }
        if findings.isEmpty, let settings, !settings.host.isEmpty {
            findings.append(Finding(.mqtt, .ok, "the MQTT broker \(settings.address) is connected"))
        }
        return findings
    }

    private static func fix(
        _ item: HealthItem, _ settings: MQTTConfiguration?, _ path: String
    ) -> [String] {
        switch item.code {
        case "mqtt_library_absent": ["sudo apt-get install libmosquitto1"]
        case "mqtt_unreachable":
            settings.map { ["nc -vz \(Terminal.shellWord($0.host)) \($0.port)"] } ?? []
        default: ["sudoedit \(path)", "sudo systemctl reload celestiad"]
        }
    }
}
