import Control
import Foundation
import Gateway
import Testing

@testable import celestiad

/// The machine below and the cloud beyond.
extension DoctorRuleTests {
    static let machine = [
        Case(
            "1970", .sound.with { $0.now = Date(timeIntervalSince1970: 86_400) }, .clock, .fail,
            "sudo timedatectl set-ntp true", says: "1970"),
        Case(
            "unsynchronised", .sound.with { $0.clock = .found(ClockFacts(isSynchronized: false)) }, .clock,
            .warn, "sudo timedatectl set-ntp true"),
        Case(
            "nothing to set it by",
            .sound.with {
                $0.clock = .found(ClockFacts(isSynchronized: false))
                $0.tools.hasTimeService = false
            }, .clock, .warn, "sudo apt-get install systemd-timesyncd"),
        Case(
            "no time server",
            .sound.with {
                $0.clock = .found(ClockFacts(isSynchronized: false, keeper: "systemd-timesyncd"))
            }, .clock, .warn, "timedatectl timesync-status", says: "systemd-timesyncd is to keep"),
        Case("a little off", .sound.skew(-31), .clock, .warn, "sudo timedatectl", says: "31 s behind"),
        Case("far off", .sound.skew(3600), .clock, .fail, "sudo timedatectl", says: "1 h ahead of"),
        Case("agrees", .sound.skew(29), .clock, .ok),
        Case(
            "kernel silent", .sound.with { $0.clock = .found(ClockFacts(isSynchronized: nil)) }, .clock,
            .skipped),
        Case("read-only", .sound.disk { $0.isReadOnly = true }, .disk, .fail, "sudo dmesg"),
        Case(
            "in the reserve, on a disk of its own",
            .sound.disk { ($0.free, $0.isSystems) = (1 << 30, false) }, .disk, .fail, "celestiad storage"),
        Case("in the reserve", .sound.disk { $0.free = 1 << 30 }, .disk, .fail, "celestiad storage"),
        Case("near the reserve", .sound.disk { $0.free = 2 << 30 }, .disk, .warn, "celestiad storage"),
        Case("inodes go", .sound.disk { $0.freeFiles = 1000 }, .disk, .warn, "sudo du --inodes"),
        Case("inodes gone", .sound.disk { $0.freeFiles = 0 }, .disk, .fail, "sudo du --inodes"),
        Case("hidden disk", .sound.with { $0.disk = .blind("it hangs") }, .disk, .skipped, says: "it hangs"),
        Case(
            "others look in", .sound.credentials { $0.state = .found(mode: 0o750, owner: 990) }, .credentials,
            .fail, "sudo chmod 700 /var/lib/celestiad"),
        Case(
            "another's", .sound.credentials { $0.state = .found(mode: 0o700, owner: 0) }, .credentials, .fail,
            "sudo chown -R celestiad: /var/lib/celestiad"),
        Case(
            "tokens open", .sound.credentials { $0.tokens = .found(mode: 0o644, owner: 990) }, .credentials,
            .fail, "sudo chmod 600 /var/lib/celestiad/credentials"),
        Case(
            "tokens another's", .sound.credentials { $0.tokens = .found(mode: 0o600, owner: 0) },
            .credentials, .fail, "sudo chown celestiad: /var/lib"),
        Case(
            "not for us to see", .sound.credentials { $0.tokens = .hidden }, .credentials, .skipped,
            "sudo celestiad doctor"),
        Case(
            "logged out", .sound.status { $0.account.state = "logged_out" }, .credentials, .warn,
            "celestiad login"),
        Case(
            "expired", .sound.status { $0.account.state = "expired" }, .credentials, .fail, "celestiad login"),
        Case("other host", .sound.status { $0.account.state = "other_host" }, .credentials, .fail),
    ]

    static let cloud = [
        reach(.name, "getent ahosts api.example.com"), reach(.connection, "ip route get 1.1.1.1"),
        reach(.certificate, "sudo apt-get install --reinstall ca-certificates"),
        reach(.clock, "sudo timedatectl set-ntp true"), reach(.answer, "celestiad cloud status"),
        Case(
            "no daemon, cloud well",
            .sound.daemon(silent).with {
                $0.cloud = .found(ReachFacts(host: "api.example.com", milliseconds: 40))
            }, .cloud,
            .ok, says: "in 40 ms"),
        Case(
            "only the daemon is cut off",
            .sound.with {
                $0.daemon.cloud = .success(
                    CloudStatusDocument(
                        time: Fixtures.now, host: "api.example.com", state: "unreachable",
                        account: Fixtures.account))
                $0.cloud = .found(ReachFacts(host: "api.example.com"))
            }, .cloud, .fail, "sudo systemctl restart celestiad", says: "although this program does"),
        Case(
            "nobody could ask", .sound.daemon(silent).with { $0.cloud = .blind("no thread") }, .cloud,
            .skipped),
    ]

    private static func reach(_ stage: ReachFacts.Stage, _ fix: String) -> Case {
        let reach = ReachFacts(stage: stage, host: "api.example.com:8443", message: "it was so")
        return Case(
            "cloud: \(stage)", .sound.daemon(silent).with { $0.cloud = .found(reach) }, .cloud, .fail, fix,
            says: "it was so")
    }
}
