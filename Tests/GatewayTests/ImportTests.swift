import CaptureQueue
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// A queue, an importer and a folder of their own.
private struct ImportBench {
    let directory = TemporaryDirectory()
    let loop: EventLoop
    let queue: CaptureQueue
    let importer: FileImporter
    let lines = Lines()

    var folder: String { directory.path + "/in" }
    var log: Log { Log(level: .debug) { [lines] _, line in lines.append(line) } }

    init(free: Int64? = nil) async throws {
        loop = try EventLoop.start(name: "imports")
        var settings = QueueConfiguration(directory: directory.path + "/state")
        (settings.reservedBytes, settings.reservedPercent, settings.ballastBytes) = (0, 0, 0)
        if let free { settings.freeSpace = { _ in FreeSpace(free: free, total: free) } }
        queue = CaptureQueue(settings, executor: loop)
        _ = try await queue.open()
        importer = FileImporter(queue: queue, targetHost: "https://api.example/v1", executor: loop)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    func put(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
    }

    func take(_ name: String) async throws -> ImportOutcome {
        let descriptor = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        return try await importer.take(
            OfferedFile(
                descriptor: descriptor, name: name, path: "\(folder)/\(name)", source: .mobilePhoto,
                surface: "celestiad_import", step: "imported"))
    }
}

@Suite(.timeLimit(.minutes(2))) struct ImportTests {
    @Test func aFileIsTakenWithWhatIsKnownOfIt() async throws {
        let bench = try await ImportBench()
        try bench.put("picture", "one.JPG")
        let outcome = try await bench.take("one.JPG")
        let detail = try #require(try await bench.queue.session(outcome.session))
        #expect(detail.summary.session.sourceKind == .mobilePhoto)
        #expect(detail.assets.first?.mimeType == "image/jpeg" && detail.assets.first?.kind == .photo)
        #expect(detail.assets.first?.sha256 == SHA256Digest(hashing: Array("picture".utf8)))
        #expect(detail.summary.session.provenance.sourcePathHint == bench.folder + "/one.JPG")
        try bench.put("picture", "two.jpg")
        #expect(try await bench.take("two.jpg") == ImportOutcome(session: outcome.session, isNew: false))
    }

    @Test(arguments: ["empty.wav", "notes.txt", "folder.jpg", "pipe.wav"])
    func whatIsNoFileToTakeIsRefused(_ name: String) async throws {
        let bench = try await ImportBench()
        try bench.put("", "empty.wav")
        try bench.put("text", "notes.txt")
        try FileManager.default.createDirectory(
            atPath: bench.folder + "/folder.jpg", withIntermediateDirectories: true)
        mkfifo(bench.folder + "/pipe.wav", 0o600)
        do {
            _ = try await bench.take(name)
            Issue.record("\(name) was taken")
        } catch let error as QueueError {
            #expect(error.code == .invalidInput)
        }
        #expect(try await bench.queue.counts().sessions.isEmpty)
    }

    /// That it cannot be read now says nothing about the file.
    @Test func aReadErrorMayPass() async throws {
        let bench = try await ImportBench()
        try bench.put("sound", "one.wav")
        do {
            let descriptor = open(bench.folder + "/one.wav", O_WRONLY | O_CLOEXEC)
            _ = try await bench.importer.take(
                OfferedFile(
                    descriptor: descriptor, name: "one.wav", path: nil, source: .watchedFolder, surface: "x",
                    step: "x"))
            Issue.record("a file was taken that cannot be read")
        } catch {
            #expect(error.code == .io && !error.isPermanent)
        }
    }

    /// It is refused before it is read: reading it would take hours.
    @Test func aHugeFileIsRefusedBeforeItIsRead() async throws {
        let bench = try await ImportBench()
        try bench.put("", "huge.wav")
        truncate(bench.folder + "/huge.wav", 1 << 43)
        do {
            _ = try await bench.take("huge.wav")
            Issue.record("a file was taken that does not fit")
        } catch let error as QueueError {
            #expect(error.code == .doesNotFit || error.code == .diskFull)
        }
        #expect(try await !bench.queue.isHeldForSpace())
    }

    /// A large file gives way to others, and ends with who waits for it.
    @Test func aLargeFileHoldsNothingUpAndCanBeGivenUp() async throws {
        let bench = try await ImportBench(free: 1 << 50)
        try bench.put("", "large.wav")
        truncate(bench.folder + "/large.wav", 1 << 40)
        try bench.put("small", "small.wav")
        let large = Task { try await bench.take("large.wav") }
        #expect(try await bench.take("small.wav").isNew)
        large.cancel()
        do {
            _ = try await large.value
            Issue.record("a terabyte was read")
        } catch let error as QueueError {
            #expect(error.code == .closed)
        }
    }

    @Test func namesAreBytes() async throws {
        let bench = try await ImportBench()
        let name = FilePath(bytes: [0x66, 0xFC, 0x72, 0x2E, 0x77, 0x61, 0x76])
        let path = FilePath(bench.folder).appending(name.bytes)
        let descriptor = path.withCString { open($0, O_WRONLY | O_CREAT, 0o600) }
        #expect(write(descriptor, "latin", 5) == 5)
        close(descriptor)
        #expect(path.name == name && name.text == #"f\xfcr.wav"# && FilePath("für").text == "für")
        let watch = FolderWatch(
            folder: bench.folder, settling: .milliseconds(50), importer: bench.importer, queue: bench.queue,
            log: bench.log, clock: LoopClock(loop: bench.loop), executor: bench.loop)
        let running = Task { await watch.run() }
        try await bench.waitForSessions(1)
        running.cancel()
        await running.value
        let session = try await bench.queue.sessions().sessions.first?.session
        #expect(session?.provenance.sourcePathHint == bench.folder + #"/f\xfcr.wav"#)
    }

    @Test(arguments: [
        ("a.WAV", "audio/wav"), ("a.b.flac", "audio/flac"), ("x.heic", "image/heic"), (".jpg", nil),
        ("jpg", nil),
        ("a.", nil), ("a.mov", nil), ("a.txt", nil),
    ])
    func typesByName(_ name: String, _ type: String?) {
        #expect(ImportMedia.type(of: name)?.mimeType == type)
    }

    @Test func theWatchedFolderTakesWhatIsCompleteOnce() async throws {
        let bench = try await ImportBench()
        try bench.put("there before", "old.wav")
        let watch = FolderWatch(
            folder: bench.folder, settling: .milliseconds(50), importer: bench.importer, queue: bench.queue,
            log: bench.log, clock: LoopClock(loop: bench.loop), executor: bench.loop)
        let running = Task { await watch.run() }
        try await bench.waitForSessions(1)
        try FileManager.default.createDirectory(
            atPath: bench.folder + "/DCIM/100", withIntermediateDirectories: true)
        try bench.put("deep", "DCIM/100/deep.jpg")
        try bench.put("there before", "same content.wav")
        try bench.put("not ours", "readme.txt")
        try bench.put("hidden", ".part.wav")
        try await bench.waitForSessions(2)
        try FileManager.default.moveItem(
            atPath: bench.folder + "/.part.wav", toPath: bench.folder + "/part.wav")
        try await bench.waitForSessions(3)
        running.cancel()
        await running.value
        let sessions = try await bench.queue.sessions().sessions.map(\.session)
        #expect(sessions.allSatisfy { $0.sourceKind == .watchedFolder && $0.state == .queuedOffline })
        #expect(Set(sessions.map(\.title)) == ["old.wav", "deep.jpg", "part.wav"])
        // Nothing in the folder was touched.
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder).count == 5)
    }

    @Test func aFolderThatIsNotThereIsWaitedFor() async throws {
        let bench = try await ImportBench()
        #expect(FolderTree(bench.directory.path + "/absent") == nil)
        try FileManager.default.createSymbolicLink(
            atPath: bench.folder + "/up", withDestinationPath: bench.directory.path)
        try bench.put("x", "x.wav")
        let tree = try #require(FolderTree(bench.folder))
        #expect(
            tree.folders == [FilePath(bench.folder)]
                && tree.files.keys.map(\.text) == [bench.folder + "/x.wav"])
    }
}

