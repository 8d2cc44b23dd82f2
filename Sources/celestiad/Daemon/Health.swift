import CaptureQueue
import Control
import FoundationEssentials
import Gateway

/// What is wrong, and what to do about it. Pure.
enum Health {
    private static let lowBatteryPercent = 15
    private static let lowStoragePercent: Int64 = 10

    /// Worst first.
    static func items(
        account: AccountDocument, adapterTrouble: AdapterTrouble?, recorders: [RecorderDocument],
        counts: QueueCounts, waits: [WaitDocument] = [], uploads: UploadStatus, disk: DiskDocument?,
        troubles: QueueTroubles = QueueTroubles(), broker: BrokerTrouble? = nil,
        folder: FolderTrouble? = nil, now: Date
    ) -> [HealthItem] {
        var items =
            bluetooth(adapterTrouble) + self.account(account) + self.uploads(uploads)
            + queue(counts)
        items += waits.map { HealthItem($0, now: now) }
        for recorder in recorders { items += self.recorder(recorder) }
        items += database(troubles.setAside) + files(troubles)
        items += space(troubles, disk)
        if let broker { items.append(self.broker(broker)) }
        if let folder { items.append(self.folder(folder)) }
        let order = ["error": 0, "warning": 1]
        return items.enumerated()
            .sorted {
                (order[$0.element.severity, default: 2], $0.offset) < (
                    order[$1.element.severity, default: 2], $1.offset
                )
            }
            .map(\.element)
    }

    private static func bluetooth(_ trouble: AdapterTrouble?) -> [HealthItem] {
        guard let trouble else { return [] }
        let code =
            switch trouble {
            case .bluetoothdAbsent: "bluetoothd_absent"
            case .absent: "adapter_absent"
            case .off: "adapter_off"
            case .blocked: "adapter_blocked"
            }
        return [HealthItem(code: code, severity: "error", text: trouble.text, hint: trouble.hint)]
    }

    private static func account(_ account: AccountDocument) -> [HealthItem] {
        switch account.state {
        case "logged_in": []
        case "logged_out":
            [
                HealthItem(
                    code: "logged_out", severity: "warning",
                    text: "not logged in: files are kept here and not uploaded", hint: "celestiad login")
            ]
        case "other_host":
            [
                HealthItem(
                    code: "login_elsewhere", severity: "error",
                    text: "the login is for another address than the one that is configured",
                    hint: account.action)
            ]
        default:
            [
                HealthItem(
                    code: "login_expired", severity: "error", text: "the login is not valid any more",
                    hint: account.action)
            ]
        }
    }

    /// Why nothing goes to the cloud, where it is not for want of a login.
    private static func uploads(_ status: UploadStatus) -> [HealthItem] {
        guard let reason = status.reason, reason != .authRequired else { return [] }
        return [
            HealthItem(
                code: "uploads_wait", severity: "warning",
                text: "files are kept here and not uploaded: \(status.message ?? reason.rawValue)",
                hint: status.hint)
        ]
    }

    private static func queue(_ counts: QueueCounts) -> [HealthItem] {
        var items: [HealthItem] = []
        if let failed = counts.sessions[.failedTerminal], failed > 0 {
            items.append(
                HealthItem(
                    code: "sessions_failed", severity: "error",
                    text: "\(Units.count(failed, "session")) cannot go on without you",
                    hint: "celestiad sessions --state failed_terminal says why"))
        }
        if counts.ambiguous > 0 {
            items.append(
                HealthItem(
                    code: "requests_ambiguous", severity: "info",
                    text:
                        "it is not known whether the cloud has received \(Units.count(counts.ambiguous, "request")); "
                        + "that is looked up before anything else is sent for them",
                    hint: "celestiad sessions --attention shows which"))
        }
        return items
    }

    /// The hint says it, with the recorder's id.
    private static func withoutAdvice(_ reason: String) -> String {
        guard reason.hasSuffix(LinkMachine.repairAdvice) else { return reason }
        let text = reason.dropLast(LinkMachine.repairAdvice.count)
        return String(text.reversed().drop { " ;:".contains($0) }.reversed())
    }

    /// Shown as long as the damaged database lies there: only the user knows when it is not needed any more.
    private static func database(_ setAside: [String]) -> [HealthItem] {
        guard let last = setAside.last else { return [] }
        if last.contains("missing") {
            return [
                HealthItem(
                    code: "queue_degraded", severity: "warning",
                    text:
                        "degraded: the queue's database was missing and was made anew from the files in the spool",
                    hint: "the note \(last) beside it says so; remove that to end this message")
            ]
        }
        return [
            HealthItem(
                code: "queue_degraded", severity: "warning",
                text:
                    "degraded: the queue's database was damaged and was made anew from the files in the spool; "
                    + "the damaged one is kept as \(last)",
                hint:
                    "check the disk; celestiad storage shows where it lies, move it away to end this message")
        ]
    }

