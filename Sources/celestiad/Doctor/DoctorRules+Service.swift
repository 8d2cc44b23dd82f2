import Control
import Gateway

/// The service, the way to it, and what it says of itself.
extension DoctorRules {
    // MARK: Service

    static func service(_ facts: DoctorFacts) -> [Finding] {
        guard case .found(let unit) = facts.service else {
            guard case .blind(let reason) = facts.service else { return [] }
            return [running(facts, " (systemd: \(reason))")] + versions(facts)
        }
        switch unit.load {
        case "not-found":
            guard !facts.daemon.isRunning else {
                return [running(facts, ", outside systemd")] + versions(facts)
            }
            return [
                Finding(
                    .service, .fail, "celestiad is not running, and systemd has no celestiad.service",
                    fix: ["sudo systemctl daemon-reload", "sudo systemctl enable --now celestiad"])
            ]
        case "masked":
            return [
                Finding(
                    .service, .fail, "celestiad.service is masked",
                    fix: ["sudo systemctl unmask celestiad", "sudo systemctl enable --now celestiad"])
            ]
        default: break
        }
        return [state(unit, facts)] + care(unit) + versions(facts)
    }

    private static func running(_ facts: DoctorFacts, _ detail: String) -> Finding {
        guard facts.daemon.isRunning else {
            guard facts.bus.trouble == nil else {
                return Finding(
                    .service, .skipped, "without a message bus it cannot be told whether celestiad runs")
            }
            guard facts.radio.value?.container == nil else {
                return Finding(
                    .service, .fail, "celestiad is not running\(detail)",
                    advice: "it is to be the container's command: celestiad run")
            }
            return Finding(
                .service, .fail, "celestiad is not running\(detail)", fix: ["sudo systemctl start celestiad"])
        }
        return Finding(.service, .ok, "the daemon runs\(detail)")
    }

    private static func state(_ unit: UnitFacts, _ facts: DoctorFacts) -> Finding {
        if unit.active == "failed" || unit.sub == "auto-restart" {
            let often = unit.restarts > 0 ? ", after \(Units.count(unit.restarts, "start")) in a row" : ""
            // Its exit status for a command line or a configuration that is wrong.
            if unit.exitStatus == Int(ExitCode.usage.rawValue) {
                return Finding(
                    .service, .fail,
                    "celestiad.service does not start: its configuration is not understood\(often)",
                    fix: ["celestiad config check", "sudo systemctl restart celestiad"])
            }
            return Finding(
                .service, .fail,
                "celestiad.service has failed (\(unit.result), exit status \(unit.exitStatus))\(often)",
                fix: ["sudo journalctl -u celestiad -n 50", "sudo systemctl restart celestiad"])
        }
        guard ["active", "reloading", "activating"].contains(unit.active) else {
            return Finding(
                .service, .fail, "celestiad.service is \(unit.active)",
                fix: ["sudo systemctl start celestiad"])
        }
        if unit.active == "activating" {
            return Finding(
                .service, .warn,
                "celestiad.service is starting; a queue that was not closed is checked first",
                fix: ["sudo journalctl -f -u celestiad"])
        }
        if !facts.daemon.isRunning, facts.bus.trouble == nil {
            return Finding(
                .service, .fail, "celestiad.service is active, but not on the message bus",
                fix: ["sudo systemctl restart celestiad"])
        }
        let dropIns = unit.dropIns.isEmpty ? "" : "; changed by \(unit.dropIns.joined(separator: ", "))"
        return Finding(.service, .ok, "celestiad.service is active\(dropIns)")
    }

    /// Starts in one boot that are more than an accident.
    private static let manyRestarts = 3

    private static func care(_ unit: UnitFacts) -> [Finding] {
        var findings: [Finding] = []
        if unit.active == "active", unit.restarts >= manyRestarts {
            findings.append(
                Finding(
                    .service, .warn, "celestiad.service was started anew \(unit.restarts) times",
                    fix: ["sudo journalctl -u celestiad -p warning -n 100"]))
        }
        if unit.file == "disabled" {
            findings.append(
                Finding(
                    .service, .warn, "celestiad.service is not started at boot",
                    fix: ["sudo systemctl enable celestiad"]))
        }
        if unit.needsReload {
            findings.append(
                Finding(
                    .service, .warn, "celestiad.service was changed and systemd has not read it again",
                    fix: ["sudo systemctl daemon-reload", "sudo systemctl restart celestiad"]))
        }
        return findings
    }

