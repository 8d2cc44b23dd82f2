import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

@Suite struct SchemaTests {
    let directory = TemporaryDirectory()

    func database() throws -> Database {
        let database = try Database(path: directory.path + "/queue.db")
        try Schema.prepare(database)
        return database
    }

    static let insertSession = """
        INSERT INTO sessions (id, client_id, created_at, updated_at, source_kind, origin_device_id,
            target_host, started_text, started_at, duration_ms, idempotency_scope, app_surface)
        VALUES (?, ?, 1, 1, 'watched_folder', 'hub', 'https://a', '', 0, 0, 'scope', 'x')
        """

    func seeded() throws -> Database {
        let database = try database()
        try database.run(Self.insertSession, Sample.id(1), Sample.id(1))
        return database
    }

    @Test func pragmas() throws {
        let database = try database()
        #expect(try database.number("PRAGMA synchronous") == 2)
        #expect(try database.number("PRAGMA foreign_keys") == 1)
        #expect(try database.number("PRAGMA application_id") == Schema.applicationID)
        #expect(try database.number("PRAGMA user_version") == Int64(Schema.migrations.count))
        let mode = try database.first("PRAGMA locking_mode") { row throws(QueueError) in try row.text() }
        #expect(mode == "exclusive")
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/queue.db-shm"))
    }

    @Test func everyTableIsStrict() throws {
        let loose = try database().all(
            "SELECT name FROM pragma_table_list WHERE type = 'table' AND strict = 0 AND name NOT LIKE 'sqlite_%'"
        ) { row throws(QueueError) in try row.text() }
        #expect(loose.isEmpty)
    }

    @Test func transitionsInTheFileAreThoseOfTheMachine() throws {
        let stored = try database().all("SELECT old, new FROM transitions") { row throws(QueueError) in
            try row.text() + ">" + row.text()
        }
        var machine: Set<String> = []
        for (state, row) in SessionMachineTests.table {
            for next in row.values where next != state {
                machine.insert(state.rawValue + ">" + next.rawValue)
            }
        }
        #expect(Set(stored) == machine)
    }

    @Test(arguments: [
        "UPDATE sessions SET state = 'imported'", "UPDATE sessions SET state = 'uploading'",
        "UPDATE sessions SET state = 'done'", "UPDATE sessions SET id = 'x'",
        "UPDATE sessions SET client_id = 'x'", "UPDATE sessions SET idempotency_scope = 'x'",
        "UPDATE sessions SET created_at = 2", "DELETE FROM sessions", "UPDATE sessions SET revision = 'x'",
        "UPDATE sessions SET target_host = ''",
        """
        INSERT INTO sessions (id, client_id, state, created_at, updated_at, source_kind, origin_device_id,
            target_host, started_text, started_at, duration_ms, idempotency_scope, app_surface)
        VALUES ('i', 'c', 'queued_offline', 1, 1, 'watched_folder', 'hub', 'https://a', '', 0, 0, 's', 'x')
        """,
    ])
    func forbidden(_ sql: String) throws {
        let database = try seeded()
        #expect(throws: QueueError.self) { try database.run(sql) }
        #expect(try database.number("SELECT count(*) FROM sessions WHERE state = 'draft'") == 1)
    }

    @Test func hostIsImmutableOnceUploadBegan() throws {
        let database = try seeded()
        try database.run("UPDATE sessions SET target_host = 'https://b'")
        try database.run("UPDATE sessions SET upload_began_at = 5")
        for sql in ["target_host = 'https://c'", "upload_began_at = NULL", "upload_began_at = 6"] {
            #expect(throws: QueueError.self) { try database.run("UPDATE sessions SET " + sql) }
        }
        #expect(try database.number("SELECT 1 FROM sessions WHERE target_host = 'https://b'") == 1)
    }

    @Test func importedNeedsReceiptsAndIsTerminal() throws {
        let database = try seeded()
        for state in ["queued_offline", "uploading", "awaiting_confirmation"] {
            try database.run("UPDATE sessions SET state = ?", state)
        }
        #expect(throws: QueueError.self) { try database.run("UPDATE sessions SET state = 'imported'") }
        try database.run(
            "INSERT INTO receipts (session_seq, remote_id, client_id, committed_at) VALUES (1, 'r', 'c', 1)")
        try database.run("UPDATE sessions SET state = 'imported'")
        for state in SessionState.allCases where state != .imported {
            #expect(throws: QueueError.self) { try database.run("UPDATE sessions SET state = ?", state) }
        }
        #expect(throws: QueueError.self) { try database.run("UPDATE receipts SET remote_id = 'x'") }
        #expect(throws: QueueError.self) { try database.run("DELETE FROM receipts") }
    }

    @Test func remoteIdentityAndRevisionNeverGoBack() throws {
        let database = try seeded()
        try database.run("UPDATE sessions SET remote_id = 'r', revision = 5")
        for sql in ["remote_id = 's'", "remote_id = NULL", "revision = 4", "revision = NULL"] {
            #expect(throws: QueueError.self) { try database.run("UPDATE sessions SET " + sql) }
        }
        try database.run("UPDATE sessions SET revision = 6")
    }

    @Test func provenanceIsAppendOnly() throws {
        let database = try seeded()
        try database.run("INSERT INTO provenance VALUES (1, 0, 1, '{}')")
        #expect(throws: QueueError.self) { try database.run("UPDATE provenance SET step = 'x'") }
        #expect(throws: QueueError.self) { try database.run("DELETE FROM provenance") }
    }

    @Test func holdsAreCounted() throws {
        let database = try seeded()
        try database.run(
            "INSERT INTO holds (session_seq, reason, since) VALUES (1, 'quota', 1), (1, 'auth', 1)")
        #expect(try database.number("SELECT held FROM sessions") == 2)
        try database.run("DELETE FROM holds")
        #expect(try database.number("SELECT held FROM sessions") == 0)
    }

