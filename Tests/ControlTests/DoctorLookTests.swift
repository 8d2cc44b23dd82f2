import Control
import DBus
import EventLoop
import Foundation
import Gateway
import TestSupport
import Testing

@testable import celestiad

/// A tree that stands in for a machine's files.
struct MadeUpTree {
    let folder = TemporaryDirectory()
    var tree: SystemTree { SystemTree(root: folder.path) }

    @discardableResult
    func file(_ path: String, _ text: String = "", mode: Int = 0o644) throws -> MadeUpTree {
        let url = URL(filePath: folder.path + path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        chmod(url.path, mode_t(mode))
        return self
    }

    @discardableResult
    func directory(_ path: String, mode: Int = 0o755) throws -> MadeUpTree {
        try FileManager.default.createDirectory(atPath: folder.path + path, withIntermediateDirectories: true)
        chmod(folder.path + path, mode_t(mode))
        return self
    }

    func link(_ path: String, to target: String) throws {
        let url = URL(filePath: folder.path + path)
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: target)
    }

    /// An adapter on USB as the kernel shows one.
    func controller(_ name: String, control: String) throws {
        let device = "/sys/devices/pci0000:00/usb1/1-1"
        try file("\(device)/idVendor", "0a12\n").file("\(device)/power/control", "\(control)\n")
        try directory("\(device)/1-1:1.0/bluetooth/\(name)")
        try link(
            "/sys/class/bluetooth/\(name)", to: "../../devices/pci0000:00/usb1/1-1/1-1:1.0/bluetooth/\(name)")
        // A connection, which is no adapter.
        try directory("/sys/class/bluetooth/\(name):64")
    }
}