extension ImportBench {
    fileprivate func waitForSessions(_ count: Int) async throws {
        let changes = await queue.changes()
        if try await queue.sessionCount() >= count { return }
        for await _ in changes {
            if try await queue.sessionCount() >= count { return }
        }
    }
}

@Suite struct FolderMachineTests {
    private typealias Look = FolderMachine.Look
    private let start = ContinuousClock.now

    private func at(_ seconds: Int) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    @Test func aFileIsCompleteOnceItHasNotChanged() {
        var machine = FolderMachine(settling: .seconds(10))
        let (small, large) = (Look(size: 1, modified: 1, inode: 1), Look(size: 2, modified: 2, inode: 1))
        #expect(machine.scanned(["a": small], at: at(0)).isEmpty)
        #expect(machine.next == at(10))
        #expect(machine.scanned(["a": small], at: at(9)).isEmpty)
        #expect(machine.scanned(["a": large], at: at(10)).isEmpty)
        #expect(machine.scanned(["a": large], at: at(19)).isEmpty)
        #expect(machine.scanned(["a": large, "b": small], at: at(20)) == ["a"])
        machine.settled("a")
        #expect(machine.next == at(30))
        #expect(machine.scanned([:], at: at(30)).isEmpty)
        #expect(machine.next == nil)
    }

