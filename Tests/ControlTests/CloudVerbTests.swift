import Control
import Foundation
import TestSupport
import Testing

@testable import celestiad

/// `account`, `cloud` and the actions of `device`, against a stub.
@Suite(.timeLimit(.minutes(5))) struct CloudVerbTests {
    private static func file(_ text: String, _ folder: TemporaryDirectory, _ name: String) throws -> String {
        let path = "\(folder.path)/\(name)"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        chmod(path, 0o600)
        return path
    }

    @Test func anAccountIsMadeShownAndChanged() async throws {
        let folder = TemporaryDirectory()
        let (old, new) = (
            try Self.file("first-one\n", folder, "old"), try Self.file("second\n", folder, "new")
        )
        try await Harness.with { harness in
            let register = await harness.run([
                "account", "register", "ada", "ada@example.com", "--password-file", old,
            ])
            #expect(register.code == .success && register.errors.contains("made the account ada@example.com"))
            #expect(await harness.run(["account", "show"]).output.contains("E-mail        ada@example.com"))
            _ = await harness.run(["account", "edit", "--email", "a@b.c", "--phone", "+49301"])
            let change = await harness.run([
                "account", "password", "--password-file", old, "--new-password-file", new,
            ])
            #expect(change.code == .success)
            #expect(
                await harness.model.calls == [
                    "register ada ada@example.com first-one", "profile", "edit - a@b.c +49301 -",
                    "password first-one second",
                ])
            for words in [["account", "show", "--json"], ["account", "register", "ada", "a", "--json"]] {
                let run = await harness.run(words + ["--password-file", old])
                #expect(!(run.output + run.errors).contains("first-one"))
            }
        }
    }

    @Test func aNewPasswordIsTypedTwice() async throws {
        try await Harness.with { harness in
            let same = await harness.run(
                ["account", "password"], typing: ["old-one", "new-one", "new-one"], terminal: true)
            #expect(same.code == .success)
            let other = await harness.run(
                ["account", "password"], typing: ["old-one", "new-one", "new-two"], terminal: true)
            #expect(other.code == .usage && other.errors.contains("nothing was changed"))
            let short = await harness.run(
                ["account", "register", "ada", "a@b.c"], typing: ["five5"], terminal: true)
            #expect(short.code == .usage && short.errors.contains("at least 6"))
            #expect(await harness.model.calls == ["password old-one new-one"])
        }
    }

    /// Line → exit code and a word of the error.
    @Test(arguments: [
        (["account"], ExitCode.usage, "ACTION"),
        (["account", "pasword"], .usage, "account password"),
        (["account", "register", "ada"], .usage, "needs USERNAME and IDENTIFIER"),
        (["account", "register", "a", "b@c.d"], .usage, "at least 2"),
        (["account", "show", "me"], .usage, "no further word"),
        (["account", "edit"], .usage, "nothing to change"),
        (["account", "edit", "--email", ""], .usage, "cannot be emptied"),
        (["account", "password", "--password-file", "-", "--new-password-file", "-"], .usage, "only one"),
        (["account", "password"], .usage, "--password-file FILE"),
        (["cloud", "downlod", "x"], .usage, "cloud download"),
        (["cloud", "download"], .usage, "needs SESSION"),
        (["cloud", "status", "x"], .usage, "no further word"),
        (["cloud", "sessions", "--limit", "0"], .usage, "1 to 500"),
        (["cloud", "download", "54a6", "zz"], .notFound, "asset-1"),
        (["device", "rename", "CR1"], .usage, "needs ID and NAME"),
        (["device", "unbind", "CR1", "x"], .usage, "takes one ID"),
        (["device", "unbind", "CR1-0042"], .usage, "--yes"),
        (["device", "bnd", "CR1"], .usage, "device bind ID"),
        (["device", "bind"], .usage, "needs ID"),
    ])
    func whatCannotBeIsSaid(_ words: [String], _ code: ExitCode, _ part: String) async throws {
        try await Harness.with { harness in
            let run = await harness.run(words)
            #expect(run.code == code, "\(run)")
            #expect(run.errors.contains(part), "\(run)")
        }
    }

    @Test func theCloudsStateIsShownAndExitedWith() async throws {
        try await Harness.with { harness in
            let well = await harness.run(["cloud", "status"])
            #expect(well.code == .success)
            #expect(
                well.output == """
                    Cloud         https://api.example.com/v1
                    State         ok, answered in 31 ms
                    Account       logged in as ada@example.com
                    Storage       ██████████████░░░░░░░░░░ 60 % of 10.0 GiB used, 4.0 GiB left
                    Clock         agrees with the cloud's

                    """)
            var cloud = StubCloud()
            cloud.status.state = "unreachable"
            cloud.status.message = "no route"
            cloud.status.hint = "check the network"
            cloud.status.quota = nil
            cloud.status.clockSkewMs = -125_000
            await harness.model.set(cloud: cloud)
            let ill = await harness.run(["cloud", "status"])
            #expect(ill.code == .unhealthy)
            #expect(
                ill.output.contains("State         unreachable: no route\nTo do         check the network"))
            #expect(ill.output.contains("the hub is 2 min 5 s behind the cloud"))
            cloud = StubCloud()
            cloud.status.account = AccountDocument(state: "logged_out", action: "celestiad login")
            cloud.status.quota = QuotaDocument(totalBytes: 0, usedBytes: 5, remainingBytes: 0)
            await harness.model.set(cloud: cloud)
            let out = await harness.run(["cloud", "status"])
            #expect(out.code == .notLoggedIn && out.output.contains("5 B used, no limit is told"))
        }
    }

    @Test func theCloudsSessionsAreListed() async throws {
        try await Harness.with { harness in
            let run = await harness.run(["cloud", "sessions", "--limit", "1", "--offset", "1", "--deleted"])
            #expect(await harness.model.calls == ["cloud sessions 1 1 true"])
            #expect(run.output.contains("54a6023b") && !run.output.contains("\u{1B}"))
            #expect(run.errors.contains("… and 1 older: --offset 2"))
            #expect(run.errors.contains("1 session more that this version cannot read"))
        }
    }

    @Test func devicesAreRenamedAndUnbound() async throws {
        try await Harness.with { harness in
            #expect(
                await harness.run(["device", "rename", "CR1-0042", "Küche"]).errors.contains(
                    "called Küche here now"))
            let asked = await harness.run(["device", "unbind", "CR1-0042"], typing: ["no"], terminal: true)
            #expect(asked.code == .interrupted && asked.errors.contains("nothing was changed"))
            #expect(await harness.run(["device", "unbind", "CR1-0042", "--yes"]).code == .success)
            #expect(await harness.run(["device", "bind", "CR1-0042"]).code == .success)
            #expect(
                await harness.model.calls == [
                    "rename CR1-0042 Küche", "recorder CR1-0042", "unbind CR1-0042", "bind CR1-0042",
                ])
        }
    }
}

