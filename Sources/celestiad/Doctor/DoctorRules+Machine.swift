import Control
import FoundationEssentials
import Gateway

/// The machine below and the cloud beyond.
extension DoctorRules {
    // MARK: Clock

    /// Before this program was written: 2026-01-01.
    private static let implausible: TimeInterval = 1_767_225_600
    /// The whole seconds of an HTTP date, and the way there.
    private static let tolerableSkewMs: Int64 = 30_000
    /// From here on logins and certificates are in danger, and recordings get a wrong time.
    private static let graveSkewMs: Int64 = 300_000

    private static func clockSetting(_ facts: DoctorFacts) -> [String] {
        (facts.tools.hasTimeService ? [] : ["sudo apt-get install systemd-timesyncd"])
            + ["sudo timedatectl set-ntp true"]
    }

    static func clock(_ facts: DoctorFacts) -> [Finding] {
        let setting = clockSetting(facts)
        guard facts.now.timeIntervalSince1970 >= implausible else {
            let year = facts.now.formatted(.iso8601).prefix(4)
            return [
                Finding(
                    .clock, .fail, "the clock says \(year): no certificate is valid, and uploads wait",
                    fix: setting)
            ]
        }
        let skew = skewMs(facts)
        if let skew, abs(skew) >= tolerableSkewMs {
            let span = Units.duration(abs(skew) / 1000)
            return [
                Finding(
                    .clock, abs(skew) >= graveSkewMs ? .fail : .warn,
                    "the clock is \(span) \(skew > 0 ? "ahead of" : "behind") the cloud's", fix: setting)
            ]
        }
        switch facts.clock {
        case .blind(let reason): return [Finding(.clock, .skipped, reason)]
        case .found(let clock) where clock.isSynchronized == true:
            return [
                Finding(
                    .clock, .ok,
                    "the clock is synchronised" + (skew == nil ? "" : ", and agrees with the cloud's"))
            ]
        case .found(let clock) where clock.isSynchronized == false:
            let now = skew == nil ? "" : "; now it agrees with the cloud's"
            guard let keeper = clock.keeper else {
                return [Finding(.clock, .warn, "nothing keeps the clock in time\(now)", fix: setting)]
            }
            return [
                Finding(
                    .clock, .warn,
                    "\(keeper) is to keep the clock in time and has not reached a time server\(now)",
                    advice: "it tries again by itself; whom it asks:",
                    fix: [
                        keeper == "systemd-timesyncd"
                            ? "timedatectl timesync-status" : "systemctl status \(keeper)"
                    ])
            ]
        case .found:
            return [
                Finding(
                    .clock, skew == nil ? .skipped : .ok,
                    skew == nil ? "the kernel does not say" : "the clock agrees with the cloud's")
            ]
        }
    }

    private static func skewMs(_ facts: DoctorFacts) -> Int64? {
        if case .success(let status) = facts.daemon.cloud, let skew = status.clockSkewMs { return skew }
        return facts.cloud.value?.skewMs
    }

    // MARK: Disk

    static func disk(_ facts: DoctorFacts) -> [Finding] {
        guard case .found(let disk) = facts.disk else {
            if case .blind(let reason) = facts.disk { return [Finding(.disk, .skipped, reason)] }
            return []
        }
        if disk.isReadOnly {
            return [
                Finding(
                    .disk, .fail,
                    "the file system of \(disk.path) is read-only, as after an error of the disk",
                    advice:
                        "copy \(disk.path) away before anything else, and let the file system be checked at the next "
                        + "start: writing to one that is damaged may destroy what is there",
                    fix: ["sudo dmesg --level=err,crit | tail"])
            ]
        }
        var findings: [Finding] = []
        if disk.files > 0, disk.freeFiles * 100 < disk.files {
            findings.append(
                Finding(
                    .disk, disk.freeFiles == 0 ? .fail : .warn,
                    "the file system of \(disk.path) has \(disk.freeFiles) of \(disk.files) inodes left: too many small files",
                    fix: ["sudo du --inodes -xS / 2>/dev/null | sort -n | tail"]))
        }
        findings.append(space(disk, facts))
        return findings
    }

    private static func space(_ disk: DiskFacts, _ facts: DoctorFacts) -> Finding {
        let configuration = facts.configuration.value
        let reserve = max(
            (configuration?.reservedMiB ?? 512) << 20,
            disk.total / 100 * (configuration?.reservedPercent ?? 5))
        let free = "\(Units.bytes(disk.free)) of \(Units.bytes(disk.total)) are free at \(disk.path)"
        guard disk.free > reserve else {
            return Finding(
                .disk, .fail, "\(free), and \(Units.bytes(reserve)) are kept free: no files are taken",
                fix: ["celestiad storage"]
                    + (disk.isSystems
                        ? ["sudo apt-get clean", "sudo journalctl --vacuum-size=64M"]
                        : ["sudo du -xhd 2 \(Terminal.shellWord(disk.path)) | sort -h | tail"]))
        }
        guard disk.free / 2 > reserve else {
            return Finding(
                .disk, .warn, "\(free), little more than the \(Units.bytes(reserve)) that are kept free",
                fix: ["celestiad storage"])
        }
        return Finding(.disk, .ok, "\(free), \(Units.bytes(reserve)) of it in reserve")
    }

    // MARK: Cloud

