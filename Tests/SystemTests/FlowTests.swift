import DBus
import Foundation
import TestSupport
import Testing

extension SystemTests {
    @Suite struct FlowTests {
        /// As a program reads it that knows nothing of ours.
        private func json(_ text: String) throws -> [String: Any] {
            try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
        }

        @Test func twoRecordersFromTheAirToTheCloud() async throws {
            let first = try Captures("interview", ["one.wav": 3 * mib + 77, "photo.jpg": 600 << 10])
            let second = try Captures("garden", ["walk.opus": 700_001])
            try second.add("memo", ["note.m4a": 1])
            try await Laboratory.run(first, second) { lab in
                let scan = try await lab.cli("scan", "--wait", "1", "--json")
                #expect(scan.status == 0)
                let found = try #require(try json(scan.output)["found"] as? [[String: Any]])
                #expect(
                    Set(found.compactMap { $0["address"] as? String })
                        == [Laboratory.address(1), Laboratory.address(2)])

                try await lab.logIn()
                for number in [1, 2] { try await lab.pair(number) }
                let sync = try await lab.cli("sync", "--wait", "100")
                #expect(sync.status == 0, "\(sync)")
                try await lab.waitUntilUploaded()
                try await checkReports(lab)
                try await lab.verify()
                // Only after that may the recorders have deleted anything, and now they have: files and manifests.
                try await lab.waitUntil("the recorders are empty") {
                    let counts = (try await lab.deletedObjects(on: 1), try await lab.deletedObjects(on: 2))
                    return counts.0.count == 3 && counts.1.count == 4
                }
            }
        }

        @Test func aCaptureThatIsSealedDuringAPullDoesNotWaitForTheNextInterval() async throws {
            let captures = try Captures("interview", ["one.wav": 3 * mib])
            try await Laboratory.run(captures) { lab in
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntil("a part of it has come") {
                    try await lab.sendings().bytes > 300_000
                }
                try captures.add("memo", ["note.m4a": 5000])
                try await lab.simulate("Rescan", .string(Laboratory.serial()))
                try await lab.waitUntilUploaded()
                try await lab.verify()
            }
        }

        private func checkReports(_ lab: Laboratory) async throws {
            let page = try json(try await lab.cli("sessions", "--json").output)
            let sessions = try #require(page["sessions"] as? [[String: Any]])
            #expect(page["total"] as? Int == 3)
            for session in sessions {
                #expect(session["state"] as? String == "imported")
                #expect(session["files"] as? Int == session["uploaded_files"] as? Int)
            }
            let largest = try #require(sessions.first { $0["files"] as? Int == 2 })
            let one = try json(
                try await lab.cli("session", try #require(largest["id"] as? String), "--json").output)
            let assets = try #require(one["assets"] as? [[String: Any]])
            #expect(
                Set(assets.compactMap { $0["confirmed_sha256"] as? String })
                    == Set(lab.setup.captures[0].files.map(\.sha256)))

            let device = try json(try await lab.cli("device", Laboratory.serial(1), "--json").output)
            #expect(device["id"] as? String == "CEL-0001")
            #expect(device["adapter"] as? String == "00:1A:7D:DA:71:13")
            #expect((device["battery"] as? [String: Any])?["percent"] as? Int == 87)
            #expect((device["storage"] as? [String: Any])?["total_bytes"] as? Int ?? 0 > 0)
            #expect((device["firmware"] as? String)?.isEmpty == false)
            #expect(device["data_plane"] as? String == "notification")

            let status = try await lab.cli("status", "--json")
            #expect(status.status == 0, "\(status)")
            let document = try json(status.output)
            #expect((document["health"] as? [Any])?.isEmpty == true)
            #expect((document["queue"] as? [String: Any])?["pending_assets"] as? Int == 0)
            #expect((document["account"] as? [String: Any])?["name"] as? String == "ada")
        }

        /// From 16 MiB on a file goes in chunks, whose size the cloud decides.
        @Test func aLargeFileGoesInChunks() async throws {
            let captures = try Captures("concert", ["long.wav": 16 * mib + 5])
            try await Laboratory.run(captures) { lab in
                try await lab.cloud.addFaults(
                    #"[{"route": "initializeChunkedUpload", "action": "chunk_size", "bytes": 3145728}]"#)
                try await lab.logIn()
                try await lab.pair()
                try await lab.waitUntilUploaded()
                try await lab.verify()
                #expect(try await lab.cloud.state().requests["uploadChunk"]?.requests == 6)
            }
        }
    }
}