    @Test func failuresWaitLongerAndLonger() {
        var machine = FolderMachine(settling: .zero)
        let look: [FilePath: Look] = ["a": Look(size: 1, modified: 1, inode: 1)]
        #expect(machine.scanned(look, at: at(0)) == ["a"])
        machine.failed("a", at: at(0))
        #expect(machine.next == at(30))
        #expect(machine.scanned(look, at: at(29)).isEmpty)
        #expect(machine.scanned(look, at: at(30)) == ["a"])
        machine.failed("a", at: at(30))
        #expect(machine.next == at(90))
        for _ in 0..<40 { machine.failed("a", at: at(100)) }
        #expect(machine.next == at(3700))
        // Another file by this name is another matter.
        #expect(machine.scanned(["a": Look(size: 1, modified: 2, inode: 1)], at: at(101)) == ["a"])
    }
}

@Suite(.timeLimit(.minutes(5))) struct StorageWatchTests {
    /// The disk is low, and has room again: somebody has to say so (syncthing never un-stuck).
    @Test func roomIsNoticed() async throws {
        let directory = TemporaryDirectory()
        let loop = try EventLoop.start(name: "queue")
        defer { loop.stop() }
        let free = Locked<Int64>(0)
        var settings = QueueConfiguration(directory: directory.path)
        settings.ballastBytes = 0
        settings.freeSpace = { _ in FreeSpace(free: free.withLock { $0 }, total: 1 << 40) }
        let queue = CaptureQueue(settings, executor: loop)
        _ = try await queue.open()
        let clock = ManualClock()
        let lines = Lines()
        let (rooms, room) = AsyncStream.makeStream(of: Void.self)
        let watch = StorageWatch(
            queue: queue, log: Log(level: .debug) { _, line in lines.append(line) }, clock: clock,
            onRoom: { room.yield() })
        let running = Task { await watch.run() }
        await clock.waitForSleepers()
        #expect(try await queue.isHeldForSpace())
        free.withLock { $0 = 1 << 39 }
        clock.advance(by: StorageWatch.lowInterval)
        for await _ in rooms { break }
        #expect(try await !queue.isHeldForSpace())
        #expect(lines.all.contains { $0.contains("no files are taken") })
        running.cancel()
        await running.value
        try await queue.close()
    }
}