    private static func space(_ troubles: QueueTroubles, _ disk: DiskDocument?) -> [HealthItem] {
        if troubles.lowDisk != nil || (disk.map { $0.state != "ok" } ?? false) {
            let detail = troubles.lowDisk?.detail.map { ": \($0)" } ?? ""
            return [
                HealthItem(
                    code: "disk_low", severity: "error",
                    text:
                        "the disk of \(disk?.path ?? "the queue") is low on space, and no files are taken\(detail)",
                    hint: "free some space; what the recorders hold stays there meanwhile",
                    since: troubles.lowDisk?.since)
            ]
        }
        guard let misfit = troubles.misfit else { return [] }
        return [
            HealthItem(
                code: "file_does_not_fit", severity: "warning",
                text: "a file was too large for the disk; smaller ones are taken: \(misfit.message)",
                hint: "free some space; its source keeps it", since: misfit.since)
        ]
    }

    /// Files that are not what was stored, or that are not taken.
    private static func files(_ troubles: QueueTroubles) -> [HealthItem] {
        var items: [HealthItem] = []
        if troubles.damagedFiles > 0 {
            items.append(
                HealthItem(
                    code: "files_damaged", severity: "error",
                    text:
                        "\(Units.count(troubles.damagedFiles, "stored file")) are gone or changed, and the cloud is not "
                        + "known to have them",
                    hint:
                        "celestiad sessions --attention shows which; importing the original again, or syncing the "
                        + "recorder that still has it, mends it"))
        }
        if let last = troubles.lastRefusal {
            items.append(
                HealthItem(
                    code: "files_refused", severity: "warning",
                    text:
                        "\(Units.count(troubles.refusedFiles, "file")) of the watched folder are not taken; the last: "
                        + Terminal.printable(last.refusal),
                    hint: "celestiad storage lists them; move them away to end this message"))
        }
        if let first = troubles.undescribed.first {
            items.append(
                HealthItem(
                    code: "sessions_undescribed", severity: "error",
                    text:
                        "\(Units.count(troubles.undescribed.count, "session")) in the spool cannot be read (the first "
                        + "is \(first)); the files are kept and are not uploaded",
                    hint:
                        "celestiad storage shows where they lie; importing the originals again, or syncing the "
                        + "recorder, mends it"))
        }
        return items
    }

    /// A warning: files come and go without it.
    private static func broker(_ trouble: BrokerTrouble) -> HealthItem {
        let reason = Terminal.printable(trouble.message)
        let (text, hint) =
            switch trouble.kind {
            case .libraryAbsent: ("libmosquitto is not installed", "sudo apt-get install libmosquitto1")
            case .settings: (reason, "correct [MQTT], then: sudo systemctl reload celestiad")
            case .unreachable:
                (
                    "the MQTT broker \(trouble.broker) is not reached: \(reason)",
                    "it is tried again by itself; [MQTT] Host and Port say which it is"
                )
            case .refused:
                (
                    "the MQTT broker \(trouble.broker) does not let the hub in: \(reason)",
                    "correct [MQTT] Username and PasswordFile, then: sudo systemctl reload celestiad"
                )
            }
        return HealthItem(
            code: "mqtt_\(trouble.kind.rawValue)", severity: "warning",
            text: "Home Assistant is told nothing: \(text)", hint: hint, since: trouble.since)
    }

    private static func folder(_ trouble: FolderTrouble) -> HealthItem {
        let what =
            (trouble.isPartial ? "a part of the watched folder " : "the watched folder ")
            + Terminal.printable(trouble.path)
        return HealthItem(
            code: "folder_closed", severity: "warning",
            text: "\(what) cannot be read: nothing is taken from there",
            hint: "celestiad doctor says why")
    }

    private static func recorder(_ recorder: RecorderDocument) -> [HealthItem] {
        let name = recorder.name ?? recorder.id
        var items: [HealthItem] = []
        if recorder.link.state == "backing_off", let reason = recorder.link.reason,
            recorder.link.nextTry == nil || reason.hasSuffix(LinkMachine.repairAdvice)
        {
            items.append(
                HealthItem(
                    code: "recorder_needs_user", severity: "error",
                    text: "\(name): \(withoutAdvice(reason))",
                    hint: "celestiad pair --device \(Terminal.shellWord(recorder.id)) --repair"))
        }
        if recorder.incompleteSync != nil {
            items.append(
                HealthItem(
                    code: "recorder_incomplete", severity: "warning",
                    text:
                        "\(name): not everything could be pulled: \(recorder.lastError ?? "a file was left out")",
                    hint:
                        "what is missing stays on the recorder; celestiad sync \(Terminal.shellWord(recorder.id)) tries again"
                ))
        }
        if let battery = recorder.battery, battery.percent <= lowBatteryPercent {
            items.append(
                HealthItem(
                    code: "battery_low", severity: "warning",
                    text: "\(name): battery at \(battery.percent) %",
                    hint: "charge the recorder"))
        }
        if let storage = recorder.storage, storage.totalBytes > 0,
            storage.freeBytes * 100 / storage.totalBytes < lowStoragePercent
        {
            items.append(
                HealthItem(
                    code: "recorder_storage_low", severity: "warning",
                    text: "\(name): its storage is nearly full",
                    hint: "keep it near the hub, so that its files can be pulled"))
        }
        return items
    }
}
