import Control
import FoundationEssentials
import Gateway

/// What is wrong, and the command that mends it: facts in, findings out. Pure.
enum DoctorRules {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let findings =
            configuration(facts) + service(facts) + bus(facts) + bluetoothd(facts) + adapter(facts)
            + rfkill(facts) + autosuspend(facts) + namespace(facts) + clock(facts) + disk(facts)
            + cloud(facts)
            + credentials(facts) + queue(facts) + folder(facts) + mqtt(facts)
        let order = Dictionary(uniqueKeysWithValues: Check.allCases.enumerated().map { ($1, $0) })
        return findings.enumerated()
            .sorted { (order[$0.element.check] ?? 0, $0.offset) < (order[$1.element.check] ?? 0, $1.offset) }
            .map(\.element)
    }

    private static func configuration(_ facts: DoctorFacts) -> [Finding] {
        switch facts.configuration {
        case .found: [Finding(.configuration, .ok, "\(facts.configurationPath) is understood")]
        case .blind(let reason):
            [
                Finding(
                    .configuration, .fail, reason,
                    fix: ["sudoedit \(facts.configurationPath)", "celestiad config check"])
            ]
        }
    }

    /// The commands that add a line to a unit.
    static func dropIn(_ unit: String, _ name: String, _ line: String) -> [String] {
        let folder = "/etc/systemd/system/\(unit).service.d"
        return [
            "sudo mkdir -p \(folder)",
            "printf '[Service]\\n%s\\n' \(Terminal.shellWord(line)) | sudo tee \(folder)/\(name).conf",
            "sudo systemctl daemon-reload", "sudo systemctl restart \(unit)",
        ]
    }
}
