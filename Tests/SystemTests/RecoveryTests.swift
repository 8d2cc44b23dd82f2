import DBus
import TestSupport
import Testing

extension SystemTests {
    /// What happens to Bluetooth while the daemon runs. It goes on without a restart, and without hammering.
    @Suite struct RecoveryTests {
        /// Something that goes wrong, what the status says of it, and how it becomes right again.
        struct Trouble: Sendable, CustomTestStringConvertible {
            let testDescription: String
            let health: String?
            let begin: @Sendable (Laboratory) async throws -> Void
            let end: @Sendable (Laboratory) async throws -> Void
        }

        static let troubles = [
            Trouble(testDescription: "bluetoothd is restarted", health: nil) {
                try await $0.simulate("RestartBluetoothd")
            } end: { _ in
            },
            Trouble(testDescription: "bluetoothd is gone for a while", health: "bluetoothd_absent") {
                try await $0.simulate("StopBluetoothd")
            } end: {
                try await $0.simulate("StartBluetoothd")
            },
            Trouble(
                testDescription: "the adapter is plugged out and comes as hci1", health: "adapter_absent"
            ) {
                try await $0.simulate("RemoveAdapter", .string("hci0"))
            } end: {
                try await $0.simulate("AddAdapter", .string("hci1"), .string("00:1A:7D:DA:71:13"))
            },
            Trouble(testDescription: "the adapter is switched off", health: "adapter_off") {
                try await $0.power(false)
            } end: {
                try await $0.power(true)
            },
            Trouble(testDescription: "the link is lost", health: nil) {
                try await $0.simulate("CutLink", .string(Laboratory.serial()))
            } end: { _ in
            },
        ]

        @Test(arguments: troubles)
        func goesOnAfter(_ trouble: Trouble) async throws {
            let captures = try Captures("first", ["one.wav": 100_001])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.waitForLink("idle")
                let connects = try await lab.watchConnects()
                try await trouble.begin(lab)
                if let health = trouble.health { try await lab.waitForHealth(health) }
                #expect(try connects.count() <= 3)
                try await trouble.end(lab)
                try captures.add("second", ["two.wav": 100_003])
                try await lab.simulate("Rescan", .string(Laboratory.serial()))
                try await lab.waitForLink("idle")
                _ = try await lab.cli("sync")
                try await lab.waitUntilUploaded()
                try await lab.verify()
                #expect(try connects.count() <= 6)
                #expect(try await lab.cli("status").status == 0)
            }
        }

        /// It is waited for to the end, and what is missing is said then.
        @Test func aRecorderOutOfReachIsWaitedForWithoutConnecting() async throws {
            let captures = try Captures("first", ["one.wav": 100_001])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.simulate("SetInRange", .string(Laboratory.serial()), .boolean(false))
                try await lab.waitForLink("absent")
                let inVain = try await lab.cli("sync", "--wait", "2")
                #expect(inVain.says(3, ["it is not in reach", "within 2 s"]), "\(inVain)")
                async let sync = lab.cli("sync", "--wait", "60")
                try await lab.simulate("SetInRange", .string(Laboratory.serial()), .boolean(true))
                let ending = try await sync
                #expect(ending.says(0, ["all is in the cloud"]), "\(ending)")
                try await lab.verify()
            }
        }

        /// Nobody waits for what only he himself can mend.
        @Test func aSyncWithoutBluetoothEndsAtOnce() async throws {
            let captures = try Captures("first", ["one.wav": 100_001])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.power(false)
                try await lab.waitForHealth("adapter_off")
                let off = try await lab.cli("sync", "--wait", "60")
                #expect(off.says(10, ["the Bluetooth adapter is off → bluetoothctl power on"]), "\(off)")
                try await lab.simulate("StopBluetoothd")
                try await lab.waitForHealth("bluetoothd_absent")
                let stopped = try await lab.cli("sync", "--wait", "60")
                #expect(
                    stopped.says(10, ["bluetoothd is not running → sudo systemctl start bluetooth"]),
                    "\(stopped)")
            }
        }

        /// A link that is cut is made again, and the sync goes on with it.
        @Test func aSyncOutlivesACutLink() async throws {
            let captures = try Captures("first", ["one.wav": 100_001])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try captures.add("second", ["two.wav": 3_000_003])
                try await lab.simulate("Rescan", .string(Laboratory.serial()))
                try await lab.fault("cut-after=1000000")
                let sync = try await lab.cli("sync", "--wait", "60")
                #expect(sync.says(0, ["all is in the cloud"]), "\(sync)")
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        /// Pairs anew as status says, after which all is well.
        private func repair(_ lab: Laboratory) async throws {
            let repair = try await lab.cli(
                "pair", "--device", Laboratory.serial(), "--repair", "--passkey-file",
                lab.folder.path + "/passkey")
            #expect(repair.status == 0, "\(repair)")
            try await lab.waitForLink("idle")
            #expect(try await lab.cli("status").status == 0)
            try await lab.verify()
        }

        /// BlueZ says so only since 5.82.
        @Test(arguments: ["5.66", "5.82"])
        func aLostBondIsToldAndRepaired(_ version: String) async throws {
            let captures = try Captures("first", ["one.wav": 100_001])
            try await Laboratory.run(captures, recorderOptions: ["--bluez", version]) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.waitForLink("idle")
                let connects = try await lab.watchConnects()
                try await lab.simulate("LoseBonds", .string(Laboratory.serial()))
                try await lab.waitForHealth("recorder_needs_user")
                let status = try await lab.cli("status")
                #expect(status.status == 14)
                #expect(status.output.contains("celestiad pair --device CEL-0001 --repair"), "\(status)")
                #expect(try connects.count() <= 4)
                try await repair(lab)
            }
        }

        /// The recorder keeps its half, and asks for the security of that bond as soon as it is connected.
        @Test func aBondThatTheHubLostIsToldAndRepaired() async throws {
            let captures = try Captures("first", ["one.wav": 100_001])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.waitForLink("idle")
                try await lab.forgetDevice()
                try await lab.waitForHealth("recorder_needs_user")
                try await repair(lab)
            }
        }
    }
}