    @Test(arguments: [
        UploadQueries.ready, UploadQueries.due, UploadQueries.nextTime, UploadQueries.pending,
        UploadQueries.uploads, RecorderQueries.deletableAssets, RecorderQueries.deletableManifests,
        RecorderQueries.deletableAsset, RecorderQueries.deletableManifest,
        RecorderQueries.knownAssets, RecorderQueries.knownManifests, PullQueries.wanted,
        SessionQueries.page(.all, ofRecorder: false), SessionQueries.page(.all, ofRecorder: true),
        SessionQueries.page(.state(.imported), ofRecorder: false),
        SessionQueries.page(.state(.imported), ofRecorder: true),
        SessionQueries.page(.attention, ofRecorder: false), SessionQueries.page(.attention, ofRecorder: true),
        SessionQueries.count(.attention, ofRecorder: false), SessionQueries.count(.all, ofRecorder: true),
        ImportQueries.content, ImportQueries.lost, StorageQueries.oldestKept, StorageQueries.kept,
        StorageQueries.cancelled, TroubleQueries.damaged, VerificationQueries.page, WaitQueries.holdCounts,
        WaitQueries.firstHeld, WaitQueries.retries, WaitQueries.otherHosts, WaitQueries.free,
        WaitQueries.openHosts, HoldQueries.isHeld, HoldQueries.release, HoldQueries.releaseQuota,
        ReconcileQueries.stored, ReconcileQueries.storedInSession, ReconcileQueries.wanted,
        "SELECT count(*) FROM sessions WHERE held > 0",
        AccountQueries.isCurrent, AccountQueries.current, AccountQueries.hasUnclaimed,
        AccountQueries.claimSessions,
        AccountQueries.release, AccountQueries.hold, AccountQueries.others,
        TakenQueries.isTaken, TakenQueries.below, TroubleQueries.refused, TroubleQueries.refusedCount,
        SessionQueries.ambiguous, SessionQueries.discardedInDoubt, RestoreQueries.lost,
        "SELECT seq FROM sessions WHERE release_at <= ? AND state = 'imported' LIMIT 9",
        "SELECT id FROM sessions WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT ?2",
    ])
    func hotQueriesSearchIndexes(_ sql: String) throws {
        let plan = try database().all("EXPLAIN QUERY PLAN " + sql) { row throws(QueueError) in
            _ = try row.int64()
            _ = try row.int64()
            _ = try row.int64()
            return try row.text()
        }
        #expect(!plan.isEmpty)
        // A partial index is no bigger than what it is for.
        let small = [
            "sessions_held", "assets_damaged", "assets_stored", "hold_counts", "open_sessions", "SCAN o",
            "taken_refused", "SCAN i", "inflight_once", "inflight_ambiguous", "sessions_release", "(subquery",
            "recorder_accounts",
        ]
        let scans = plan.filter { step in
            step.hasPrefix("SCAN") && !small.contains { step.contains($0) }
        }
        #expect(scans.isEmpty, "\(plan)")
    }

    @Test func readyQueryNeedsNoSort() throws {
        let plan = try database().all("EXPLAIN QUERY PLAN " + UploadQueries.ready) { row throws(QueueError) in
            for _ in 0..<3 { _ = try row.int64() }
            return try row.text()
        }
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }

    @Test func newerSchemaIsRefused() throws {
        let database = try database()
        try database.execute("PRAGMA user_version = 99")
        let error = #expect(throws: QueueError.self) { try Schema.prepare(database) }
        #expect(error?.code == .foreignSchema)
        #expect(error?.message.contains("version 99") == true)
        // A copy is named only where there is one.
        #expect(error?.hint?.contains("before-v") == false)
        let backups: Set = ["queue.db.before-v2", "queue.db.before-v3"]
        let named = #expect(throws: QueueError.self) { try Schema.prepare(database, backups: backups) }
        #expect(named?.hint?.contains("queue.db.before-v3") == true)
    }

    @Test(arguments: ["PRAGMA application_id = 1", "CREATE TABLE other (x)", "PRAGMA user_version = 1"])
    func anotherProgramsDatabaseIsRefused(_ sql: String) throws {
        let database = try Database(path: directory.path + "/other.db")
        try database.execute(sql)
        let error = #expect(throws: QueueError.self) { try Schema.prepare(database) }
        #expect(error?.code == .foreignSchema)
    }

    @Test func failedTransactionChangesNothing() throws {
        let database = try seeded()
        #expect(throws: QueueError.self) {
            try database.transaction { () throws(QueueError) in
                try database.run("UPDATE sessions SET title = 'x'")
                try database.run("UPDATE sessions SET state = 'imported'")
            }
        }
        #expect(try database.number("SELECT count(*) FROM sessions WHERE title = 'x'") == 0)
    }

    @Test func errorsCarryNoValues() throws {
        let database = try seeded()
        let error = #expect(throws: QueueError.self) {
            try database.run("UPDATE sessions SET state = ?", "a secret text")
        }
        #expect(error?.description.contains("secret") == false)
        // Statements are for the log, not for people.
        #expect(error?.description.contains("UPDATE sessions SET state") == true)
        #expect(error?.message.contains("UPDATE") == false)
    }

    @Test func textRoundTrips() throws {
        let database = try database()
        for text in ["", "日記", "a\u{0}b", "'; DROP TABLE sessions; --"] {
            let back = try database.first("SELECT ?", text) { row throws(QueueError) in try row.text() }
            #expect(back == text)
        }
        let blob = try database.first("SELECT ?", [UInt8]()) { row throws(QueueError) in try row.blob() }
        #expect(blob == [])
    }
}