    private static func versions(_ facts: DoctorFacts) -> [Finding] {
        guard case .success(let status) = facts.daemon.status, status.daemon.version != facts.program else {
            return []
        }
        return [
            Finding(
                .service, .warn, "celestiad \(status.daemon.version) runs, and \(facts.program) is installed",
                fix: ["sudo systemctl restart celestiad"])
        ]
    }

    // MARK: Bus

    static func bus(_ facts: DoctorFacts) -> [Finding] {
        if let trouble = facts.bus.trouble {
            return [
                Finding(
                    .dbus, .fail, trouble,
                    advice: facts.bus.isSystemBus
                        ? nil
                        : "name the bus that celestiad is on: --bus ADDRESS, CELESTIAD_BUS or [Bus] Address",
                    fix: facts.bus.isSystemBus ? ["sudo systemctl start dbus"] : [])
            ]
        }
        var findings: [Finding] = []
        if case .failure(let error) = facts.daemon.status, error.code == .notAuthorized {
            let isCommand = error.hint?.hasPrefix("sudo ") == true
            findings.append(
                Finding(
                    .dbus, .fail, error.message, advice: isCommand ? nil : error.hint,
                    fix: isCommand ? [error.hint ?? ""] : []))
        } else if facts.bus.isSystemBus, !facts.bus.hasPolicy, !facts.daemon.isRunning {
            findings.append(
                Finding(
                    .dbus, .fail,
                    "the bus does not let the daemon have its name: life.ccdw.Celestia1.conf is not in "
                        + "/usr/share/dbus-1/system.d",
                    advice: "install the package again, where its file is:",
                    fix: [
                        "sudo apt install --reinstall ./celestiad_\(Version.number)_$(dpkg --print-architecture).deb",
                        "sudo systemctl reload dbus",
                    ]))
        }
        if findings.isEmpty {
            findings.append(
                Finding(
                    .dbus, .ok,
                    facts.daemon.isRunning
                        ? "the message bus works, and you may use celestiad" : "the message bus works"))
        }
        return findings
    }

    // MARK: What the daemon says of itself

    /// Said by checks of their own.
    private static let told =
        HealthItem.bluetoothTroubles + [
            "logged_out", "login_elsewhere", "login_expired", "disk_low", "folder_closed",
        ]

    static func queue(_ facts: DoctorFacts) -> [Finding] {
        guard case .success(let status) = facts.daemon.status else {
            return [
                Finding(.queue, .skipped, "what is queued is the daemon's to say: \(facts.daemon.silence)")
            ]
        }
        let items = status.health.filter {
            !told.contains($0.code) && !isOfBroker($0) && $0.severity != "info"
        }
        var findings = items.map { item in
            let command = item.hint.flatMap(command)
            return Finding(
                isOfRecorder(item) ? .recorders : .queue, item.severity == "error" ? .fail : .warn, item.text,
                advice: item.hint == command ? nil : item.hint, fix: command.map { [$0] } ?? [])
        }
        if case .success(let report) = facts.daemon.storage, report.state != "ok",
            !items.contains(where: { $0.code == "queue_degraded" })
        {
            findings.append(
                Finding(
                    .queue, .warn, "the queue is \(Words.plain(report.state))", fix: ["celestiad storage"]))
        }
        if !findings.contains(where: { $0.check == .queue }) {
            let files = Units.count(status.queue.pendingAssets, "file")
            findings.append(
                Finding(
                    .queue, .ok,
                    status.queue.pendingAssets == 0
                        ? "nothing waits, and nothing is damaged" : "\(files) to upload, and nothing is held")
            )
        }
        if !findings.contains(where: { $0.check == .recorders }) {
            findings.append(
                status.recorders.isEmpty
                    ? Finding(.recorders, .warn, "no recorder is paired", fix: ["celestiad pair"])
                    : Finding(.recorders, .ok, "\(Units.count(status.recorders.count, "recorder")) paired"))
        }
        return findings
    }

    /// What follows a command where a hint goes on about it.
    private static let prose: Set<Substring> = [
        "says", "shows", "lists", "tries", "makes", "which", "and", "or", "once",
    ]

    /// The first command of celestiad's in a hint.
    private static func command(in hint: String) -> String? {
        guard let start = hint.firstRange(of: "celestiad ")?.lowerBound else { return nil }
        var words: [Substring] = []
        for word in hint[start...].split(separator: " ") {
            if prose.contains(word) { break }
            words.append(word.last.map { ",;:.".contains($0) } == true ? word.dropLast() : word)
            if words.last != word { break }
        }
        return words.count > 1 ? words.joined(separator: " ") : nil
    }

