import Control
import FoundationEssentials
import Gateway

/// What is wrong, and the command that mends it: facts in, findings out. Pure.
enum DoctorRules {
    static func findings(_ facts: DoctorFacts) -> [Finding] {
        let all =
            configuration(facts) + service(facts) + bus(facts) + bluetoothd(facts) + adapter(facts)
            + rfkill(facts) + autosuspend(facts) + namespace(facts) + clock(facts) + disk(facts)
            + cloud(facts) + credentials(facts) + queue(facts) + folder(facts) + mqtt(facts)
        let findings = all.map { inContainer($0, facts) }
        let order = Dictionary(uniqueKeysWithValues: Check.allCases.enumerated().map { ($1, $0) })
        return findings.enumerated()
            .sorted { (order[$0.element.check] ?? 0, $0.offset) < (order[$1.element.check] ?? 0, $1.offset) }
            .map(\.element)
    }

    /// What is the host's to change, from within a container.
    private static func inContainer(_ finding: Finding, _ facts: DoctorFacts) -> Finding {
        let hosts: [Check] = [.bluetoothd, .adapter, .rfkill, .autosuspend, .clock]
        guard facts.radio.value?.container != nil, hosts.contains(finding.check), finding.fix != nil else {
            return finding
        }
        var finding = finding
        let advice = finding.advice.map { ($0.last == ":" ? String($0.dropLast()) : $0) + "; " } ?? ""
        finding.advice = advice + "on the host, not in this container:"
        return finding
    }

    private static func configuration(_ facts: DoctorFacts) -> [Finding] {
        switch facts.configuration {
        case .found:
            let files = facts.settings.reduce(into: [String]()) { files, setting in
                guard let file = file(in: setting.origin), !files.contains(file) else { return }
                files.append(file)
            }
            guard !files.isEmpty else {
                return [Finding(.configuration, .ok, "no file sets anything: everything has its default")]
            }
            let names = files.sorted().joined(separator: " and ")
            return [Finding(.configuration, .ok, "\(names) \(files.count == 1 ? "is" : "are") understood")]
        case .blind(let reason):
            return [
                Finding(
                    .configuration, .fail, reason, fix: [edit(reason, facts), "celestiad config check"])
            ]
        }
    }

    /// The file that a place such as `/etc/celestiad/celestiad.conf:12` names, also with a text behind it.
    private static func file(in place: String?) -> String? {
        guard let place, place.first == "/" else { return nil }
        let parts = place.split(separator: ":", omittingEmptySubsequences: false)
        guard let number = parts.firstIndex(where: { Int($0) != nil }) else { return nil }
        return parts[..<number].joined(separator: ":")
    }

    /// The command to change what stands in a place: a file, or else the service's environment.
    private static func edit(_ place: String?, _ facts: DoctorFacts) -> String {
        if place?.hasPrefix("CELESTIAD_") == true { return "sudo systemctl edit celestiad" }
        return "sudoedit \(Terminal.shellWord(file(in: place) ?? facts.configurationPath))"
    }

    /// The commands to change a key where it was set, and to let it count.
    static func change(
        _ section: String, _ name: String, _ facts: DoctorFacts, by verb: String = "restart"
    ) -> [String] {
        let setting = facts.settings.first { $0.section == section && $0.name == name }
        return [edit(setting?.origin, facts), "sudo systemctl \(verb) celestiad"]
    }

    /// The commands that add lines to a unit.
    static func dropIn(_ unit: String, _ name: String, _ lines: String...) -> [String] {
        let folder = "/etc/systemd/system/\(unit).service.d"
        return [
            "sudo mkdir -p \(folder)",
            "printf '[Service]\\n%s\\n' \(lines.map { Terminal.shellWord($0) }.joined(separator: " ")) | sudo tee \(folder)/\(name).conf",
            "sudo systemctl daemon-reload", "sudo systemctl restart \(unit)",
        ]
    }
}