@Suite(.timeLimit(.minutes(5))) struct DoctorLookTests {
    @Test func theRadioIsReadFromSysfs() throws {
        let made = MadeUpTree()
        try made.controller("hci0", control: "auto")
        try made.file("/sys/class/rfkill/rfkill0/type", "wlan\n").file(
            "/sys/class/rfkill/rfkill0/soft", "1\n")
        try made.file("/sys/class/rfkill/rfkill1/type", "bluetooth\n").file(
            "/sys/class/rfkill/rfkill1/soft", "1\n"
        )
        .file("/sys/class/rfkill/rfkill1/hard", "0\n")
        try made.file("/usr/lib/udev/rules.d/60-celestiad.rules")
        let radio = MachineLook(tree: made.tree).radio()
        #expect(radio.hasBluetooth && radio.hasRules && radio.container == nil)
        #expect(radio.controllers == [.init(name: "hci0", usb: .init(name: "1-1", control: "auto"))])
        #expect(radio.switches == [.init(name: "rfkill1", isSoftBlocked: true)])
    }

    @Test func aBareMachineHasNoRadio() throws {
        let made = MadeUpTree()
        try made.file("/run/systemd/container", "lxc\n")
        let radio = MachineLook(tree: made.tree).radio()
        #expect(!radio.hasBluetooth && radio.controllers.isEmpty && radio.switches == nil && !radio.hasRules)
        #expect(radio.container == "lxc")
    }

    @Test func theVersionOfAPackageIsFound() throws {
        let made = MadeUpTree()
        try made.file(
            "/var/lib/dpkg/status",
            """
            Package: bluez-obexd
            Status: install ok installed
            Version: 1.0

            Package: bluez
            Status: install ok installed
            Description: tools
             Version: 9.9
            Version: 5.66-1+deb12u2

            Package: dbus
            Status: deinstall ok config-files
            Version: 1.14

            """)
        let look = MachineLook(tree: made.tree)
        #expect(look.version(ofPackage: "bluez") == "5.66-1+deb12u2")
        #expect(look.version(ofPackage: "dbus") == nil)
        #expect(look.version(ofPackage: "nothing") == nil)
        #expect(MachineLook(tree: MadeUpTree().tree).version(ofPackage: "bluez") == nil)
    }

    @Test func modesAreReadWhereTheyCanBe() throws {
        let made = MadeUpTree()
        try made.directory("/var/lib/celestiad", mode: 0o700).file(
            "/var/lib/celestiad/credentials", mode: 0o640)
        let look = MachineLook(tree: made.tree) { _ in .init(id: 990, groups: []) }
        let found = look.credentials("/var/lib/celestiad")
        #expect(found.state == .found(mode: 0o700, owner: geteuid()))
        #expect(found.tokens == .found(mode: 0o640, owner: geteuid()))
        #expect(found.daemonUser == 990)
        let elsewhere = look.credentials("/srv/queue")
        #expect(elsewhere.state == .absent && elsewhere.tokens == .absent && elsewhere.daemonUser == nil)
        guard case .found(let disk) = look.disk("/var/lib/celestiad/not/yet") else {
            Issue.record("no disk")
            return
        }
        #expect(disk.total > disk.free && disk.free > 0 && !disk.isReadOnly)
    }

    @Test(
        arguments: [
            (0o755, 0o755, 4242, true), (0o755, 0o750, 4242, false), (0o711, 0o755, 4242, true),
            (0o700, 0o755, 4242, false), (0o755, 0o744, 4242, false),
        ] as [(Int, Int, UInt32, Bool)])
    func theModesOfAFolderDecideWhoReadsIt(_ above: Int, _ mode: Int, _ user: UInt32, _ isReadable: Bool)
        throws
    {
        let made = MadeUpTree()
        chmod(made.folder.path, 0o755)
        try made.directory("/srv").directory("/srv/above", mode: 0o755).directory(
            "/srv/above/photos", mode: mode)
        chmod(made.folder.path + "/srv/above", mode_t(above))
        let look = MachineLook(tree: made.tree) { _ in .init(id: user, groups: []) }
        #expect(look.folder("/srv/above/photos").place == .folder(isReadable: isReadable))
        chmod(made.folder.path + "/srv/above", 0o755)
        #expect(look.folder("/srv/none").place == .absent)
        try made.file("/srv/file")
        #expect(look.folder("/srv/file").place == .noFolder)
        #expect(
            MachineLook(tree: made.tree) { _ in nil }.folder("/srv/above").place == .folder(isReadable: nil))
    }

    @Test func whatHangsIsLeftBehind() async {
        let gate = DispatchSemaphore(value: 0)
        let look = await DoctorLook.look("the disk", within: .milliseconds(50)) { gate.wait() }
        gate.signal()
        guard case .blind(let reason) = look else {
            Issue.record("it answered")
            return
        }
        #expect(reason == "the disk did not answer in time")
    }

    // MARK: The bus

    /// Properties as an object that answers Get and GetAll.
    private func object(_ path: String, _ interfaces: [String: [String: DBusValue]]) throws -> ExportedObject
    {
        ExportedObject(
            try #require(ObjectPath(path)),
            interfaces.map { name, values in
                ExportedInterface(
                    name,
                    properties: values.map { key, value in
                        ExportedProperty(key, value.type ?? .string) { value }
                    })
            })
    }

    @Test func systemdAndBlueZAreAsked() async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let server = try await Connection.open(bus.address, on: loop)
        let unit = "/org/freedesktop/systemd1/unit/celestiad_2eservice"
        try await server.export(
            try object(
                unit,
                [
                    "org.freedesktop.systemd1.Unit": [
                        "LoadState": .string("loaded"), "ActiveState": .string("failed"),
                        "SubState": .string("failed"),
                        "UnitFileState": .string("enabled"), "NeedDaemonReload": .boolean(true),
                        "DropInPaths": .strings(["/etc/a.conf"]), "ConditionResult": .boolean(false),
                    ],
                    "org.freedesktop.systemd1.Service": [
                        "Result": .string("exit-code"), "NRestarts": .uint32(7),
                        "Restart": .string("on-failure"),
                        "ExecMainStatus": .int32(2), "ProtectHome": .string("yes"),
                        "PrivateTmp": .boolean(true),
                        "BindReadOnlyPaths": .array(
                            of: .structure([.string, .string, .boolean, .uint64]),
                            [
                                .structure([
                                    .string("/home/ada"), .string("/home/ada"), .boolean(false), .uint64(0),
                                ])
                            ]),
                    ],
                ]))
        try await server.export(
            ExportedObject(
                ObjectPath(trusted: "/org/freedesktop/systemd1"),
                [
                    ExportedInterface(
                        "org.freedesktop.systemd1.Manager",
                        methods: [
                            ExportedMethod(
                                "LoadUnit", in: [ExportedArgument("name", .string)],
                                out: [ExportedArgument("unit", .objectPath)]
                            ) { _ throws(DBusError) in [.objectPath(ObjectPath(trusted: unit))] }
                        ])
                ]))
        await server.exportObjectManager(at: .root)
        try await server.export(
            try object(
                "/org/bluez/hci0",
                [
                    "org.bluez.Adapter1": [
                        "Address": .string("00:1A:7D:DA:71:13"), "Powered": .boolean(true),
                        "Roles": .strings(["central"]),
                    ]
                ]))
        let serving = Task { await server.serve() }
        defer { serving.cancel() }
        let client = try await Connection.open(bus.address, on: loop)
        let look = BusLook(connection: client)
        #expect(await look.unit("celestiad.service").value == nil)
        #expect(await look.bluetooth(version: "5.66").value == BlueZFacts(isRunning: false, version: "5.66"))
        try await server.requestName("org.freedesktop.systemd1")
        try await server.requestName("org.bluez")
        let facts = await look.unit("celestiad.service").value
        #expect(
            facts
                == UnitFacts(
                    load: "loaded", active: "failed", sub: "failed", result: "exit-code", restarts: 7,
                    needsReload: true,
                    dropIns: ["/etc/a.conf"], exitStatus: 2, shown: ["/home/ada"], conditionsMet: false))
        let bluez = await look.bluetooth(version: "5.66").value
        #expect(bluez?.adapters == [.init(name: "hci0", address: "00:1A:7D:DA:71:13", roles: ["central"])])
        await client.close()
        await server.close()
    }

    // MARK: The verb

    @Test func theVerbWorksWithAndWithoutADaemon() async throws {
        try await Harness.with { harness in
            let well = await harness.run(
                ["doctor"], environment: ["CELESTIAD_CLOUD_URL": "http://127.0.0.1:9/v1"])
            #expect(well.output.contains("OK       credentials    logged in"), "\(well)")
            #expect(well.output.contains("the daemon runs"), "\(well)")
            let json = await harness.run(["doctor", "--json"])
            let document = try #require(
                try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(document["schema_version"] as? Int == 1)
            let findings = try #require(document["findings"] as? [[String: Any]])
            #expect(
                findings.allSatisfy { $0["check"] is String && $0["state"] is String && $0["text"] is String }
            )
            #expect((document["counts"] as? [String: Int])?.values.reduce(0, +) == findings.count)
            #expect(json.code == (document["state"] as? String == "fail" ? .unhealthy : .success))

            let other = try TestBus()
            let absent = await harness.run(
                ["doctor", "--bus", other.address],
                environment: ["CELESTIAD_CLOUD_URL": "http://127.0.0.1:9/v1"])
            #expect(absent.code == .unhealthy)
            #expect(absent.output.contains("FAIL     service        celestiad is not running"), "\(absent)")
            #expect(
                absent.output.contains("FAIL     cloud          no connection to 127.0.0.1:9"), "\(absent)")
            let nothing = await harness.run(
                ["doctor", "--bus", "unix:path=/nonexistent/socket"],
                environment: ["CELESTIAD_CLOUD_URL": "http://127.0.0.1:9/v1"])
            #expect(nothing.code == .unhealthy)
            #expect(nothing.output.contains("FAIL     dbus"), "\(nothing)")
            let wrong = await harness.run(["doctor"], environment: ["CELESTIAD_LOG_LEVEL": "loud"])
            #expect(
                wrong.output.contains("FAIL     configuration  the environment variable CELESTIAD_LOG_LEVEL"))
        }
    }

    @Test func aNarrowTerminalGetsWholeCommands() {
        let document = DoctorDocument(
            time: Fixtures.now, version: "1",
            findings: DoctorRules.findings(.sound.radio { $0.controllers[0].usb?.control = "auto" }))
        let lines = DoctorView(Layout(width: 60, now: Fixtures.now)).lines(document)
        #expect(
            lines.contains { $0.hasSuffix("→ echo on | sudo tee /sys/bus/usb/devices/1-1/power/control") })
        #expect(lines.filter { !$0.contains("→") }.allSatisfy { $0.count <= 60 }, "\(lines)")
        #expect(lines.last == "1 to look after, \(document.counts.ok) ok")
    }
}
