import EventLoop
import Foundation
import TestSupport
import Testing

@testable import CaptureQueue

/// A queue of years. `CELESTIAD_BENCH_SESSIONS=100000` makes it as large as that and prints what was measured
/// (docs/reliability.md); by default it is small, and only what comes out is looked at: times are for benches.
@Suite struct ScaleTests {
    private static let sessions =
        ProcessInfo.processInfo.environment["CELESTIAD_BENCH_SESSIONS"].flatMap { Int($0) } ?? 300
    private static let files = 10
    private static var isBench: Bool { sessions > 10_000 }

    @Test func aQueueOfYears() async throws {
        let directory = TemporaryDirectory()
        let state = directory.path + "/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
        try Self.fill(state + "/queue.db")
        try Data("token".utf8).write(to: URL(filePath: state + "/queue.clean"))
        let before = Self.residentKiB
        let loop = try EventLoop.start(name: "queue")
        let queue = CaptureQueue(
            QueueConfiguration(directory: state, now: { QueueFixture.start }), executor: loop)
        let report = try await measure("start after a stop in order") { () async throws in
            try await queue.open()
        }
        #expect(report.wasClean)
        try await look(queue)
        try await work(queue)
        try await changeAccounts(queue)
        if Self.isBench { print("memory: \(Self.residentKiB - before) KiB more than before the start") }
        try await queue.close()
        loop.stop()
    }

    /// As a power cut leaves it: the database is checked, and every session's folder is looked at.
    @Test func aQueueOfYearsAfterAPowerCut() async throws {
        let directory = TemporaryDirectory()
        let state = directory.path + "/state"
        try FileManager.default.createDirectory(
            atPath: state + "/spool", withIntermediateDirectories: true)
        try Self.fill(state + "/queue.db")
        try Self.fillSpool(state)
        let loop = try EventLoop.start(name: "queue")
        let queue = CaptureQueue(
            QueueConfiguration(directory: state, now: { QueueFixture.start }), executor: loop)
        let report = try await measure("start after a power cut") { () async throws in
            try await queue.open()
        }
        #expect(!report.wasClean && report.lostAssets.isEmpty && report.foreign.isEmpty)
        _ = try await measure("what sessions wait for") { () async throws in
            try await queue.waits(host: QueueFixture.host)
        }
        try await queue.close()
        loop.stop()
    }

    /// The folders of everything that is still here, with files of the right sizes.
    private static func fillSpool(_ state: String) throws {
        let database = try Database(path: state + "/queue.db")
        defer { database.close() }
        let files = try database.all(
            "SELECT s.id, a.id, a.byte_size FROM assets AS a JOIN sessions AS s ON s.seq = a.session_seq"
                + " WHERE a.pull_state = 'stored'"
        ) { row throws(QueueError) in (try row.text(), try row.text(), try row.int64()) }
        for (session, asset, size) in files {
            mkdir("\(state)/spool/\(session)", 0o700)
            for (name, length) in [(asset, size), (asset + ".json", 2), ("session.json", 2)] {
                let file = open("\(state)/spool/\(session)/\(name)", O_WRONLY | O_CREAT, 0o600)
                ftruncate(file, off_t(length))
                close(file)
            }
        }
    }

    private func changeAccounts(_ queue: CaptureQueue) async throws {
        let open = try await queue.counts().sessions.filter { $0.key != .imported && $0.key != .cancelled }
            .values.reduce(0, +)
        for (what, name) in [
            ("the first login", "ada"), ("another account", "bob"), ("back again", "ada"),
            ("the same once more", "ada"),
        ] {
            try await measure(what) { () async throws in
                try await queue.use(account: name, name: name, host: QueueFixture.host)
            }
            let waits = try await queue.waits(host: QueueFixture.host).tallies
            let held = waits.first { $0.cause == .hold(.otherAccount) }?.sessions ?? 0
            #expect(held == (name == "bob" ? open : 0))
        }
    }

    private func look(_ queue: CaptureQueue) async throws {
        let (count, held) = (Self.sessions, Self.sessions / 100)
        let counts = try await measure("counts") { () async throws in try await queue.counts() }
        #expect(counts.sessions.values.reduce(0, +) == count)
        #expect(counts.unsentFiles == count / 10 * Self.files)
        let first = try await measure("sessions, first page of 50") { () async throws in
            try await queue.sessions(limit: 50)
        }
        #expect(first.sessions.count == 50)
        let middle = try await measure("sessions, the page in the middle") { () async throws in
            try await queue.sessions(offset: count / 2, limit: 50)
        }
        #expect(middle.sessions.first?.session.sequence == Int64(count - count / 2))
        let last = try await measure("sessions of one state, last page") { () async throws in
            try await queue.sessions(.state(.imported), offset: count - count / 10 - 50, limit: 50)
        }
        #expect(last.sessions.count == 50 && last.next == nil)
        let attention = try await measure("sessions --attention") { () async throws in
            (try await queue.sessions(.attention, limit: 1), try await queue.sessionCount(.attention))
        }
        #expect(attention.0.sessions.count == 1 && attention.1 == held)
        let id = try #require(SessionID(Sample.id(7)))
        let one = try await measure("session with its files") { () async throws in try await queue.session(id)
        }
        #expect(one?.assets.count == Self.files)
        let storage = try await measure("storage") { () async throws in try await queue.storageReport() }
        #expect(storage.troubles.damagedFiles == 0)
    }

