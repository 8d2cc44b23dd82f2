import EventLoop
import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// Rules of the capture-session contract that no other suite tests (docs/capture-contract.md).
@Suite struct ContractTests {
    /// F-2
    @Test func thirtyDaysWithoutACloudLoseNothing() async throws {
        var fixture = try await QueueFixture()
        let sessions = [
            try await fixture.stored(Sample.id(1), sizes: [2500, 40]), try await fixture.stored(Sample.id(2)),
        ]
        let digests = try await fixture.digests(sessions)
        for day in 1...30 {
            for session in sessions {
                _ = try await fixture.queue.beginUpload(session)
                try await fixture.queue.fail(
                    session, message: "the cloud cannot be reached",
                    nextTry: fixture.clock.withLock { $0 + 3600 })
            }
            // Half of the nights the power goes, the others the hub is switched off.
            let directory = try day.isMultiple(of: 2) ? fixture.snapshot() : fixture.directory
            let time = fixture.clock.withLock { $0 + 86_400 }
            try await fixture.queue.close()
            fixture = try await QueueFixture(directory) { $0.now = { time } }
            #expect(try await fixture.digests(sessions) == digests, "day \(day)")
            fixture.clock.withLock { $0 = time }
        }
        #expect(try await fixture.queue.nextUploads(host: QueueFixture.host).map(\.id) == sessions)
    }

    /// F-5
    @Test func twentyFailuresChangeNoIdentity() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        func identity() async throws -> [String] {
            let detail = try #require(try await fixture.queue.session(session))
            let record = detail.summary.session
            let keys = UploadOperation.allCases.map {
                Identity.idempotencyKey(session: session, asset: detail.assets[0].id, operation: $0)
            }
            return [record.id.text, record.clientID, record.idempotencyScope, record.targetHost]
                + detail.assets.flatMap { [$0.id.text, $0.clientID] } + keys
        }
        let before = try await identity()
        for _ in 1...20 {
            _ = try await fixture.queue.beginUpload(session)
            try await fixture.queue.fail(session, message: "no", nextTry: fixture.clock.withLock { $0 })
        }
        #expect(try await identity() == before)
        #expect(try await fixture.queue.session(session)?.summary.session.retryCount == 20)
    }

    /// F-25
    @Test func anotherRemoteIdentityIsRefused() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.stored()
        _ = try await fixture.queue.beginUpload(session)
        try await fixture.upsert(session)
        let queue = fixture.queue
        #expect(
            await code {
                try await queue.commitUpsert(
                    session: session, remoteID: "another", revision: 9, payloadDigest: "p")
            } == .identityClash)
        #expect(
            await code {
                try await queue.commitRemoteState(
                    session: session, remoteID: "another", revision: 9, snapshot: "")
            } == .identityClash)
        #expect(try await queue.session(session)?.summary.session.remoteID == "remote-\(session)")
    }

    /// Another program has the database open: a clear word, nothing touched, and once it is gone all is well.
    @Test func aDatabaseThatIsInUseIsNotTouched() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.stored()
        try await fixture.queue.close()
        let other = try Database(path: fixture.state + "/queue.db")
        try other.execute("BEGIN EXCLUSIVE")
        #expect(await code { _ = try await fixture.queue.open() } == .alreadyInUse)
        try other.execute("ROLLBACK")
        other.close()
        #expect(try await fixture.queue.open().setAside == nil)
        try await fixture.queue.close()
    }
}

extension QueueFixture {
    /// The SHA-256 of every file of these sessions, as it lies in the spool.
    fileprivate func digests(_ sessions: [SessionID]) async throws -> [SHA256Digest] {
        var digests: [SHA256Digest] = []
        for session in sessions {
            for asset in try await queue.session(session)?.assets ?? [] {
                let bytes = FileManager.default.contents(atPath: path(session, asset.id.text)) ?? Data()
                digests.append(SHA256.digest(of: Array(bytes)))
            }
        }
        return digests
    }
}

/// The document that maps rules to tests.
@Suite struct ContractDocumentTests {
    @Test func everyTestThatItNamesExists() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let text = try String(contentsOf: root.appending(path: "docs/capture-contract.md"), encoding: .utf8)
        var tests: Set<String> = []
        let files = FileManager.default.enumerator(
            at: root.appending(path: "Tests"), includingPropertiesForKeys: nil)
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            var suite = ""
            for match in try String(contentsOf: file, encoding: .utf8)
                .matches(
                    of: /^ *(?:@\w+(?:\([^\n]*\))? )*(?:struct|extension|final class|(func)) (\w+)/
                        .anchorsMatchLineEndings())
            {
                if match.1 == nil { suite = String(match.2) } else { tests.insert("\(suite).\(match.2)") }
            }
        }
        var suite = ""
        var count = 0
        // `.test` belongs to the suite before it.
        for match in text.matches(of: /`(\w*)\.(\w+)`/) where match.1.isEmpty || match.1.hasSuffix("Tests") {
            if !match.1.isEmpty { suite = String(match.1) }
            #expect(tests.contains("\(suite).\(match.2)"), "there is no \(suite).\(match.2)")
            count += 1
        }
        #expect(count > 50)
    }
}
