import Control
import Foundation
import Gateway
import Testing

@testable import celestiad

/// Facts in, findings out: for each fault the one check that names it, and the command that mends it.
@Suite struct DoctorRuleTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let facts: DoctorFacts
        let check: Check
        let state: Finding.State
        /// The first command, or a part of it; empty: there is none.
        var fix = ""
        var says = ""
        var testDescription: String { name }

        init(
            _ name: String, _ facts: DoctorFacts, _ check: Check, _ state: Finding.State, _ fix: String = "",
            says: String = ""
        ) {
            (self.name, self.facts, self.check, self.state) = (name, facts, check, state)
            (self.fix, self.says) = (fix, says)
        }
    }

    @Test func aSoundMachineHasNothingToMend() {
        let findings = DoctorRules.findings(.sound)
        #expect(findings.allSatisfy { $0.state == .ok && $0.fix == nil && $0.advice == nil }, "\(findings)")
        #expect(findings.map(\.check) == findings.map(\.check).sorted { order($0) < order($1) })
        #expect(DoctorDocument(time: Fixtures.now, version: "1", findings: findings).state == "ok")
    }

    private func order(_ check: Check) -> Int { Check.allCases.firstIndex(of: check) ?? -1 }

    static let silent = ControlError(.notRunning, "celestiad is not running")

    static let service = [
        Case(
            "bad configuration", .sound.with { $0.configuration = .blind("line 3 is wrong") }, .configuration,
            .fail, "sudoedit /etc/celestiad/celestiad.conf", says: "line 3"),
        Case(
            "bad drop-in",
            .sound.with {
                $0.configuration = .blind("/etc/celestiad/celestiad.conf.d/a.conf:3: no such key")
            },
            .configuration, .fail, "sudoedit /etc/celestiad/celestiad.conf.d/a.conf"),
        Case("no file", .sound, .configuration, .ok, says: "no file sets anything"),
        Case(
            "two files",
            .sound.with {
                $0.settings = ["/etc/c.conf:1", "/etc/c.conf.d/b.conf:9", "/etc/c.conf:7", "CELESTIAD_BUS"]
                    .map {
                        ConfigurationSetting(
                            section: "S", name: "K", value: "v", origin: $0, isPrivate: false)
                    }
            }, .configuration, .ok, says: "/etc/c.conf and /etc/c.conf.d/b.conf are understood"),
        Case(
            "no daemon in a container",
            .sound.daemon(silent).with { $0.service = .blind("x") }.radio { $0.container = "docker" },
            .service,
            .fail, says: "not running"),
        Case(
            "not installed", .sound.daemon(silent).unit { $0.load = "not-found" }, .service, .fail,
            "sudo systemctl daemon-reload"),
        Case(
            "outside systemd", .sound.unit { $0.load = "not-found" }, .service, .ok, says: "outside systemd"),
        Case(
            "no systemd", .sound.with { $0.service = .blind("not on this bus") }, .service, .ok,
            says: "the daemon runs"),
        Case(
            "no systemd, no daemon", .sound.daemon(silent).with { $0.service = .blind("x") }, .service, .fail,
            "sudo systemctl start celestiad"),
        Case(
            "masked", .sound.unit { $0.load = "masked" }, .service, .fail, "sudo systemctl unmask celestiad"),
        Case(
            "inactive", .sound.daemon(silent).unit { $0.active = "inactive" }, .service, .fail,
            "sudo systemctl start celestiad"),
        Case(
            "failed",
            .sound.daemon(silent).unit {
                $0.active = "failed"
                $0.result = "watchdog"
            }, .service, .fail, "sudo journalctl -u celestiad", says: "watchdog"),
        Case(
            "does not understand its configuration",
            .sound.daemon(silent).unit {
                $0.active = "failed"
                $0.exitStatus = 2
            }, .service, .fail, "celestiad config check"),
        Case(
            "restarts and restarts",
            .sound.daemon(silent).unit {
                ($0.active, $0.sub, $0.restarts) = ("activating", "auto-restart", 9)
            }, .service, .fail, "sudo journalctl -u celestiad", says: "after 9 starts"),
        Case(
            "was restarted often", .sound.unit { $0.restarts = 3 }, .service, .warn,
            "sudo journalctl -u celestiad -p warning"),
        Case(
            "starts", .sound.daemon(silent).unit { $0.active = "activating" }, .service, .warn,
            "sudo journalctl -f"),
        Case("active and away", .sound.daemon(silent), .service, .fail, "sudo systemctl restart celestiad"),
        Case(
            "not at boot", .sound.unit { $0.file = "disabled" }, .service, .warn,
            "sudo systemctl enable celestiad"),
        Case(
            "to be read again", .sound.unit { $0.needsReload = true }, .service, .warn,
            "sudo systemctl daemon-reload"),
        Case("changed", .sound.unit { $0.dropIns = ["/etc/x.conf"] }, .service, .ok, says: "/etc/x.conf"),
        Case(
            "old daemon", .sound.status { $0.daemon.version = "0.0.1" }, .service, .warn,
            "sudo systemctl restart celestiad", says: "0.0.1"),
        Case(
            "no bus", .sound.daemon(silent).with { $0.bus.trouble = "no socket" }, .dbus, .fail,
            "sudo systemctl start dbus"),
        Case(
            "not for you",
            .sound.daemon(
                ControlError(.notAuthorized, "you are ada", hint: "sudo usermod -aG celestiad ada")),
            .dbus, .fail, "sudo usermod -aG celestiad ada"),
        Case(
            "no policy", .sound.daemon(silent).with { $0.bus.hasPolicy = false }, .dbus, .fail,
            "sudo apt install --reinstall ./celestiad_"),
        Case("no word of the queue", .sound.daemon(silent), .queue, .skipped, says: "is not running"),
        Case(
            "sessions failed",
            .sound.status {
                $0.health = [
                    HealthItem(code: "sessions_failed", severity: "error", text: "2 sessions", hint: "see")
                ]
            },
            .queue, .fail, says: "2 sessions"),
        Case(
            "uploads wait",
            .sound.status {
                $0.health = [HealthItem(code: "uploads_wait", severity: "warning", text: "held")]
            }, .queue, .warn),
        Case(
            "battery",
            .sound.status { $0.health = [HealthItem(code: "battery_low", severity: "warning", text: "9 %")] },
            .recorders, .warn),
        Case("none paired", .sound.status { $0.recorders = [] }, .recorders, .warn, "celestiad pair"),
    ]

    static let folder = [
        Case(
            "folder there", .sound.folder("/srv/photos", .folder(isReadable: nil)), .folder, .ok,
            says: "is read"),
        Case(
            "folder there by its modes",
            .sound.daemon(silent).folder("/srv/photos", .folder(isReadable: true)),
            .folder, .ok, says: "may read"),
        Case(
            "folder that the daemon cannot read",
            .sound.status {
                $0.health = [HealthItem(code: "folder_closed", severity: "warning", text: "a part of it")]
            }.folder("/srv/photos", .folder(isReadable: true)), .folder, .fail, "sudo setfacl -R",
            says: "a part of it"),
        Case(
            "folder away", .sound.folder("/srv/my photos", .absent), .folder, .fail,
            "sudo mkdir -p '/srv/my photos'"),
        Case("no folder", .sound.folder("/srv/file", .noFolder), .folder, .fail, "sudoedit"),
        Case(
            "folder closed", .sound.daemon(silent).folder("/srv/photos", .folder(isReadable: false)), .folder,
            .fail,
            "sudo setfacl -R -m u:celestiad:rX,d:u:celestiad:rX /srv/photos"),
        Case(
            "folder closed from above, no setfacl",
            .sound.daemon(silent).with {
                $0.folder = .found(
                    FolderFacts(path: "/srv/a/b", place: .folder(isReadable: false), closed: ["/srv/a"]))
                $0.tools.hasACLs = false
            }, .folder, .fail, "sudo apt-get install acl"),
        Case(
            "folder unseen", .sound.daemon(silent).folder("/srv/photos", .folder(isReadable: nil)), .folder,
            .skipped),
        Case(
            "hidden home", .sound.folder("/home/ada/photos", .folder(isReadable: true)), .folder, .fail,
            "sudo mkdir -p /etc/systemd/system/celestiad.service.d"),
        Case(
            "shown home",
            .sound.unit {
                $0.protectHome = "tmpfs"
                $0.shown = ["/home/ada"]
            }.folder("/home/ada/photos", .folder(isReadable: true)),
            .folder, .ok),
        Case(
            "shown below what is inaccessible",
            .sound.unit { $0.shown = ["/home/ada"] }.folder("/home/ada/photos", .folder(isReadable: true)),
            .folder, .fail, "sudo mkdir -p /etc/systemd/system/celestiad.service.d"),
        Case(
            "home is open",
            .sound.unit { $0.protectHome = "read-only" }.folder("/home/x", .folder(isReadable: true)),
            .folder, .ok),
        Case(
            "hidden in /tmp", .sound.folder("/tmp/x", .folder(isReadable: true)), .folder, .fail, "sudo mkdir"
        ),
        Case("only alike", .sound.folder("/homework", .folder(isReadable: true)), .folder, .ok),
    ]

    private static func broker(tls: Bool = false) -> DoctorFacts {
        var configuration = Configuration()
        (configuration.mqtt.host, configuration.mqtt.usesTLS) = ("ha.local", tls)
        (configuration.mqtt.username, configuration.mqtt.passwordFile) = ("hub", "/etc/password")
        return .sound.with { $0.configuration = .found(configuration) }
    }

    private static func broken(_ code: String, _ text: String) -> DoctorFacts {
        broker(tls: true).status { $0.health = [HealthItem(code: code, severity: "warning", text: text)] }
    }

    static let mqtt = [
        Case("broker", broker(tls: true), .mqtt, .ok, says: "ha.local:8883 is connected"),
        Case("broker in the clear", broker(), .mqtt, .warn, says: "unencrypted"),
        Case("no word of the broker", broker().daemon(silent), .mqtt, .skipped, says: "ha.local:1883"),
        Case(
            "no libmosquitto", broken("mqtt_library_absent", "no library"), .mqtt, .warn,
            "sudo apt-get install libmosquitto1", says: "no library"),
        Case(
            "broker away", broken("mqtt_unreachable", "not reached"), .mqtt, .warn,
            "sudoedit /etc/celestiad/celestiad.conf",
            says: "not reached"),
        Case("broker closed", broken("mqtt_refused", "not let in"), .mqtt, .warn, "sudoedit"),
        Case("broker closed, queue well", broken("mqtt_refused", "not let in"), .queue, .ok),
    ]

    @Test func whatIsNotConfiguredIsNotLookedAt() {
        #expect(!DoctorRules.findings(.sound).contains { $0.check == .mqtt || $0.check == .folder })
    }

    @Test(arguments: radio + bluetoothd + machine + cloud + service + folder + mqtt)
    func everyFaultIsNamedWithItsRemedy(_ one: Case) throws {
        let findings = DoctorRules.findings(one.facts).filter { $0.check == one.check }
        let finding = try #require(findings.first { $0.state == one.state }, "\(findings)")
        #expect(one.says.isEmpty || finding.text.contains(one.says), "\(finding)")
        #expect(
            one.fix.isEmpty
                || findings.contains { $0.state == one.state && $0.fix?.first?.contains(one.fix) == true },
            "\(findings)")
        if one.state == .fail || one.state == .warn {
            #expect(
                finding.fix != nil || finding.advice != nil || one.check == .queue || one.check == .recorders)
        }
    }

    /// What the host must change is not typed in the container.
    @Test func aContainersRemediesAreSaidToBeTheHosts() throws {
        let facts = DoctorFacts.sound.with { $0.clock = .found(ClockFacts(isSynchronized: false)) }
            .radio {
                $0.container = "docker"
                $0.switches?[0].isSoftBlocked = true
            }
        let findings = DoctorRules.findings(facts).filter { $0.fix != nil }
        #expect(findings.map(\.check) == [.rfkill, .clock])
        #expect(findings.allSatisfy { $0.advice?.hasSuffix("on the host, not in this container:") == true })
    }

    /// What stands below a home that is inaccessible cannot be shown; the path is a word of systemd's.
    @Test func aFolderInAHomeIsShownWithoutTheHome() throws {
        let facts = DoctorFacts.sound.folder("/home/ada/100% \"mine\"", .folder(isReadable: true))
        let fix = try #require(DoctorRules.findings(facts).first { $0.check == .folder }?.fix)
        #expect(
            fix[1]
                == #"printf '[Service]\n%s\n' 'ProtectHome=tmpfs' 'BindReadOnlyPaths="/home/ada/100%% \"mine\""' | "#
                + "sudo tee /etc/systemd/system/celestiad.service.d/folder.conf")
    }

    @Test func whatIsClosedAboveAFolderIsOpenedForPassingOnly() throws {
        let facts = DoctorFacts.sound.daemon(Self.silent).with {
            $0.folder = .found(
                FolderFacts(
                    path: "/mnt/ada/in", place: .folder(isReadable: false), closed: ["/mnt/ada", "/mnt"]))
        }
        #expect(
            DoctorRules.findings(facts).first { $0.check == .folder }?.fix == [
                "sudo setfacl -m u:celestiad:x /mnt/ada", "sudo setfacl -m u:celestiad:x /mnt",
                "sudo setfacl -R -m u:celestiad:rX,d:u:celestiad:rX /mnt/ada/in",
            ])
    }

    /// Whatever is not there, everything that could be looked at is still told.
    @Test func withoutAnythingEveryCheckSaysSo() {
        let blind = DoctorFacts(
            now: Fixtures.now, user: "ada", configuration: .blind("cannot be read"),
            bus: BusFacts(address: "unix:path=/x", trouble: "no bus"), daemon: .notAsked, radio: .blind("no"),
            bluez: .blind("no"), clock: .blind("no"), disk: .blind("no"), credentials: .blind("no"),
            cloud: .blind("no"), folder: .blind("no"))
        let findings = DoctorRules.findings(blind)
        #expect(Set(findings.map(\.check)) == Set(Check.allCases).subtracting([.recorders, .mqtt]))
        #expect(Set(findings.filter { $0.state == .fail }.map(\.check)) == [.configuration, .dbus])
        #expect(!findings.contains { $0.state == .ok })
    }

    /// What was typed into a configuration is no command.
    @Test func pathsAreQuotedForTheShell() {
        let cases = [
            ("/srv/a-b_c.d", "/srv/a-b_c.d"), ("/srv/my photos", "'/srv/my photos'"),
            ("/srv/$(reboot)", "'/srv/$(reboot)'"), ("/srv/it's", #"'/srv/it'\''s'"#), ("/srv/ü", "'/srv/ü'"),
        ]
        for (path, quoted) in cases { #expect(Terminal.shellWord(path) == quoted) }
    }

    @Test func versionsOfPackagesAreRead() throws {
        let cases: [(String, String?)] = [
            ("5.66-1+deb12u2", "5.66"), ("5.82-1.1", "5.82"), ("5.9", "5.9"), ("", nil), ("5", nil),
            ("x.y", nil),
            ("99999999999999999999.1", nil),
        ]
        for (text, version) in cases { #expect(BluetoothdVersion(text)?.description == version) }
        #expect(try #require(BluetoothdVersion("5.9")) < BluetoothdVersion(5, 66))
    }
}
