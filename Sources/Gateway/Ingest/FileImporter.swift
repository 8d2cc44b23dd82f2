package import CaptureQueue
import EventLoop
import FoundationEssentials
import Glibc
import Recorder

/// A file that somebody offers, open for reading. Whoever takes it closes it.
package struct OfferedFile: Sendable {
    package let descriptor: Int32
    /// Its name, without its folder.
    package let name: String
    /// Where it lies; informative.
    package let path: String?
    package let source: SourceKind
    /// The surface of capture.
    package let surface: String
    /// The first step of its provenance.
    package let step: String

    package init(
        descriptor: Int32, name: String, path: String?, source: SourceKind, surface: String, step: String
    ) {
        self.descriptor = descriptor
        self.name = name
        self.path = path
        self.source = source
        self.surface = surface
        self.step = step
    }
}

/// Copies offered files into the queue, on a thread of its own: a slow card or a dead network file system holds up
/// nothing but imports.
actor FileImporter {
    private let executor: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let queue: CaptureQueue
    private let targetHost: String
    private static let piece = 1 << 20
    private static let smallSize: Int64 = 64 << 20

    init(queue: CaptureQueue, targetHost: String, executor: EventLoop) {
        self.queue = queue
        self.targetHost = targetHost
        self.executor = executor
    }

    /// Returns when the file is durable in the queue, or was there already. It is read twice: what is here already is
    /// not written again. Throws `invalidInput` for what is no plain file, no sound or picture, or empty, `doesNotFit`
    /// before a large file is read for nothing, `io` for one that cannot be read now, and `sizeMismatch` for one that is
    /// changed meanwhile. Ends when its task is cancelled.
    func take(_ file: OfferedFile) async throws(QueueError) -> ImportOutcome {
        defer { close(file.descriptor) }
        let status = try Self.status(of: file)
        guard let type = ImportMedia.type(of: file.name) else {
            throw QueueError(
                .invalidInput, "\(Terminal.printable(file.name)) is neither sound nor picture by its name",
                hint: "the cloud takes no other files")
        }
        // What is small is read all the same: it may be here already.
        if status.size > Self.smallSize, try await !queue.fits(status.size) {
            try await queue.requireSpace(for: status.size)
        }
        let hasher = SHA256()
        try await read(file, status) { bytes async throws(QueueError) in bytes.withUnsafeBytes(hasher.update)
        }
        if let known = try await queue.session(
            content: hasher.digest(), size: status.size, host: targetHost)
        {
            return ImportOutcome(session: known, isNew: false)
        }
        let number = try await queue.beginImport(size: status.size)
        do throws(QueueError) {
            try await read(file, status) { [queue] bytes async throws(QueueError) in
                try await queue.append(bytes, toImport: number)
            }
            guard try Self.status(of: file) == status else { throw Self.changed(file) }
            return try await queue.finishImport(number, description(of: file, type, status))
        } catch {
            await queue.abandonImport(number)
            throw error
        }
    }

    private func read(
        _ file: OfferedFile, _ status: Status, _ body: ([UInt8]) async throws(QueueError) -> Void
    ) async throws(QueueError) {
        var offset: Int64 = 0
        while offset < status.size {
            guard !Task.isCancelled else { throw QueueError(.closed, "nobody waits for it any more") }
            let count = Int(min(Int64(Self.piece), status.size - offset))
            var bytes = [UInt8](repeating: 0, count: count)
            let result = pread(file.descriptor, &bytes, count, off_t(offset))
            if result < 0, errno == EINTR { continue }
            guard result >= 0 else {
                // That may pass: nothing is concluded about the file.
                throw QueueError(
                    .io,
                    "\(Terminal.printable(file.name)) cannot be read: \(String(cString: strerror(errno)))")
            }
            guard result > 0 else { throw Self.changed(file) }
            bytes.removeLast(count - result)
            try await body(bytes)
            offset += Int64(result)
            // A large file takes long: others get their turn meanwhile.
            await Task.yield()
        }
    }

    private func description(
        of file: OfferedFile, _ type: (kind: AssetKind, mimeType: String), _ status: Status
    ) -> ImportedFile {
        let modified = Date(timeIntervalSince1970: Double(status.seconds) + Double(status.nanoseconds) / 1e9)
        return ImportedFile(
            sourceKind: file.source, name: SafeName(file.name, fallback: "file").text,
            pathHint: file.path.map { String($0.prefix(1000)) }, kind: type.kind, mimeType: type.mimeType,
            modified: modified, modifiedText: modified.formatted(.iso8601), surface: file.surface,
            targetHost: targetHost, step: ["step": file.step, "time": "that of the file's last change"])
    }

    private struct Status: Equatable {
        let size: Int64
        let seconds: Int
        let nanoseconds: Int
    }

    private static func status(of file: OfferedFile) throws(QueueError) -> Status {
        var buffer = stat()
        guard fstat(file.descriptor, &buffer) == 0 else {
            throw QueueError(
                .io, "\(Terminal.printable(file.name)) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard buffer.st_mode & S_IFMT == S_IFREG else {
            throw QueueError(.invalidInput, "\(Terminal.printable(file.name)) is not a plain file")
        }
        guard buffer.st_size > 0 else {
            throw QueueError(
                .invalidInput, "\(Terminal.printable(file.name)) is empty",
                hint: "the cloud takes no empty files")
        }
        return Status(
            size: Int64(buffer.st_size), seconds: buffer.st_mtim.tv_sec, nanoseconds: buffer.st_mtim.tv_nsec)
    }

    private static func changed(_ file: OfferedFile) -> QueueError {
        QueueError(
            .sizeMismatch, "\(Terminal.printable(file.name)) was changed while it was read",
            hint: "nothing was taken; try again when it is complete")
    }
}
