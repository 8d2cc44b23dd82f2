import Control
import DBus
import Foundation
import TestSupport
import Testing

extension SystemTests {
    @Suite struct PairingTests {
        private func captures() throws -> Captures { try Captures("first", ["one.wav": 20_001]) }

        private func pair(_ lab: Laboratory, _ options: String...) async throws -> Ending {
            try await Laboratory.celestiad(
                ["pair", "--device", Laboratory.address()] + options, lab.environment)
        }

        @Test func anotherNumberIsRefusedAndLeavesNoBond() async throws {
            try await Laboratory.run(try captures()) { lab in
                let file = lab.folder.path + "/other"
                try Data("482914\n".utf8).write(to: URL(fileURLWithPath: file))
                let refused = try await pair(lab, "--passkey-file", file)
                #expect(refused.says(1, ["the numbers differ: the pairing was refused", "→ "]), "\(refused)")
                #expect(try await lab.bonds() == [])
                #expect(try await lab.client.recorders().isEmpty)
                // It can be tried again at once.
                try await lab.pair()
                #expect(try await lab.bonds() == [Laboratory.address()])
            }
        }

        @Test func aRefusalOnTheRecorderIsTold() async throws {
            try await Laboratory.run(try captures(), recorderOptions: ["--confirm", "refuse"]) { lab in
                let refused = try await pair(lab, "--passkey-file", lab.folder.path + "/passkey")
                #expect(
                    refused.says(1, ["the recorder did not accept the pairing", "in pairing mode"]),
                    "\(refused)")
                #expect(try await lab.bonds() == [])
            }
        }

        /// The kernel keeps the link, and the pairing that nobody will end.
        @Test func aPairingThatEndedWithItsBluetoothdIsBegunAnew() async throws {
            try await Laboratory.run(try captures(), recorderOptions: ["--confirm", "manual"]) { lab in
                async let interrupted = pair(lab, "--passkey-file", lab.folder.path + "/passkey")
                try await lab.waitUntil("a pairing is under way") { try await lab.isConnected() }
                try await lab.simulate("RestartBluetoothd")
                #expect(try await interrupted.status != 0)
                #expect(try await lab.bonds() == [])
                #expect(try await lab.isConnected())
                async let again = pair(lab, "--passkey-file", lab.folder.path + "/passkey")
                try await lab.waitUntil("it is confirmed") {
                    try await lab.simulate("Confirm", .string(Laboratory.serial()), .boolean(true))
                    return try await lab.bonds() == [Laboratory.address()]
                }
                #expect(try await again.status == 0)
            }
        }

        @Test func thePasskeyIsEntered() async throws {
            try await Laboratory.run(try captures(), recorderOptions: ["--pairing", "passkey"]) { lab in
                let paired = try await pair(lab, "--passkey-file", lab.folder.path + "/passkey", "--json")
                #expect(paired.status == 0, "\(paired)")
                #expect(paired.output.contains(#""security":"passkey""#), "\(paired)")
            }
        }

        @Test func justWorksNeedsToBeAllowedAndIsCalledWhatItIs() async throws {
            try await Laboratory.run(try captures(), recorderOptions: ["--pairing", "just-works"]) { lab in
                let refused = try await pair(lab, "--yes")
                #expect(refused.says(1, ["Just Works", "--allow-just-works"]), "\(refused)")
                #expect(try await lab.bonds() == [])
                let allowed = try await pair(lab, "--yes", "--allow-just-works", "--json")
                #expect(allowed.status == 0, "\(allowed)")
                #expect(allowed.output.contains(#""security":"just_works""#), "\(allowed)")
                #expect(try await lab.bonds() == [Laboratory.address()])
            }
        }

        /// A bond that another program has made may be one that proves nothing.
        @Test func aBondOfSomebodyElsesMakingIsNotTakenOver() async throws {
            try await Laboratory.run(try captures()) { lab in
                try await lab.pair()
                let known = try await lab.cli("device", Laboratory.serial(), "--json")
                #expect(known.output.contains(#""security":"numeric_comparison""#), "\(known)")
                // As after another program's pairing: the machine is bonded, and celestiad knows nothing of it.
                #expect(await lab.endDaemon(SIGTERM) == 0)
                try FileManager.default.removeItem(atPath: lab.state)
                try await lab.startDaemon()
                #expect(try await lab.bonds() == [Laboratory.address()])
                let refused = try await pair(lab, "--passkey-file", lab.folder.path + "/passkey")
                #expect(refused.says(1, ["not by celestiad", "→ Add --repair"]), "\(refused)")
                #expect(try await lab.client.recorders().isEmpty)
                #expect(try await lab.bonds() == [Laboratory.address()])
                let repaired = try await pair(
                    lab, "--repair", "--passkey-file", lab.folder.path + "/passkey", "--json")
                #expect(repaired.status == 0, "\(repaired)")
                #expect(repaired.output.contains(#""security":"numeric_comparison""#), "\(repaired)")
            }
        }

        /// Whoever offers the same services is shown in a scan, and nothing more.
        @Test func aStrangerIsNeverConnected() async throws {
            let stranger = try Captures("strange", ["strange.wav": 30_001])
            try await Laboratory.run(try captures(), stranger) { lab in
                let connects = try await lab.watchConnects()
                try await lab.logIn()
                try await lab.pair(1)
                let scan = try await lab.cli("scan", "--wait", "1", "--json")
                #expect(scan.output.contains(Laboratory.address(2)), "\(scan)")
                #expect(try await lab.cli("sync", "--wait", "60").status == 0)
                try await lab.waitUntilUploaded([lab.setup.captures[0]])
                #expect(try connects.count(of: Laboratory.address(1)) > 0)
                #expect(try connects.count(of: Laboratory.address(2)) == 0)
                #expect(try await lab.bonds() == [Laboratory.address(1)])
            }
        }

        @Test func pairingTwiceChangesNothingUnlessAsked() async throws {
            try await Laboratory.run(try captures()) { lab in
                try await lab.pair()
                let again = try await pair(lab)
                #expect(again.says(0, ["was paired already; nothing was changed"]), "\(again)")
                let first = try await pair(lab, "--first-time")
                #expect(first.says(1, ["is paired already"]), "\(first)")
                #expect(try await lab.bonds() == [Laboratory.address()])
            }
        }

        @Test func forgettingRemovesTheBondAndKeepsTheFiles() async throws {
            try await Laboratory.run(try captures()) { lab in
                try await lab.pair()
                try await lab.waitUntilQueued()
                let unsure = try await lab.cli("forget", Laboratory.serial())
                #expect(unsure.says(2, ["not a terminal", "--yes"]), "\(unsure)")
                let forgotten = try await lab.cli("forget", Laboratory.serial(), "--yes")
                #expect(forgotten.status == 0, "\(forgotten)")
                #expect(try await lab.bonds() == [])
                let gone = try await lab.cli("device", Laboratory.serial())
                #expect(gone.says(4, ["there is no paired recorder CEL-0001"]), "\(gone)")
                try await lab.logIn()
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        @Test func whatIsNotThereIsNotPaired() async throws {
            try await Laboratory.run(try captures()) { lab in
                let unknown = try await lab.cli("pair", "--device", "CEL-9999", "--yes")
                #expect(
                    unknown.says(4, ["neither a Bluetooth address nor a known recorder", "celestiad scan"]),
                    "\(unknown)")
            }
        }
    }
}
