import CaptureQueue
import Cloud
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// Files that are gone or changed, and sessions that were discarded in doubt: the cloud is asked, and nothing is left there
/// that means nothing.
@Suite(.serialized, .timeLimit(.minutes(3))) struct LossTests {
    private func path(_ fixture: UploadFixture, _ session: SessionID) async throws -> String {
        let asset = try #require(try await fixture.queue.session(session)?.assets.first?.id)
        try await fixture.queue.settleDelete(.asset(asset), .deleted)
        return "\(fixture.directory.path)/state/spool/\(session)/\(asset)"
    }

    private func flip(_ path: String) throws {
        var data = try Data(contentsOf: URL(filePath: path))
        data[10] ^= 1
        try data.write(to: URL(filePath: path))
    }

    /// The metadata is not sent before the files were looked at: a session without files would stay in the cloud.
    @Test func aDamagedFileLeavesNoEmptySessionInTheCloud() async throws {
        let fixture = try await UploadFixture()
        let session = try await fixture.capture(1, sizes: [1000])
        try flip(try await path(fixture, session))
        fixture.start()
        try await fixture.until(60, "the failure") {
            try await fixture.state(session) == .failedTerminal
        }
        try await fixture.stop()
        #expect(try await fixture.cloud.state().sessions.isEmpty)
    }

    /// The cloud has the file and this hub's database does not know it: no loss, once it was asked.
    @Test(arguments: [true, false]) func aFileThatIsGoneHereMayBeThere(_ isThere: Bool) async throws {
        let fixture = try await UploadFixture()
        let session = try await fixture.capture(1, sizes: [1000])
        let path = try await path(fixture, session)
        if isThere {
            try await fixture.cloud.addFaults(
                #"[{"route":"uploadAsset","action":"drop_after_commit","times":1}]"#)
            try await fixture.cloud.addFaults(
                #"[{"route":"listSessions","action":"status","status":503,"times":100}]"#)
            fixture.start()
            try await fixture.until(60, "the asset is in the cloud") {
                try await fixture.cloud.state().sessions.first?.assets.count == 1
            }
            try await fixture.crash()
            try await fixture.cloud.clearFaults()
        } else {
            try await fixture.crash()
        }
        try FileManager.default.removeItem(atPath: path)
        let after = try await UploadFixture(earlier: fixture)
        after.start()
        try await after.until(60, "the answer") {
            try await after.state(session) == (isThere ? .imported : .failedTerminal)
        }
        try await after.stop()
        #expect(try await after.cloud.state().sessions.count == (isThere ? 1 : 0))
    }

    @Test func whatWasDiscardedInDoubtIsLookedUpOnce() async throws {
        let fixture = try await UploadFixture()
        let session = try await fixture.capture(1, sizes: [1000])
        try await fixture.cloud.addFaults(
            #"[{"route":"upsertSession","action":"drop_after_commit","times":1}]"#)
        try await fixture.cloud.addFaults(
            #"[{"route":"listSessions","action":"status","status":503,"times":1000}]"#)
        fixture.start()
        try await fixture.until(60, "the doubt") {
            try await fixture.queue.session(session)?.summary.isAmbiguous == true
        }
        try await fixture.queue.cancel(session)
        try await fixture.cloud.clearFaults()
        try await fixture.until(60, "the answer") {
            try await fixture.queue.session(session)?.intents.isEmpty == true
        }
        try await fixture.stop()
        let detail = try #require(try await fixture.queue.session(session))
        let state = try await fixture.cloud.state()
        #expect(detail.summary.session.state == .cancelled)
        #expect(detail.summary.session.remoteID == state.sessions.first?.id)
        // Looked up, not sent to.
        #expect(state.sessions.first?.assets.isEmpty == true)
    }
}