/// `cloud download`: what it writes, checks and says.
@Suite(.timeLimit(.minutes(5))) struct CloudDownloadTests {
    private let folder = TemporaryDirectory()
    private var target: String { folder.path + "/out" }
    /// The name that a hostile one becomes.
    private var path: String { target + "/001-.._.._memo_.opus" }
    private var part: String { target + "/.asset-1.part" }
    private var words: [String] { ["cloud", "download", "54a6", "--to", target] }
    private let contents = "what was recorded"

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    private func put(_ text: String, _ path: String) throws {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    private let download = "download 54a6023b-0a92-4752-b55a-0e6050ed802f asset-1 17 from"

    @Test func aFileIsFetchedOnceUnderASafeName() async throws {
        try await Harness.with { harness in
            let first = await harness.run(words + ["--json"])
            #expect(first.code == .success && first.output.contains("\"outcome\":\"downloaded\""), "\(first)")
            #expect(text(path) == contents)
            let second = await harness.run(words)
            #expect(
                second.errors.contains("1 file in") && second.errors.contains("0 downloaded now"), "\(second)"
            )
            #expect(await harness.model.calls.filter { $0.hasPrefix("download") } == ["\(download) 0"])
            let left = try FileManager.default.contentsOfDirectory(atPath: target)
            #expect(left.count == 1)
        }
    }

    @Test func whatIsThereIsContinuedAndBeginsAnewWhenItWasOfOtherBytes() async throws {
        try await Harness.with { harness in
            try put("what was", part)
            #expect(await harness.run(words).code == .success)
            #expect(text(path) == contents)
            try FileManager.default.removeItem(atPath: path)
            try put("something", part)
            #expect(await harness.run(words).code == .success)
            #expect(text(path) == contents)
            #expect(
                await harness.model.calls.filter { $0.hasPrefix("download") }
                    == ["\(download) 8", "\(download) 9", "\(download) 0"])
        }
    }

    @Test func otherBytesNeverGetTheName() async throws {
        try await Harness.with { harness in
            var cloud = StubCloud()
            cloud.contents = Array("what was recordee".utf8)
            await harness.model.set(cloud: cloud)
            let run = await harness.run(words)
            #expect(run.code == .failure && run.errors.contains("does not have the SHA-256"), "\(run)")
            let left = try FileManager.default.contentsOfDirectory(atPath: target)
            #expect(left == [])
        }
    }

    @Test func somebodysFileIsNotTouched() async throws {
        try await Harness.with { harness in
            try put("mine", path)
            let run = await harness.run(words)
            #expect(run.code == .failure && run.errors.contains("is something else"), "\(run)")
            #expect(text(path) == "mine")
            try FileManager.default.removeItem(atPath: path)
            // A link is not followed: what it points to is not ours to write.
            try put("theirs", target + "/theirs")
            symlink(target + "/theirs", part)
            #expect(await harness.run(words).code == .failure)
            #expect(text(target + "/theirs") == "theirs")
            // Nor is a pipe waited for.
            unlink(part)
            mkfifo(path, 0o600)
            let pipe = await harness.run(words)
            #expect(pipe.code == .failure && pipe.errors.contains("is no file"), "\(pipe)")
        }
    }

    private func threeFiles(failing: [String: ControlError]) -> StubCloud {
        var cloud = StubCloud()
        let asset = cloud.session.assets![0]
        cloud.session.assets = (1...3).map {
            CloudAssetDocument(
                id: "asset-\($0)", kind: asset.kind, name: "\($0).opus", mimeType: asset.mimeType,
                bytes: asset.bytes, sha256: asset.sha256)
        }
        cloud.failing = failing
        return cloud
    }

    /// What became of three files of which the second cannot be had.
    @Test(arguments: [
        (ControlError(.notFound, "it is gone"), ExitCode.partial, ["001-1.opus", "003-3.opus"]),
        (ControlError(.diskLow, "full"), .partial, ["001-1.opus", "003-3.opus"]),
        // The next one would meet the same.
        (ControlError(.cloudUnavailable, "no route"), .cloudUnavailable, ["001-1.opus"]),
        (ControlError(.notLoggedIn, "nobody"), .notLoggedIn, ["001-1.opus"]),
    ])
    func oneFilesTroubleDoesNotKeepTheOthersAway(
        _ error: ControlError, _ code: ExitCode, _ there: [String]
    ) async throws {
        try await Harness.with { harness in
            await harness.model.set(cloud: threeFiles(failing: ["asset-2": error]))
            let run = await harness.run(words)
            #expect(run.code == code, "\(run)")
            #expect(run.errors.contains(error.message))
            // Nothing is left of the file of which nothing came.
            let left = try FileManager.default.contentsOfDirectory(atPath: target).sorted()
            #expect(left == there)
            await harness.model.set(cloud: threeFiles(failing: [:]))
            #expect(await harness.run(words).code == .success)
        }
    }

    @Test func ofAllFilesOneReasonIsTold() async throws {
        try await Harness.with { harness in
            let gone = ControlError(.notFound, "it is gone")
            let ids = ["asset-1", "asset-2", "asset-3"]
            await harness.model.set(
                cloud: threeFiles(failing: Dictionary(uniqueKeysWithValues: ids.map { ($0, gone) })))
            #expect(await harness.run(words).code == .notFound)
        }
    }

    @Test func aFileThatCannotFitIsNotAskedFor() async throws {
        try await Harness.with { harness in
            var cloud = StubCloud()
            let asset = cloud.session.assets![0]
            cloud.session.assets = [
                CloudAssetDocument(
                    id: "asset-1", kind: asset.kind, name: asset.name, mimeType: asset.mimeType,
                    bytes: 1 << 60,
                    sha256: asset.sha256)
            ]
            await harness.model.set(cloud: cloud)
            let run = await harness.run(words)
            #expect(run.code == .diskLow && run.errors.contains("are free there"), "\(run)")
            #expect(await !harness.model.calls.contains { $0.hasPrefix("download") })
            let left = try FileManager.default.contentsOfDirectory(atPath: target)
            #expect(left == [])
        }
    }

    /// Where the folder cannot be, and what to do.
    @Test func aFolderThatCannotBeIsSaidWithWhatToDo() async throws {
        try await Harness.with { harness in
            try put("a file", target + "/file")
            for (directory, part, advice) in [
                (target + "/file", "is no folder", "--to DIR"),
                (target + "/file/x", "Not a directory", "name another folder: --to DIR"),
                (target + "/none/x", "No such file", "make the folder that it is to be in"),
            ] {
                let run = await harness.run(["cloud", "download", "54a6", "--to", directory])
                #expect(run.code == .failure, "\(run)")
                #expect(run.errors.contains(part) && run.errors.contains(advice), "\(run)")
            }
        }
    }

    @Test func twoAtOnceDoNotShareAFile() async throws {
        try await Harness.with { harness in
            try put("what", part)
            let other = open(part, O_RDWR)
            defer { close(other) }
            try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
            let run = await harness.run(words)
            #expect(run.code == .busy && run.errors.contains("being downloaded already"), "\(run)")
            #expect(text(part) == "what")
        }
    }

    @Test(arguments: [
        (String(repeating: "録", count: 95) + ".opus", ".opus"),
        ("e" + String(repeating: "\u{301}", count: 500), ""),
        (String(repeating: "a", count: 300) + "." + String(repeating: "b", count: 60), ""),
    ])
    func namesFitIntoAFileSystem(_ name: String, _ ending: String) {
        let fitted = LocalFile.name(name, 0)
        #expect(fitted.utf8.count <= 200 && fitted.hasPrefix("001-") && fitted.hasSuffix(ending))
    }

    @Test func aReadableNameIsLeftAlone() async throws {
        try await Harness.with { harness in
            #expect(await harness.run(words).code == .success)
            #expect(text(path) == contents)
        }
    }
}