    static func cloud(_ facts: DoctorFacts) -> [Finding] {
        if case .success(let status) = facts.daemon.cloud {
            if status.state == "ok" {
                let time = status.roundTripMs.map { " in \($0) ms" } ?? ""
                return [Finding(.cloud, .ok, "\(status.host) answers the daemon\(time)")]
            }
            let message = status.message ?? Words.plain(status.state)
            // What this program hears tells the network from the daemon's own sandbox and settings.
            if case .found(let reach) = facts.cloud {
                if reach.stage != nil { return [failure(reach, facts)] }
                return [
                    Finding(
                        .cloud, .fail,
                        "the daemon does not reach \(status.host) (\(message)), although this program does",
                        fix: ["sudo systemctl restart celestiad", "celestiad cloud status"])
                ]
            }
            return [Finding(.cloud, .fail, message, advice: status.hint)]
        }
        switch facts.cloud {
        case .blind(let reason): return [Finding(.cloud, .skipped, reason)]
        case .found(let reach) where reach.stage == nil:
            return [Finding(.cloud, .ok, "\(reach.host) answers in \(reach.milliseconds) ms")]
        case .found(let reach): return [failure(reach, facts)]
        }
    }

    private static func failure(_ reach: ReachFacts, _ facts: DoctorFacts) -> Finding {
        let name = hostName(reach.host)
        let configuration = facts.configuration.value
        let fix: [String] =
            switch reach.stage {
            case .name: ["getent ahosts \(Terminal.shellWord(name))", "ip route get 1.1.1.1"]
            case .connection:
                ["ip route get 1.1.1.1", "celestiad cloud status"]
            case .certificate where configuration?.cloudCAFile != nil: change("Cloud", "CAFile", facts)
            case .certificate where configuration?.cloudPinnedKey != nil:
                change("Cloud", "PinnedPublicKey", facts)
            case .certificate: ["sudo apt-get install --reinstall ca-certificates"]
            case .clock: clockSetting(facts)
            case .answer, nil: ["celestiad cloud status"]
            }
        return Finding(.cloud, .fail, reach.message, advice: reach.hint, fix: fix)
    }

    /// Without the port, and without the brackets of an IPv6 address.
    private static func hostName(_ host: String) -> String {
        guard host.first != "[" else { return String(host.dropFirst().prefix { $0 != "]" }) }
        return String(host.prefix { $0 != ":" })
    }

    // MARK: Credentials

    static func credentials(_ facts: DoctorFacts) -> [Finding] {
        login(facts) + files(facts)
    }

    private static func login(_ facts: DoctorFacts) -> [Finding] {
        guard case .success(let status) = facts.daemon.status else {
            return [
                Finding(
                    .credentials, .skipped,
                    "whether there is a login is the daemon's to say: \(facts.daemon.silence)")
            ]
        }
        let account = status.account
        let host = account.host.map { " at \($0)" } ?? ""
        switch account.state {
        case "logged_in": return [Finding(.credentials, .ok, "logged in\(host)")]
        case "logged_out":
            return [
                Finding(
                    .credentials, .warn, "nobody is logged in\(host): nothing is uploaded",
                    fix: ["celestiad login"])
            ]
        case "other_host":
            return [
                Finding(
                    .credentials, .fail, "the login is for another address than [Cloud] URL",
                    advice: account.action, fix: ["celestiad login"])
            ]
        default:
            return [
                Finding(
                    .credentials, .fail, "the login\(host) is not valid any more", advice: account.action,
                    fix: ["celestiad login"])
            ]
        }
    }

    private static func files(_ facts: DoctorFacts) -> [Finding] {
        guard case .found(let found) = facts.credentials else {
            if case .blind(let reason) = facts.credentials {
                return [Finding(.credentials, .skipped, reason)]
            }
            return []
        }
        let path = Terminal.shellWord(found.directory)
        let tokens = Terminal.shellWord("\(found.directory)/credentials")
        guard case .found(let mode, let owner) = found.state else {
            return [
                Finding(.credentials, .skipped, "there is no \(found.directory) yet, or it is not to be seen")
            ]
        }
        if let user = found.daemonUser, owner != user {
            return [
                Finding(
                    .credentials, .fail, "\(found.directory) does not belong to \(found.userName)",
                    fix: ["sudo chown -R \(found.userName): \(path)"])
            ]
        }
        if mode & 0o077 != 0 {
            return [
                Finding(
                    .credentials, .fail, "\(found.directory) is open to other users",
                    fix: ["sudo chmod 700 \(path)"])
            ]
        }
        switch found.tokens {
        case .found(let mode, let owner):
            if let user = found.daemonUser, owner != user {
                return [
                    Finding(
                        .credentials, .fail, "the file with the tokens does not belong to \(found.userName)",
                        fix: ["sudo chown \(found.userName): \(tokens)"])
                ]
            }
            if mode & 0o077 != 0 {
                return [
                    Finding(
                        .credentials, .fail, "other users may read the tokens",
                        fix: ["sudo chmod 600 \(tokens)"])
                ]
            }
            return [Finding(.credentials, .ok, "the tokens are closed to other users")]
        case .absent: return [Finding(.credentials, .ok, "no tokens are stored")]
        case .hidden:
            return [
                Finding(
                    .credentials, .skipped,
                    "\(found.directory) is closed to \(facts.user), as it should be: only root can look at the tokens' mode",
                    fix: ["sudo celestiad doctor"])
            ]
        }
    }
}
