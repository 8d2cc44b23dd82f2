import Control
import DBus
import Foundation
import TestSupport
import Testing

extension SystemTests {
    /// What is missing or wrong around the daemon: an exit status, what is wrong, and what to do.
    @Suite struct BadSurroundingsTests {
        // MARK: The bus

        @Test(arguments: ["run", "status", "scan"])
        func withoutABus(_ verb: String) async throws {
            let folder = TemporaryDirectory()
            let ending = try await Laboratory.celestiad(
                [verb],
                [
                    "CELESTIAD_BUS": "unix:path=\(folder.path)/none",
                    "CELESTIAD_STATE_DIRECTORY": folder.path + "/state",
                ])
            #expect(ending.says(13, ["no message bus at unix:path=\(folder.path)/none", "s D-Bus running?"]))
        }

        @Test func withoutADaemon() async throws {
            let bus = try TestBus()
            let ending = try await Laboratory.celestiad(["status"], ["CELESTIAD_BUS": bus.address])
            #expect(ending.says(5, ["celestiad is not running", "systemctl start celestiad"]), "\(ending)")
        }

        @Test func theBusGoesAway() async throws {
            try await Laboratory.run { lab in
                lab.bus.stop()
                #expect(await lab.endDaemon(0) == 13)
                #expect(lab.log().contains("message bus"))
            }
        }

        @Test func aSecondDaemon() async throws {
            try await Laboratory.run { lab in
                let other = try TestBus()
                let sameDirectory = try await lab.cli("run", environment: ["CELESTIAD_BUS": other.address])
                #expect(
                    sameDirectory.says(
                        12, ["the state directory is already in use by pid", "stop the other celestiad"]),
                    "\(sameDirectory)")
                let sameBus = try await lab.cli(
                    "run", environment: ["CELESTIAD_STATE_DIRECTORY": lab.folder.path + "/other"])
                #expect(sameBus.says(12, ["celestiad", "→ "]), "\(sameBus)")
                #expect(try await lab.client.status().account.state == "logged_out")
            }
        }

        // MARK: Bluetooth

        @Test func withoutBluetoothd() async throws {
            try await Laboratory.run { lab in
                let status = try await lab.cli("status")
                #expect(status.status == 14)
                #expect(status.output.contains("bluetoothd is not running"), "\(status)")
                #expect(status.output.contains("systemctl start bluetooth"), "\(status)")
                for verb in [["scan"], ["pair", "--device", Laboratory.address(), "--yes"]] {
                    let ending = try await Laboratory.celestiad(verb, lab.environment)
                    #expect(
                        ending.says(8, ["bluetoothd is not running", "systemctl start bluetooth"]),
                        "\(ending)")
                    #expect(!ending.errors.contains("adapter"), "\(ending)")
                }
            }
        }

        @Test func withoutAnAdapterThatCanBeUsed() async throws {
            let captures = try Captures("first", ["one.wav": 20_001])
            try await Laboratory.run(captures, recorderOptions: ["--bluez", "5.82"]) { lab in
                func expect(_ health: String, _ texts: [String]) async throws {
                    try await lab.waitForHealth(health)
                    for verb in [["scan"], ["pair", "--device", Laboratory.address(), "--yes"]] {
                        let ending = try await Laboratory.celestiad(verb, lab.environment)
                        #expect(ending.says(8, texts), "\(verb): \(ending)")
                    }
                }
                try await lab.power(false)
                try await expect("adapter_off", ["Bluetooth adapter", "off", "bluetoothctl power on"])
                try await lab.simulate("SetBlocked", .string("hci0"), .boolean(true))
                try await expect("adapter_blocked", ["rfkill unblock bluetooth"])
                try await lab.simulate("RemoveAdapter", .string("hci0"))
                try await expect("adapter_absent", ["there is no Bluetooth adapter", "lug one in"])
            }
        }

        // MARK: The state directory

        @Test func aStateDirectoryThatCannotBeMade() async throws {
            let (bus, folder) = (try TestBus(), TemporaryDirectory())
            let file = folder.path + "/file"
            try Data().write(to: URL(fileURLWithPath: file))
            for path in [file, file + "/below"] {
                let ending = try await Laboratory.celestiad(
                    ["run"], ["CELESTIAD_BUS": bus.address, "CELESTIAD_STATE_DIRECTORY": path])
                #expect(ending.says(1, [path, "Not a directory", "StateDirectory"]), "\(ending)")
            }
        }

        @Test(.disabled(if: getuid() == 0, "root may write everywhere"))
        func aStateDirectoryThatMayNotBeWritten() async throws {
            let (bus, folder) = (try TestBus(), TemporaryDirectory())
            try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.path)
            let ending = try await Laboratory.celestiad(
                ["run"],
                ["CELESTIAD_BUS": bus.address, "CELESTIAD_STATE_DIRECTORY": folder.path + "/state"])
            #expect(ending.says(1, [folder.path, "Permission denied", "StateDirectory"]), "\(ending)")
        }

        // MARK: The configuration

        @Test(arguments: [
            ("[General]\nStateDirectry=/x\n", [":2:", "Did you mean [General] StateDirectory?"]),
            ("# fine\n[Cloud]\nURL\n", [":3:", "\"URL\" is not understood", "Key=Value"]),
            ("Delete=never\n", [":1:", "after a [Section] line"]),
            ("[Recorder]\nDelete=sometimes\n", [":2:", "after-upload, after-queue or never"]),
            ("[Upload]\n\nParallel=9\n", [":3:", "a whole number from 1 to 4"]),
            ("[Cloud]\nURL=http://example.com/api\n", [":2:", "example.com", "plain http", "https"]),
            ("[Cloud]\nURL=https://ada:countess@example.com/\n", [":2:", "user information"]),
            ("[Cloud]\nCAFile=/nope\n", [":2:", "/nope", "No such file"]),
            ("[Cloud]\nPinnedPublicKey=sha256//abc\n", [":2:", "no SHA-256"]),
            ("[Cloud]\nURL=gopher://example.com\n", [":2:", "an https URL"]),
        ])
        func aConfigurationThatIsWrong(_ text: String, _ texts: [String]) async throws {
            let (bus, folder) = (try TestBus(), TemporaryDirectory())
            let file = folder.path + "/celestiad.conf"
            try Data(text.utf8).write(to: URL(fileURLWithPath: file))
            let ending = try await Laboratory.celestiad(
                ["run", "--config", file],
                ["CELESTIAD_BUS": bus.address, "CELESTIAD_STATE_DIRECTORY": folder.path + "/state"])
            #expect(ending.says(2, texts + ["→ "]), "\(ending)")
            #expect(!ending.errors.contains("countess"), "\(ending)")
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/state/queue.db"))
        }

        @Test func aConfigurationThatCannotBeRead() async throws {
            let folder = TemporaryDirectory()
            let binary = folder.path + "/binary"
            try Data([0x5B, 0xFF, 0xFE]).write(to: URL(fileURLWithPath: binary))
            for (path, text) in [
                (folder.path + "/none", "does not exist"), (folder.path, "Is a directory"),
                (binary, "is not UTF-8 text"),
            ] {
                let ending = try await Laboratory.celestiad(["run", "--config", path], [:])
                #expect(ending.says(2, [path, text, "→ "]), "\(ending)")
            }
        }
    }
}
