import CaptureQueue
import Control
import Foundation
import TestSupport
import Testing

extension SystemTests {
    /// What users do to sessions and with files of their own, by the command line, as it comes out in the cloud.
    @Suite struct SessionVerbTests {
        /// A file to import, and what the cloud must then have.
        private func file(_ name: String, _ size: Int, in lab: Laboratory) throws -> (
            path: String, sha256: String
        ) {
            let folder = lab.folder.path + "/card"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            var generator = SeededGenerator(seed: UInt64(size))
            let bytes = generator.bytes(size)
            try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
            return ("\(folder)/\(name)", SHA256Digest(hashing: bytes).hex)
        }

        private func waitForCloud(_ digests: Set<String>, _ lab: Laboratory) async throws {
            try await lab.waitUntil("the cloud has \(digests.count) files") {
                let assets = try await lab.cloud.state().sessions.flatMap(\.assets)
                return Set(assets.map { $0.sha256.lowercased() }) == digests && assets.count == digests.count
            }
        }

        @Test func importedFilesGoUpOnceAndAreExportedWhole() async throws {
            try await Laboratory.run(
                Laboratory.Setup(environment: ["CELESTIAD_QUEUE_KEEP_AFTER_UPLOAD": "1h"])
            ) {
                lab in
                let picture = try file("one.jpg", 300_001, in: lab)
                let sound = try file("two.wav", 70_000, in: lab)
                let first = try await lab.cli("import", lab.folder.path + "/card", "--json")
                #expect(first.status == 0, "\(first)")
                #expect(try await lab.cli("import", picture.path).output.contains("is here already"))
                try await lab.logIn()
                try await waitForCloud([picture.sha256, sound.sha256], lab)
                try await lab.waitUntil("both are imported") {
                    try await lab.client.sessions(SessionQuery(state: "imported")).total == 2
                }
                let session = try #require(
                    try await lab.client.sessions(SessionQuery()).sessions.first { $0.title == "one.jpg" })
                #expect(session.source == "dslr_import")
                let target = lab.folder.path + "/out"
                let export = try await lab.cli("session", "export", session.id, target)
                #expect(export.status == 0, "\(export)")
                #expect(
                    FileManager.default.contents(atPath: target + "/001-one.jpg")
                        == FileManager.default.contents(atPath: picture.path))
                #expect(
                    try await lab.cli("session", "retry", session.id).status == ExitCode.nothingToDo.rawValue)
                let storage = try await lab.cli("storage", "--json")
                #expect(storage.output.contains("\"kept_bytes\":370001"), "\(storage)")
                #expect(try await lab.cloud.violations() == [])
            }
        }

        @Test func pausedAndCancelledFilesStayHere() async throws {
            try await Laboratory.run(Laboratory.Setup()) { lab in
                let paused = try file("paused.wav", 50_000, in: lab)
                let cancelled = try file("cancelled.wav", 60_000, in: lab)
                #expect(try await lab.cli("import", lab.folder.path + "/card").status == 0)
                let sessions = try await lab.client.sessions(SessionQuery()).sessions
                let ids = Dictionary(uniqueKeysWithValues: sessions.map { ($0.title ?? "", $0.id) })
                let (first, second) = (try #require(ids["paused.wav"]), try #require(ids["cancelled.wav"]))
                #expect(try await lab.cli("session", "pause", first).status == 0)
                #expect(try await lab.cli("session", "cancel", second).status == 0)
                try await lab.logIn()
                let third = try file("third.wav", 1000, in: lab)
                #expect(try await lab.cli("import", third.path).status == 0)
                try await waitForCloud([third.sha256], lab)
                let attention = try await lab.cli("sessions", "--attention", "--json")
                #expect(
                    attention.output.contains("\"cleared_by\":\"celestiad session resume"), "\(attention)")
                #expect(try await lab.cli("session", "purge", second, "--yes").status == 0)
                #expect(try await lab.cli("session", "purge", first, "--yes").status == 1)
                #expect(try await lab.cli("session", "resume", first).status == 0)
                try await waitForCloud([third.sha256, paused.sha256], lab)
                #expect(try await lab.client.storage().cancelledBytes == 0)
                // Who imports again what he discarded wants it.
                #expect(try await lab.cli("import", cancelled.path).output.contains("taken as session"))
                try await waitForCloud([third.sha256, paused.sha256, cancelled.sha256], lab)
            }
        }

        @Test func aWatchedFolderIsFollowed() async throws {
            let folder = TemporaryDirectory()
            try Data("before".utf8).write(to: URL(fileURLWithPath: folder.path + "/before.wav"))
            let setup = Laboratory.Setup(environment: [
                "CELESTIAD_IMPORT_WATCHED_FOLDER": folder.path, "CELESTIAD_IMPORT_SETTLING": "1s",
            ])
            try await Laboratory.run(setup) { lab in
                try await lab.logIn()
                let before = SHA256Digest(hashing: Array("before".utf8)).hex
                try await waitForCloud([before], lab)
                try Data("after".utf8).write(to: URL(fileURLWithPath: folder.path + "/after.jpg"))
                let after = SHA256Digest(hashing: Array("after".utf8)).hex
                try await waitForCloud([before, after], lab)
                #expect(await lab.endDaemon(SIGKILL) == 128 + SIGKILL)
                try await lab.startDaemon()
                try Data("third".utf8).write(to: URL(fileURLWithPath: folder.path + "/third.jpg"))
                try await waitForCloud([before, after, SHA256Digest(hashing: Array("third".utf8)).hex], lab)
                #expect(try await lab.client.sessions(SessionQuery()).total == 3)
            }
        }

        /// The hub is set up for another cloud: what was queued for the old one waits, until the user moves it.
        @Test func aSessionIsMovedToAnotherHost() async throws {
            try await Laboratory.run(Laboratory.Setup()) { lab in
                let one = try file("one.wav", 40_000, in: lab)
                #expect(try await lab.cli("import", one.path).status == 0)
                let old = try #require(try await lab.client.sessions(SessionQuery()).sessions.first)
                #expect(await lab.endDaemon(SIGTERM) == 0)
                lab.cloud = try CloudSimulator()
                try await lab.startDaemon()
                try await lab.logIn()
                #expect(try await lab.client.session(old.id).state == "queued_offline")
                let moved = try await lab.cli("session", "migrate", old.id, "--json")
                #expect(
                    moved.status == 0 && moved.output.contains("\"migrated_from\":\"\(old.id)\""), "\(moved)")
                try await waitForCloud([one.sha256], lab)
                let kept = try await lab.client.session(old.id)
                #expect(kept.state == "cancelled" && kept.host == old.host)
            }
        }

        /// The database is gone and a file has changed: both are said, and the original mends it.
        @Test func aDamagedImportIsMendedByItsOriginal() async throws {
            try await Laboratory.run(Laboratory.Setup()) { lab in
                let one = try file("one.wav", 40_000, in: lab)
                let two = try file("two.wav", 50_000, in: lab)
                #expect(try await lab.cli("import", one.path, two.path).status == 0)
                let sessions = try await lab.client.sessions(SessionQuery()).sessions
                let first = try #require(sessions.first { $0.title == "one.wav" })
                let asset = try #require(try await lab.client.session(first.id).assets?.first)
                #expect(await lab.endDaemon(SIGTERM) == 0)
                let path = "\(lab.state)/spool/\(first.id)/\(asset.id)"
                var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                bytes[1000] ^= 1
                try bytes.write(to: URL(fileURLWithPath: path))
                try FileManager.default.removeItem(atPath: lab.state + "/queue.db")
                try await lab.startDaemon()
                try await lab.waitForHealth("queue_degraded")
                try await lab.waitForHealth("files_damaged")
                #expect(try await lab.client.session(first.id).state == "failed_terminal")
                let attention = try await lab.cli("sessions", "--attention", "--json")
                #expect(attention.output.contains(first.id), "\(attention)")
                let out = lab.folder.path + "/out"
                let export = try await lab.cli("session", "export", first.id, out)
                #expect(export.status == ExitCode.partial.rawValue, "\(export)")
                #expect(
                    FileManager.default.contents(atPath: out + "/001-one.wav.unverified") == bytes,
                    "\(export)")
                let again = try await lab.cli("import", one.path, lab.folder.path + "/none.wav", two.path)
                #expect(again.status == ExitCode.partial.rawValue, "\(again)")
                #expect(again.output.contains("has it again") && again.output.contains("is here already"))
                try await lab.logIn()
                try await waitForCloud([one.sha256, two.sha256], lab)
            }
        }

        /// The database is overwritten while the daemon is down: it is made anew, says so, and nothing goes up twice.
        @Test func aDamagedDatabaseIsMadeAnew() async throws {
            try await Laboratory.run(Laboratory.Setup()) { lab in
                let one = try file("one.wav", 40_000, in: lab)
                #expect(try await lab.cli("import", one.path).status == 0)
                // In order, so that the log is folded in: otherwise SQLite would make it whole again out of that.
                #expect(await lab.endDaemon(SIGTERM) == 0)
                try Data(String(repeating: "no database ", count: 2000).utf8).write(
                    to: URL(fileURLWithPath: lab.state + "/queue.db"))
                try await lab.startDaemon()
                try await lab.waitForHealth("queue_degraded")
                try await lab.logIn()
                try await waitForCloud([one.sha256], lab)
                #expect(try await lab.client.storage().state == "degraded")
                try FileManager.default.removeItem(atPath: lab.state + "/queue.db.damaged-1")
                try await lab.waitForStatus("the status says no more of it") {
                    !$0.health.contains { $0.code == "queue_degraded" }
                }
            }
        }
    }
}
