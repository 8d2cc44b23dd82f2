import Control
import EventLoop
import Foundation
import Gateway
import TestSupport
import Testing

@testable import celestiad

/// The verbs that act on sessions, import files and show the storage.
@Suite(.timeLimit(.minutes(5))) struct SessionActionTests {
    @Test(arguments: ["reconcile", "retry", "cancel", "pause", "resume"])
    func actionsReachTheDaemon(_ action: String) async throws {
        try await Harness.with { harness in
            let result = await harness.run(["session", action, "1b9d"])
            #expect(result.code == .success, "\(result.errors)")
            #expect(result.output.contains("1b9d6bcd"))
            #expect(await harness.model.calls == ["\(action.capitalized) 1b9d"])
            let json = await harness.run(["session", action, "1b9d", "--json"])
            #expect(json.output.contains("\"state\":\"queued_offline\""))
        }
    }

    /// F-15: what is imported stays as it is, and the exit code says that nothing was done.
    @Test(arguments: ["retry", "reconcile"])
    func nothingIsDoneToWhatIsImported(_ action: String) async throws {
        try await Harness.with { harness in
            await harness.model.set(actedState: "imported")
            let result = await harness.run(["session", action, "1b9d"])
            #expect(result.code == .nothingToDo)
            #expect(result.errors.contains("nothing was changed"))
        }
    }

    @Test func purgeAsksFirst() async throws {
        try await Harness.with { harness in
            #expect(await harness.run(["session", "purge", "1b9d"]).code == .usage)
            let refused = await harness.run(["session", "purge", "1b9d"], typing: ["n"], terminal: true)
            #expect(refused.code == .interrupted)
            #expect(refused.errors.contains("Remove 2 files, 40.0 MiB of session 1b9d6bcd (朝の会議) for good?"))
            #expect(
                await harness.run(["session", "purge", "1b9d"], typing: ["y"], terminal: true).code
                    == .success)
            #expect(await harness.run(["session", "purge", "1b9d", "--yes"]).code == .success)
            #expect(
                await harness.model.calls.filter { $0.hasPrefix("Purge") } == ["Purge 1b9d", "Purge 1b9d"])
        }
    }

    @Test func commandLinesThatMakeNoSense() async throws {
        try await Harness.with { harness in
            for (words, says) in [
                (["session", "cancel"], "session cancel needs ID"),
                (["session", "cancle", "1b9d"], "did you mean: celestiad session cancel ID"),
                (["session", "cancel", "1b9d", "more"], "takes one ID"), (["session"], "session needs"),
                (["import"], "import needs FILE"),
            ] {
                let result = await harness.run(words)
                #expect(result.code == .usage, "\(words)")
                #expect(result.errors.contains(says), "\(words): \(result.errors)")
            }
            #expect(await harness.model.calls.isEmpty)
        }
    }

    @Test func migrateShowsTheNewSession() async throws {
        try await Harness.with { harness in
            let result = await harness.run(["session", "migrate", "1b9d"])
            #expect(result.code == .success)
            #expect(result.errors.contains("for https://new.example/v1"))
        }
    }

    @Test func exportCopiesWhatIsThereAndVerifiesIt() async throws {
        try await Harness.with { harness in
            let directory = TemporaryDirectory()
            let target = directory.path + "/out"
            // What the daemon passes is not what the session says: its SHA-256 tells.
            await harness.model.set(fileContents: [1, 2, 3])
            let wrong = await harness.run(["session", "export", "1b9d", target])
            #expect(wrong.code == .partial)
            #expect(wrong.errors.contains("only 3 B of"), "\(wrong.errors)")
            #expect(!wrong.errors.contains("each with the SHA-256"))
            let copies = try FileManager.default.contentsOfDirectory(atPath: target)
            #expect(copies.contains { $0.hasSuffix(".partial") })
            // A folder that is there is somebody's.
            let again = await harness.run(["session", "export", "1b9d", target])
            #expect(again.code == .failure && again.errors.contains("name another folder"))
        }
        #expect(
            LocalFile.name("../../etc/pass\u{1B}wd", 0) == "001-.._.._etc_pass_wd")
    }

    @Test func attentionIsAsked() async throws {
        try await Harness.with { harness in
            #expect(await harness.run(["sessions", "--attention"]).code == .success)
            #expect(await harness.model.calls == ["sessions 0 50 - - attention"])
        }
    }

    @Test func holdsAreShownWithWhatEndsThem() async throws {
        var session = Fixtures.session
        session.holds = [
            HoldDocument(
                reason: "quota", clearedBy: "free storage in the cloud account", since: Fixtures.ago(60),
                detail: "12 bytes are missing")
        ]
        session.ambiguous = true
        let lines = SessionView(Layout(width: 120, now: Fixtures.now)).lines(session).joined(separator: "\n")
        #expect(lines.contains("quota (12 bytes are missing), ends with: free storage in the cloud account"))
        #expect(lines.contains("In doubt"))
        let json = try DocumentCoding.json(session)
        #expect(json.contains("\"cleared_by\":\"free storage in the cloud account\""))
    }

    @Test func storageSaysWhereTheSpaceGoes() async throws {
        try await Harness.with { harness in
            let result = await harness.run(["storage"])
            #expect(result.code == .success)
            for text in ["to upload", "celestiad session purge", "queue.db.damaged-1", "1 file"] {
                #expect(result.output.contains(text), "\(text) in \(result.output)")
            }
            let json = await harness.run(["storage", "--json"])
            #expect(json.output.contains("\"state\":\"degraded\""))
        }
    }

    @Test func importPassesOpenFiles() async throws {
        try await Harness.with { harness in
            let directory = TemporaryDirectory()
            let folder = directory.path + "/card/DCIM"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            for (name, text) in [
                ("b.jpg", "new"), ("a.wav", "old"), ("notes.txt", "new"), (".hidden.jpg", "new"),
            ] {
                try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
            }
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link.jpg", withDestinationPath: folder + "/b.jpg")
            let all = await harness.run(["import", directory.path + "/card", "--source", "dslr_import"])
            #expect(all.code == .success, "\(all.errors)")
            #expect(all.output.contains("a.wav: is here already, in session 1b9d6bcd"))
            #expect(all.output.contains("b.jpg: taken as session 1b9d6bcd"))
            #expect(await harness.model.calls == ["import a.wav dslr_import", "import b.jpg dslr_import"])
            try Data("bad".utf8).write(to: URL(filePath: folder + "/c.xyz"))
            let some = await harness.run(["import", folder + "/c.xyz", folder + "/b.jpg", "--json"])
            #expect(some.code == .partial)
            #expect(some.output.contains("\"error\":\"it is neither sound nor picture\""))
            #expect(await harness.run(["import", folder + "/c.xyz"]).code == .failure)
            #expect(await harness.run(["import", "/nonexistent"]).code == .failure)
        }
    }

    /// One that cannot be read says nothing about the others; a name may be any bytes.
    @Test func importGoesOnAfterWhatCannotBeRead() async throws {
        try await Harness.with { harness in
            let directory = TemporaryDirectory()
            let latin = FilePath(
                bytes: Array("\(directory.path)/".utf8) + [0x66, 0xFC, 0x72, 0x2E, 0x77, 0x61, 0x76])
            for path in [
                FilePath(directory.path + "/good1.wav"), latin, FilePath(directory.path + "/good2.wav"),
            ] {
                let descriptor = path.withCString { open($0, O_WRONLY | O_CREAT, 0o644) }
                #expect(write(descriptor, "new", 3) == 3)
                close(descriptor)
            }
            let first = directory.path + "/good1.wav"
            let some = await harness.run(
                ["import", first, directory.path + "/nofile.wav", directory.path + "/good2.wav", "--json"])
            #expect(some.code == .partial)
            #expect(some.output.contains("No such file") && some.output.contains("good2.wav"))
            let all = await harness.run(["import", directory.path])
            #expect(all.code == .success, "\(all)")
            #expect(await harness.model.calls.contains("import f\\xfcr.wav -"))
        }
    }

    @Test func aFolderThatCannotBeReadIsListed() throws {
        let directory = TemporaryDirectory()
        try FileManager.default.createDirectory(
            atPath: directory.path + "/open", withIntermediateDirectories: false)
        try Data("x".utf8).write(to: URL(filePath: directory.path + "/open/a.wav"))
        // Too deep to be looked at, as one without permission would be: root may read everything.
        let deep = directory.path + "/z" + String(repeating: "/d", count: 40)
        try FileManager.default.createDirectory(atPath: deep, withIntermediateDirectories: true)
        let items = ImportList.items(at: FilePath(directory.path))
        #expect(items.first == .file(FilePath(directory.path + "/open/a.wav")))
        guard case .unusable? = items.last else {
            Issue.record("what is too deep is not listed")
            return
        }
    }
}
