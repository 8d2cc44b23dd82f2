import CaptureQueue
import Control
import DBus
import Glibc

/// `celestiad cloud download`: the daemon writes into files that the user's own rights have opened, and what they hold is
/// checked here before they get their names.
struct CloudDownload {
    private let invocation: Invocation
    private var console: Console { invocation.console }

    init(_ invocation: Invocation) {
        self.invocation = invocation
    }

    private static let elsewhere = "--to DIR"

    func run() async throws(ControlError) -> ExitCode {
        guard let id = invocation.positional(1) else {
            throw ControlError(
                .invalidArgument, "cloud download needs SESSION", hint: "celestiad cloud sessions lists them")
        }
        let client = try await invocation.connect()
        let session = try await client.cloudSession(id)
        let wanted = try choose(session)
        let directory =
            invocation.arguments.value("to") ?? "celestia-\(Self.safe(String(session.id.prefix(8))))"
        try make(directory)
        var files: [CloudDownloadReport.Entry] = []
        var failures: [ControlError] = []
        for (index, asset) in wanted {
            let path = "\(directory)/\(LocalFile.name(asset.name, index))"
            do throws(ControlError) {
                files.append(try await fetch(asset, of: session.id, path, client))
            } catch {
                if Task.isCancelled || error.code == .cancelled {
                    throw ControlError(
                        .cancelled, "interrupted", hint: "what came is kept; the same command goes on with it"
                    )
                }
                // One file's trouble does not keep the others away.
                guard wanted.count > 1, !error.isEverybodys else { throw error }
                failures.append(error)
                files.append(entry(asset, path, "failed", error: error.message))
                console.note(
                    "\(Text.clean(asset.name)): \(error.message)" + (error.hint.map { "\n  → \($0)" } ?? ""))
            }
        }
        try tell(files, of: session, in: directory)
        // All of them for the same reason is no part of it.
        if let failure = failures.first, failures.count == wanted.count { throw failure }
        return failures.isEmpty && session.unreadable == nil ? .success : .partial
    }

    private func tell(
        _ files: [CloudDownloadReport.Entry], of session: CloudSessionDocument, in directory: String
    ) throws(ControlError) {
        let failed = files.count { $0.outcome == "failed" }
        if invocation.wantsJSON {
            try console.printJSON(CloudDownloadReport(session: session.id, files: files))
        } else if failed < files.count {
            let new = files.count { $0.outcome == "downloaded" }
            console.note(
                "\(Units.count(files.count - failed, "file")) in \(Text.clean(directory)), \(new) downloaded now, each with the SHA-256 that the cloud tells"
            )
        }
        if failed > 0 {
            console.note(
                "\(Units.count(failed, "file")) could not be had; the same command tries only those again"
            )
        }
        if session.unreadable != nil {
            console.note("the session has parts that this celestiad does not know how to read")
        }
    }

    private func make(_ directory: String) throws(ControlError) {
        guard mkdir(directory, 0o777) != 0 else { return }
        guard errno == EEXIST else { throw Self.failure("make the folder \(directory)") }
        var info = stat()
        guard stat(directory, &info) == 0, info.st_mode & S_IFMT == S_IFDIR else {
            throw ControlError(
                .failed, "\(Text.clean(directory)) is there already and is no folder",
                hint: "move it away, or name another folder: \(Self.elsewhere)")
        }
    }

    private func entry(
        _ asset: CloudAssetDocument, _ path: String, _ outcome: String, error: String? = nil
    ) -> CloudDownloadReport.Entry {
        CloudDownloadReport.Entry(
            asset: asset.id, path: path, bytes: asset.bytes, sha256: asset.sha256, outcome: outcome,
            error: error)
    }

