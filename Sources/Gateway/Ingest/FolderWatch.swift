import CaptureQueue
import EventLoop
import Glibc

/// Takes what is put into a folder. Its files are left alone: the folder is somebody else's.
///
/// The kernel's word (inotify) is only a reason to look; what is there decides. So an event that is lost, or a network
/// file system that tells nothing, costs time and nothing else.
actor FolderWatch {
    private let executor: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let folder: String
    private let importer: FileImporter
    private let queue: CaptureQueue
    private let log: Log
    private let report: @Sendable (FolderTrouble?) -> Void
    private let clock: any Clock<Duration>
    private let now: @Sendable () -> ContinuousClock.Instant
    private let wakeup = Wakeup()
    private var machine: FolderMachine
    private var notifier: Int32 = -1
    private var watch: FDWatch?
    private var watched: [FilePath: Int32] = [:]
    private var isMissing = false
    private var isPartial = false
    /// Files that are not ours to read.
    private var closed: Set<FilePath> = []

    /// How long after the first event of a burst the folder is looked at.
    private static let gathering = Duration.milliseconds(500)
    /// How often it is looked at when nothing is heard.
    private static let interval = Duration.seconds(600)
    /// How often one is looked for that cannot be read, and so cannot be listened to.
    private static let absence = Duration.seconds(15)
    private static let interest = UInt32(
        IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB
            | IN_DELETE_SELF
            | IN_MOVE_SELF | IN_ONLYDIR)

    init(
        folder: String, settling: Duration, importer: FileImporter, queue: CaptureQueue, log: Log,
        clock: any Clock<Duration>, executor: EventLoop,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
        report: @escaping @Sendable (FolderTrouble?) -> Void = { _ in }
    ) {
        self.folder = folder
        self.importer = importer
        self.queue = queue
        self.log = log
        self.clock = clock
        self.executor = executor
        self.now = now
        self.report = report
        machine = FolderMachine(settling: settling)
    }

    /// Watches until the task is cancelled.
    func run() async {
        startNotifier()
        while !Task.isCancelled {
            await look()
            let (clock, wakeup) = (clock, wakeup)
            let interval = isMissing ? Self.absence : Self.interval
            let rest = machine.next.map { max(.milliseconds(10), now().duration(to: $0)) } ?? interval
            let isHeard = await firstOf(
                {
                    await wakeup.wait()
                    return true
                },
                { (try? await clock.sleep(for: min(rest, interval))) == nil ? nil : false })
            if isHeard == true { try? await clock.sleep(for: Self.gathering) }
        }
        report(nil)
        watch?.cancel()
        if notifier >= 0 { close(notifier) }
        notifier = -1
    }

    private func startNotifier() {
        notifier = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        guard notifier >= 0 else {
            log.warning(
                "watched folder: the kernel does not tell of changes; it is looked at every 10 minutes")
            return
        }
        watch = try? executor.watch(notifier, for: .readable) { [wakeup, notifier] _ in
            // What exactly happened is not asked for.
            var buffer = [UInt8](repeating: 0, count: 4096)
            while read(notifier, &buffer, buffer.count) > 0 {}
            wakeup.raise()
        }
    }

    private func look() async {
        guard let tree = FolderTree(folder) else {
            if !isMissing {
                log.warning(
                    "watched folder: \(Terminal.printable(folder)) cannot be read; waiting for it",
                    .folderAway)
            }
            isMissing = true
            report(FolderTrouble(path: folder, isPartial: false))
            watched = [:]
            return
        }
        if isMissing {
            log.notice("watched folder: \(Terminal.printable(folder)) is there again", .folderAway)
        }
        isMissing = false
        if tree.isCut { log.warning("watched folder: there is more in it than is looked at") }
        if tree.isPartial, !isPartial {
            log.warning("watched folder: a part of it cannot be read; it is looked at again every 10 minutes")
        }
        isPartial = tree.isPartial
        closed.formIntersection(tree.files.keys)
        defer {
            report(isPartial || !closed.isEmpty ? FolderTrouble(path: folder, isPartial: true) : nil)
        }
        follow(tree.folders)
        do throws(QueueError) {
            try await forget(tree)
            var found: [FilePath: FolderMachine.Look] = [:]
            for (path, look) in tree.files where ImportMedia.type(of: path.text) != nil {
                if try await !queue.isTaken(TakenFile(path, look)) { found[path] = look }
            }
            for path in machine.scanned(found, at: now()) where !Task.isCancelled {
                guard let look = found[path] else { continue }
                try await take(path, look)
            }
        } catch {
            log.warning("watched folder: \(error)")
        }
    }

    /// A file that is gone is no matter any more. A folder that is empty may be one that is not mounted: nothing follows
    /// from that.
    private func forget(_ tree: FolderTree) async throws(QueueError) {
        guard !tree.isCut, !tree.isPartial, !tree.files.isEmpty else { return }
        try await queue.forgetTaken(below: folder, but: Set(tree.files.keys.map(\.text)))
    }

    private func follow(_ folders: [FilePath]) {
        guard notifier >= 0 else { return }
        let wanted = Set(folders)
        for (path, descriptor) in watched where !wanted.contains(path) {
            inotify_rm_watch(notifier, descriptor)
            watched[path] = nil
        }
        for path in folders {
            // For one that is watched it changes nothing, for one that was replaced it makes a new one.
            let descriptor = path.withCString { inotify_add_watch(notifier, $0, Self.interest) }
            if descriptor >= 0 { watched[path] = descriptor }
        }
    }

    private func take(_ path: FilePath, _ look: FolderMachine.Look) async throws(QueueError) {
        let descriptor = path.withCString { open($0, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
        var buffer = stat()
        if descriptor < 0, errno == EACCES { closed.insert(path) } else { closed.remove(path) }
        guard descriptor >= 0, fstat(descriptor, &buffer) == 0, FolderMachine.Look(buffer) == look else {
            if descriptor >= 0 { close(descriptor) }
            // Not there any more, not ours to read, or not what was seen.
            return machine.failed(path, at: now())
        }
        let name = path.name.text
        let offered = OfferedFile(
            descriptor: descriptor, name: name, path: path.text, source: .watchedFolder,
            surface: "watched_folder",
            step: "imported from a watched folder")
        do throws(QueueError) {
            let outcome = try await importer.take(offered)
            try await queue.noteTaken(TakenFile(path, look), session: outcome.session)
            machine.settled(path)
            let what =
                outcome.isRestored
                ? "given back to session" : outcome.isNew ? "taken as session" : "is known as session"
            log.info(
                "watched folder: a file \(what) \(outcome.session)", .fileTaken, session: outcome.session.text
            )
            log.debug("watched folder: session \(outcome.session) is \(Terminal.printable(name))")
        } catch {
            guard error.code == .invalidInput else {
                log.warning("watched folder: a file could not be taken: \(error)", .fileRefused)
                log.debug("watched folder: that was \(Terminal.printable(name))")
                return machine.failed(path, at: now())
            }
            // What it is will not change: only another file by this name is another matter.
            log.warning(
                "watched folder: a file is not taken (celestiad storage says which): \(error)", .fileRefused)
            log.debug("watched folder: that was \(Terminal.printable(name))")
            try await queue.noteTaken(TakenFile(path, look), session: nil, refusal: error.message)
            machine.settled(path)
        }
    }
}

extension TakenFile {
    fileprivate init(_ path: FilePath, _ look: FolderMachine.Look) {
        self.init(path: path.text, size: look.size, modified: look.modified, inode: look.inode)
    }
}