    private static func isOfRecorder(_ item: HealthItem) -> Bool {
        item.code.hasPrefix("recorder_") || item.code == "battery_low"
    }

    // MARK: The watched folder

    static func folder(_ facts: DoctorFacts) -> [Finding] {
        switch facts.folder {
        case nil: return []
        case .blind(let reason): return [Finding(.folder, .skipped, reason)]
        case .found(let folder):
            if let hidden = hidden(folder, facts.service.value) { return [hidden] }
            switch folder.place {
            case .absent:
                return [
                    Finding(
                        .folder, .fail,
                        "the watched folder \(folder.path) is not there, or its disk is not mounted",
                        advice: "mount its disk, if it is to be on one of its own; else:",
                        fix: ["sudo mkdir -p \(Terminal.shellWord(folder.path))"])
                ]
            case .noFolder:
                return [
                    Finding(
                        .folder, .fail, "\(folder.path) is to be watched and is no folder",
                        fix: change("Import", "WatchedFolder", facts))
                ]
            case .folder(let isReadable):
                return [readability(folder, isReadable, facts)]
            }
        }
    }

    private static func readability(
        _ folder: FolderFacts, _ isReadable: Bool?, _ facts: DoctorFacts
    ) -> Finding {
        let trouble: HealthItem?
        if case .success(let status) = facts.daemon.status {
            trouble = status.health.first { $0.code == "folder_closed" }
            // It has tried; modes and access lists only say how it might go.
            guard trouble != nil else {
                return Finding(.folder, .ok, "the watched folder \(folder.path) is read")
            }
        } else {
            trouble = nil
        }
        guard isReadable == false || trouble != nil else {
            return Finding(
                .folder, isReadable == nil ? .skipped : .ok,
                isReadable == nil
                    ? "whether \(folder.userName) may read the watched folder \(folder.path) is the daemon's to say"
                    : "\(folder.userName) may read the watched folder \(folder.path)")
        }
        return Finding(
            .folder, .fail,
            trouble?.text ?? "\(folder.userName) may not read the watched folder \(folder.path)",
            fix: access(folder, facts))
    }

    /// Lets the daemon read what is there and what will come, without a change for anybody else.
    private static func access(_ folder: FolderFacts, _ facts: DoctorFacts) -> [String] {
        let path = Terminal.shellWord(folder.path)
        let entry = "u:\(folder.userName):rX"
        let above = folder.closed.map { "sudo setfacl -m u:\(folder.userName):x \(Terminal.shellWord($0))" }
        return (facts.tools.hasACLs ? [] : ["sudo apt-get install acl"])
            + above + ["sudo setfacl -R -m \(entry),d:\(entry) \(path)"]
    }

    /// What the unit's sandbox keeps from the daemon.
    private static func hidden(_ folder: FolderFacts, _ unit: UnitFacts?) -> Finding? {
        guard let unit, unit.load == "loaded" else { return nil }
        func lies(in places: [String]) -> Bool {
            places.contains { folder.path == $0 || folder.path.hasPrefix($0 + "/") }
        }
        // Below what is inaccessible nothing can be shown; below an empty file system it can.
        let isInaccessible = unit.protectHome == "yes" && lies(in: homes)
        let isEmpty =
            unit.protectHome == "tmpfs" && lies(in: homes)
            || unit.hidesTemporary && lies(in: ["/tmp", "/var/tmp"])
        guard isInaccessible || isEmpty && !lies(in: unit.shown) else { return nil }
        let show = "BindReadOnlyPaths=\(unitWord(folder.path))"
        return Finding(
            .folder, .fail, "the service's sandbox hides the watched folder \(folder.path)",
            fix: isInaccessible
                ? dropIn("celestiad", "folder", "ProtectHome=tmpfs", show)
                : dropIn("celestiad", "folder", show))
    }

    /// What ProtectHome= is about (systemd.exec(5)).
    private static let homes = ["/home", "/root", "/run/user"]

    /// A word of a unit file (systemd.syntax(7), systemd.unit(5) on specifiers).
    private static func unitWord(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy { byte in
            byte >= 0x80 || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte
                || UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte
                || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "/._-+@".utf8.contains(byte)
        }
        guard !isPlain else { return text }
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing(
            "%", with: "%%")
        return "\"\(escaped)\""
    }
}