    /// The files that are asked for, with their places in the session.
    private func choose(_ session: CloudSessionDocument) throws(ControlError) -> [(Int, CloudAssetDocument)] {
        let all = Array((session.assets ?? []).enumerated()).map { ($0.offset, $0.element) }
        guard !all.isEmpty else {
            throw ControlError(
                .notFound,
                session.deletedAt == nil
                    ? "the session has no files in the cloud" : "the session was deleted in the cloud")
        }
        guard let id = invocation.positional(2) else { return all }
        if let exact = all.first(where: { $0.1.id == id }) { return [exact] }
        let matches = all.filter { $0.1.id.hasPrefix(id) }
        guard matches.count == 1 else {
            throw ControlError(
                matches.isEmpty ? .notFound : .invalidArgument,
                matches.isEmpty
                    ? "the session has no file \(Text.clean(id))"
                    : "\(Text.clean(id)) is the beginning of \(matches.count) ids of files",
                hint: "its files are: \(all.map { Text.clean($0.1.id) }.prefix(20).joined(separator: ", "))")
        }
        return matches
    }

    private func fetch(
        _ asset: CloudAssetDocument, of session: String, _ path: String, _ client: ControlClient
    ) async throws(ControlError) -> CloudDownloadReport.Entry {
        if try isPresent(asset, path) { return entry(asset, path, "present") }
        let part = Self.part(of: path, asset)
        let file = try open(part, O_RDWR | O_CREAT)
        guard flock(file.rawValue, LOCK_EX | LOCK_NB) == 0 else {
            throw ControlError(
                .busy, "\(Text.clean(path)) is being downloaded already", hint: "wait for it, and try again")
        }
        // Another may have finished it between the look and the lock.
        if try isPresent(asset, path) {
            unlink(part)
            return entry(asset, path, "present")
        }
        // What an earlier run left may be of other bytes: then once more from the beginning.
        for isLast in [false, true] {
            let had = try size(of: file, part)
            try checkSpace(asset, had: had, file, path)
            do throws(ControlError) {
                try await transfer(asset, of: session, into: file, client)
            } catch {
                // What nothing came of is not to be found there.
                if (try? size(of: file, part)) == 0 { unlink(part) }
                throw error
            }
            guard fsync(file.rawValue) == 0 else { throw Self.failure("flush \(part)") }
            if try size(of: file, part) == asset.bytes, try digest(of: file, part) == asset.sha256 {
                try publish(part, path)
                return entry(asset, path, "downloaded")
            }
            guard ftruncate(file.rawValue, 0) == 0 else { throw Self.failure("empty \(part)") }
            if had == 0 || isLast { break }
        }
        unlink(part)
        throw ControlError(
            .failed, "what came for \(Text.clean(asset.name)) does not have the SHA-256 that the cloud tells",
            hint: "nothing of it was kept; try again, and tell the cloud's operator if it stays so")
    }

    /// Whether the whole file is there. Throws when something else has its name.
    private func isPresent(_ asset: CloudAssetDocument, _ path: String) throws(ControlError) -> Bool {
        guard let present = try openIfThere(path, O_RDONLY) else { return false }
        guard try digest(of: present, path) == asset.sha256 else {
            throw ControlError(
                .failed, "\(Text.clean(path)) is there already and is something else",
                hint: "move it away, or name another folder: --to DIR")
        }
        return true
    }

    /// Where a file grows until it is whole: hidden, and named by its asset, so that it is nobody else's.
    static func part(of path: String, _ asset: CloudAssetDocument) -> String {
        let slash = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        return "\(path[..<slash]).\(safe(String(asset.id.prefix(36)))).part"
    }

    /// Shows how the file grows while the daemon writes it.
    private func transfer(
        _ asset: CloudAssetDocument, of session: String, into file: SharedFD, _ client: ControlClient
    ) async throws(ControlError) {
        let isShown = console.errorIsTerminal
        let progress = Task {
            guard isShown else { return }
            var area = LiveArea(console, onError: true)
            while !Task.isCancelled {
                var info = stat()
                let bytes = fstat(file.rawValue, &info) == 0 ? Int64(info.st_size) : 0
                area.draw(
                    ProgressView(layout: console.errorLayout).lines([
                        TransferDocument(
                            leg: "cloud_to_here", name: asset.name, bytes: bytes, totalBytes: asset.bytes)
                    ]))
                try? await Task.sleep(for: .milliseconds(250))
            }
            area.erase()
        }
        let result: Result<Int64, ControlError>
        do throws(ControlError) {
            result = .success(
                try await client.download(
                    DownloadRequest(session: session, asset: asset.id, file: file, bytes: asset.bytes)))
        } catch {
            result = .failure(error)
        }
        progress.cancel()
        await progress.value
        _ = try result.get()
    }