    private func work(_ queue: CaptureQueue) async throws {
        let next = try await measure("next uploads") { () async throws in
            try await queue.nextUploads(host: QueueFixture.host)
        }
        let session = try #require(next.first)
        let job = try await measure("take a session in hand") { () async throws in
            try await queue.beginUpload(session.id)
        }
        #expect(job.pending.count == Self.files)
        let capture = Sample.capture(sizes: Array(repeating: 5, count: Self.files))
        let registered = try await measure("register a capture of 10 files") { () async throws in
            try await queue.register(capture)
        }
        #expect(registered.added.count == Self.files)
        let wanted = try await measure("what a recorder still has to give") { () async throws in
            try await queue.wantedAssets(recorder: Sample.serial, storageGeneration: Sample.generation)
        }
        #expect(wanted.count == Self.files)
    }

    /// The first time fills SQLite's caches, as in a daemon that has just started: it is the one that counts.
    private func measure<Value: Sendable>(
        _ what: String, _ body: () async throws -> Value
    ) async throws -> Value {
        let start = ContinuousClock.now
        let value = try await body()
        let time = start.duration(to: .now)
        if Self.isBench { print("\(what): \(time / .milliseconds(1)) ms") }
        return value
    }

    private static var residentKiB: Int {
        let fields =
            (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4 : 0
    }

    /// Nine in ten sessions imported long ago, the others waiting, one in a hundred of all held.
    private static func fill(_ path: String) throws {
        let database = try Database(path: path)
        defer { database.close() }
        try Schema.prepare(database)
        try database.execute("PRAGMA synchronous = OFF")
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(sessions))"
        let id = "printf('00000000-0000-4000-8000-%012x', i)"
        try database.transaction { () throws(QueueError) in
            try database.execute(
                "INSERT INTO recorders (serial, last_seen_at, storage_generation)"
                    + " VALUES ('\(Sample.serial)', 1, \(Sample.generation))")
            try database.execute(
                """
                \(numbers) INSERT INTO sessions (id, client_id, created_at, updated_at, source_kind, origin_device_id,
                    recorder_serial, storage_generation, target_host, started_text, started_at, duration_ms,
                    idempotency_scope, app_surface, remote_id)
                SELECT \(id), \(id), i, i, 'recorder', 'r', '\(Sample.serial)', \(Sample.generation),
                    '\(QueueFixture.host)', '2026', i, 1000, 'scope', 'x', 'remote' || i FROM n
                """)
            try database.execute(
                """
                WITH RECURSIVE f(j) AS (SELECT 0 UNION ALL SELECT j + 1 FROM f WHERE j < \(files - 1))
                INSERT INTO assets (id, session_seq, ordinal, client_id, kind, original_name, wire_name, mime_type,
                    byte_size, sha256, recorder_serial, storage_generation, source_key, recorder_state, pull_state,
                    pulled_bytes, upload_state, uploaded_bytes, remote_asset_id)
                SELECT printf('%08x-0000-4000-9000-%012x', j, seq), seq, j,
                    printf('%08x-0000-4000-9000-%012x', j, seq), 'AUDIO', 'a.wav', 'a.wav', 'audio/wav', 5,
                    printf('%064x', seq * 100 + j), recorder_serial, storage_generation,
                    printf('%012x', 16777216 + seq * 16 + j), 'deleted',
                    iif(seq % 10 = 0, 'stored', 'released'), 5, iif(seq % 10 = 0, 'pending', 'uploaded'),
                    iif(seq % 10 = 0, 0, 5), iif(seq % 10 = 0, NULL, 'a')
                FROM sessions, f
                """)
            try database.execute(
                """
                INSERT INTO receipts (session_seq, asset_seq, remote_id, client_id, sha256, byte_size, committed_at)
                    SELECT session_seq, seq, 'a', client_id, sha256, 5, 1 FROM assets WHERE upload_state = 'uploaded';
                INSERT INTO receipts (session_seq, remote_id, client_id, committed_at)
                    SELECT seq, remote_id, client_id, 1 FROM sessions WHERE seq % 10 <> 0;
                UPDATE sessions SET state = 'queued_offline';
                UPDATE sessions SET state = 'uploading', upload_began_at = 1 WHERE seq % 10 <> 0;
                UPDATE sessions SET state = 'awaiting_confirmation' WHERE seq % 10 <> 0;
                UPDATE sessions SET state = 'imported', imported_at = 1 WHERE seq % 10 <> 0;
                INSERT INTO holds (session_seq, reason, since)
                    SELECT seq, 'paused', 1 FROM sessions WHERE seq % 100 = 0;
                INSERT INTO meta VALUES ('clean_stop', 'token');
                """)
        }
    }
}
