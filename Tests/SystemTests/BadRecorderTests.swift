import Control
import DBus
import TestSupport
import Testing

extension SystemTests {
    /// A recorder that says nonsense. Nothing of it may hurt the daemon, the other recorder, or the files that come once
    /// it is in its right mind again.
    @Suite struct BadRecorderTests {
        static let faults = [
            "listing=malformed", "listing=truncated", "listing=total", "listing=duplicate", "listing=noise",
            "manifest=malformed", "manifest=foreign", "manifest=oversized",
            "manifest=dangling", "manifest=deep",
        ]

        @Test(arguments: faults)
        func malformed(_ fault: String) async throws {
            let bad = try Captures("bad", ["one.wav": 60_001, "two.jpg": 40_001])
            let good = try Captures("good", ["three.wav": 50_001])
            try await Laboratory.run(bad, good) { lab in
                try await lab.logIn()
                try await lab.fault(fault)
                try await lab.pair(1)
                try await lab.pair(2)
                try await lab.waitUntil("the good one's file is in the cloud") {
                    try await lab.cloud.state().sessions.flatMap(\.assets)
                        .contains { $0.sha256.lowercased() == good.files[0].sha256 }
                }
                // Until it was looked at, whatever came of it.
                try await lab.waitForStatus("the bad one was tried") {
                    let recorder = $0.recorders.first { $0.id == Laboratory.serial(1) }
                    return recorder?.lastSync != nil || recorder?.incompleteSync != nil
                        || recorder?.link.state == "backing_off"
                }
                try await lab.simulate("ClearFaults", .string(Laboratory.serial(1)))
                _ = try await lab.cli("sync")
                try await lab.waitUntilUploaded()
                try await lab.verify()
                // What a listing leaves out is no reason to tear a capture apart.
                guard fault.hasPrefix("listing=") else { return }
                let sessions = try await lab.cloud.state().sessions.map { $0.assets.count }
                #expect(sessions.sorted() == [1, 2])
            }
        }

        /// Thousands of objects that are not there when they are asked for: the other recorder does not wait for them.
        @Test func phantoms() async throws {
            let bad = try Captures("bad", ["one.wav": 60_001])
            let good = try Captures("good", ["three.wav": 50_001])
            try await Laboratory.run(bad, good) { lab in
                try await lab.logIn()
                try await lab.fault("listing=flood")
                try await lab.pair(1)
                try await lab.pair(2)
                try await lab.waitUntil("the good one's file is in the cloud") {
                    try await lab.cloud.state().sessions.flatMap(\.assets)
                        .contains { $0.sha256.lowercased() == good.files[0].sha256 }
                }
                try await lab.waitForLink("idle")
                try await lab.simulate("ClearFaults", .string(Laboratory.serial(1)))
                _ = try await lab.cli("sync")
                try await lab.waitUntilUploaded()
                try await lab.verify()
                // Nothing is left of them: no session, and a log that can be read.
                #expect(try await lab.client.sessions(SessionQuery(limit: 500)).sessions.count == 2)
                let lines = lab.log().split(separator: "\n").filter { $0.contains("object 0000001") }
                #expect(lines.count < 100 && Set(lines).count == lines.count, "\(lines)")
            }
        }

        /// More files than there are hostile names, so that each name comes in each kind of place.
        @Test func hostileNames() async throws {
            let captures = try Captures(
                "bad",
                [
                    "a.wav": 1001, "b.wav": 1002, "c.wav": 1003, "d.wav": 1004, "e.wav": 1005, "f.wav": 1006,
                    "g.jpg": 1007, "h.jpg": 1008, "i.jpg": 1009, "j.jpg": 1010, "k.jpg": 1011,
                ])
            try await Laboratory.run(captures, recorderOptions: ["--fault", "hostile-names"]) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.verify()
                let names = try await lab.cloud.state().sessions.flatMap(\.assets).map(\.fileName)
                for name in names {
                    #expect(!name.isEmpty && name != ".." && name.utf8.count <= 255)
                    #expect(!name.contains { $0 == "/" || $0 == "\\" || $0 == "\0" || $0.isNewline })
                }
                // What people are shown has no control characters either.
                let sessions = try await lab.cli("sessions", "--json")
                #expect(sessions.status == 0)
                #expect(!sessions.output.contains("\u{1B}"))
            }
        }
    }
}