    // MARK: Files

    private func open(_ path: String, _ flags: Int32) throws(ControlError) -> SharedFD {
        guard let file = try openIfThere(path, flags) else { throw Self.failure("open \(path)") }
        return file
    }

    /// nil when it is absent.
    private func openIfThere(_ path: String, _ flags: Int32) throws(ControlError) -> SharedFD? {
        // Never waiting: a pipe of that name would wait for its other end.
        let fd = Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o666)
        guard fd >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("open \(path)")
        }
        let file = SharedFD(fd)
        var info = stat()
        guard fstat(fd, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            throw ControlError(
                .failed, "\(Text.clean(path)) is there already and is no file",
                hint: "move it away, or name another folder: \(Self.elsewhere)")
        }
        return file
    }

    /// Before anything is asked of the cloud: the transfer of a file that cannot fit is of no use.
    private func checkSpace(
        _ asset: CloudAssetDocument, had: Int64, _ file: SharedFD, _ path: String
    ) throws(ControlError) {
        var info = statvfs()
        guard fstatvfs(file.rawValue, &info) == 0 else { return }
        let free = Int64(
            clamping: UInt64(info.f_bavail).multipliedReportingOverflow(by: UInt64(info.f_frsize))
                .partialValue)
        let needed = max(0, asset.bytes - had)
        guard needed > free else { return }
        if had == 0 { unlink(Self.part(of: path, asset)) }
        throw ControlError(
            .diskLow,
            "\(Text.clean(asset.name)) needs \(Units.bytes(needed)), and \(Units.bytes(free)) are free there",
            hint: "free space there, or name another folder: \(Self.elsewhere)")
    }

    private static func failure(_ what: String) -> ControlError {
        LocalFile.failure(what, elsewhere: elsewhere)
    }

    private func size(of file: SharedFD, _ path: String) throws(ControlError) -> Int64 {
        var info = stat()
        guard fstat(file.rawValue, &info) == 0 else { throw Self.failure("look at \(path)") }
        return Int64(info.st_size)
    }

    private func digest(of file: SharedFD, _ path: String) throws(ControlError) -> String {
        let hasher = SHA256()
        try LocalFile.read(file, path, elsewhere: Self.elsewhere) { piece throws(ControlError) in
            piece.withUnsafeBytes { hasher.update($0) }
        }
        return hasher.digest().hex
    }

    /// Gives the file its name, unless another has taken it meanwhile; some file systems cannot tell.
    private func publish(_ part: String, _ path: String) throws(ControlError) {
        if link(part, path) == 0 {
            unlink(part)
        } else {
            let isUnable = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS
            guard isUnable, rename(part, path) == 0 else {
                throw Self.failure("rename \(part) to \(path)")
            }
        }
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let fd = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if fd >= 0 {
            fsync(fd)
            close(fd)
        }
    }

    /// An id from outside, as a part of a file name.
    private static func safe(_ id: String) -> String {
        String(id.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "_" })
    }
}

/// What `cloud download --json` prints.
struct CloudDownloadReport: Codable {
    /// What became of one file.
    struct Entry: Codable {
        let asset: String
        let path: String
        let bytes: Int64
        let sha256: String
        /// `downloaded`, `present` when it was there already, or `failed`.
        let outcome: String
        var error: String?
    }

    let session: String
    let files: [Entry]
}

extension ControlError {
    /// Whether the next file will meet the same.
    fileprivate var isEverybodys: Bool {
        switch code {
        case .notRunning, .noBus, .notAuthorized, .notLoggedIn, .cloudUnavailable, .cancelled: true
        default: false
        }
    }
}
