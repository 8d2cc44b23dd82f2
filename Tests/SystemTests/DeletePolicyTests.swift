import Control
import TestSupport
import Testing

extension SystemTests {
    @Suite struct DeletePolicyTests {
        /// What is deleted on the recorder once the hub has everything, and once the cloud has.
        @Test(arguments: [("after-upload", 0, 5), ("after-queue", 5, 5), ("never", 0, 0)])
        func deletesWhatThePolicyAllows(_ policy: String, _ onceQueued: Int, _ onceUploaded: Int) async throws
        {
            let captures = try Captures("first", ["one.wav": 100_001, "two.jpg": 50_001])
            try captures.add("second", ["three.opus": 1])
            try await Laboratory.run(captures, environment: ["CELESTIAD_RECORDER_DELETE": policy]) { lab in
                try #require(captures.files.count + captures.captures == 5)
                try await lab.pair()
                try await lab.waitUntilQueued()
                try await settle(lab)
                try await waitForDeletes(lab, onceQueued)
                #expect(try await lab.deletedObjects().count == onceQueued)
                // Nobody is logged in: the cloud holds nothing yet.
                #expect(try await lab.cloud.state().sessions.isEmpty)
                try await lab.logIn()
                try await lab.waitUntilUploaded()
                try await waitForDeletes(lab, onceUploaded)
                try await settle(lab)
                #expect(try await lab.deletedObjects().count == onceUploaded)
                try await lab.verify()
            }
        }

        /// A whole look at the recorder, after which nothing more is deleted.
        private func settle(_ lab: Laboratory) async throws {
            let before = try await lab.client.status().time
            try await lab.waitUntil("the recorder was looked at") {
                try await lab.client.sync(recorder: nil)
                return try await lab.client.recorders().first?.lastSync.map { $0 > before } ?? false
            }
        }

        private func waitForDeletes(_ lab: Laboratory, _ count: Int) async throws {
            try await lab.waitUntil("\(count) objects are deleted") {
                try await lab.deletedObjects().count == count
            }
        }
    }
}
