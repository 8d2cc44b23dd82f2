import Glibc

/// An open file descriptor with one owner; closed when the owner goes.
struct Descriptor: ~Copyable {
    let raw: Int32

    init(_ raw: Int32) { self.raw = raw }

    deinit { close(raw) }

    /// Gives the descriptor away: whoever takes it closes it.
    consuming func release() -> Int32 {
        let raw = raw
        discard self
        return raw
    }
}

/// What a directory entry is, as far as the queue cares.
struct FileStatus {
    let size: Int64
    let device: UInt64
    let inode: UInt64
    let isRegular: Bool
}

/// The system calls of the spool, each relative to an open directory and never through a symbolic link.
enum FileSystem {
    /// Bytes that are read at once to hash a file: small, because several may be under way in a small daemon.
    static let pieceLength = 256 << 10

    static func openDirectory(_ path: String) throws(QueueError) -> Descriptor {
        let raw = retrying { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard raw >= 0 else { throw failure("open the directory \(path)") }
        return Descriptor(raw)
    }

    /// Opens the directory `name`, after making it (0700) when `creating`; nil when it is not there.
    static func openDirectory(
        at parent: Int32, _ name: String, creating: Bool
    ) throws(QueueError) -> Descriptor? {
        if creating, mkdirat(parent, name, 0o700) == 0 {
            try sync(parent)
        } else if creating, errno != EEXIST {
            throw failure("make the directory \(name)")
        }
        let raw = retrying { openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        if raw < 0, errno == ENOENT { return nil }
        guard raw >= 0 else { throw failure("open the directory \(name)") }
        return Descriptor(raw)
    }

    static func open(
        at directory: Int32, _ name: String, _ flags: Int32
    ) throws(QueueError) -> Descriptor {
        let raw = retrying { openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600) }
        guard raw >= 0 else { throw failure("open \(name)") }
        return Descriptor(raw)
    }

    static func status(of descriptor: Int32) throws(QueueError) -> FileStatus {
        var buffer = stat()
        guard fstat(descriptor, &buffer) == 0 else { throw failure("examine a file") }
        return FileStatus(buffer)
    }

    /// Nil when there is no such entry.
    static func status(at directory: Int32, _ name: String) throws(QueueError) -> FileStatus? {
        var buffer = stat()
        if fstatat(directory, name, &buffer, AT_SYMLINK_NOFOLLOW) == 0 { return FileStatus(buffer) }
        guard errno == ENOENT else { throw failure("examine \(name)") }
        return nil
    }

    static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(QueueError) {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = retrying { pwrite(file, rest.baseAddress, rest.count, off_t(offset) + done) }
            guard count > 0 else { throw failure("write a file") }
            done += count
        }
    }

    static func write(_ bytes: [UInt8], to file: Int32, at offset: Int64) throws(QueueError) {
        // The standard library's accessors erase the type of what they rethrow.
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(QueueError) in try write(buffer, to: file, at: offset) }
        }
        try result.get()
    }

    /// Up to `count` bytes; fewer only at the end of the file.
    static func read(_ file: Int32, at offset: Int64, count: Int) throws(QueueError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let result = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(QueueError) in try read(file, at: offset, into: buffer) }
        }
        return Array(bytes.prefix(try result.get()))
    }

    /// Reads up to `buffer.count` bytes; fewer only at the end of the file.
    static func read(
        _ file: Int32, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(QueueError) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let count = retrying { pread(file, rest.baseAddress, rest.count, off_t(offset) + done) }
            guard count >= 0 else { throw failure("read a file") }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// The whole of a small file.
    static func contents(at directory: Int32, _ name: String, limit: Int) throws(QueueError) -> [UInt8] {
        let file = try open(at: directory, name, O_RDONLY)
        let size = try status(of: file.raw).size
        guard size <= limit else { throw QueueError(.sizeMismatch, "\(name) is larger than \(limit) bytes") }
        return try read(file.raw, at: 0, count: Int(size))
    }

    static func truncate(_ file: Int32, to size: Int64) throws(QueueError) {
        guard retrying({ Int(ftruncate(file, off_t(size))) }) == 0 else { throw failure("cut a file") }
    }

    /// Flushes a file. A failure is not retryable: Linux forgets the lost pages (upload.md 3.1).
    static func sync(_ file: Int32) throws(QueueError) {
        Failpoint.reach("before-sync")
        guard fsync(file) == 0 else { throw suspect() }
    }

    /// Flushes a file's data and size.
    static func syncData(_ file: Int32) throws(QueueError) {
        Failpoint.reach("before-sync")
        guard fdatasync(file) == 0 else { throw suspect() }
    }

    static func rename(at directory: Int32, _ old: String, _ new: String) throws(QueueError) {
        Failpoint.reach("before-rename")
        guard renameat(directory, old, directory, new) == 0 else { throw failure("rename \(old)") }
        Failpoint.reach("after-rename")
    }

    /// Moves a file to another directory, over the one that has its name there.
    static func move(from source: Int32, _ name: String, to target: Int32) throws(QueueError) {
        Failpoint.reach("before-rename")
        guard renameat(source, name, target, name) == 0 else { throw failure("move \(name)") }
        Failpoint.reach("after-rename")
    }

    /// Gives a file in one directory a second name in another; one that is there already is replaced.
    static func link(
        from source: Int32, _ old: String, to directory: Int32, _ new: String
    ) throws(QueueError) {
        try remove(at: directory, new)
        guard linkat(source, old, directory, new, 0) == 0 else { throw failure("link \(old)") }
    }

    /// Writes a small file in one step: whoever reads it sees the old or the new one. Durable once the directory is
    /// flushed.
    static func replace(at directory: Int32, _ name: String, with bytes: [UInt8]) throws(QueueError) {
        let temporary = ".\(name).tmp"
        let file = try open(at: directory, temporary, O_WRONLY | O_CREAT | O_TRUNC)
        try write(bytes, to: file.raw, at: 0)
        try sync(file.raw)
        try rename(at: directory, temporary, name)
    }

    /// Removes a file; one that is gone already is no error.
    static func remove(at directory: Int32, _ name: String) throws(QueueError) {
        guard unlinkat(directory, name, 0) == 0 || errno == ENOENT else { throw failure("remove \(name)") }
        Failpoint.reach("after-remove")
    }

    /// Removes an empty directory; tells whether it is gone.
    static func removeDirectory(at parent: Int32, _ name: String) -> Bool {
        unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT
    }

    /// The names in a directory, without `.` and `..`.
    static func names(in directory: Int32) throws(QueueError) -> [String] {
        let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else { throw failure("list a directory") }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    static func failure(_ attempt: String) -> QueueError {
        let number = errno
        let reason = String(cString: strerror(number))
        let message = "cannot \(attempt): \(reason)"
        switch number {
        case ENOSPC, EDQUOT: return QueueError(.diskFull, message, hint: "free some space")
        case EACCES, EPERM, EROFS: return QueueError(.notWritable, message, hint: "check owner and mode")
        case ENOENT: return QueueError(.notFound, message)
        default: return QueueError(.io, message)
        }
    }

    private static func suspect() -> QueueError {
        QueueError(
            .storageSuspect, "cannot flush to the disk: \(String(cString: strerror(errno)))",
            hint: "check the disk, then restart celestiad so that it verifies its files")
    }

    private static func retrying<T: SignedInteger>(_ call: () -> T) -> T {
        while true {
            let result = call()
            if result != -1 || errno != EINTR { return result }
        }
    }
}

extension FileStatus {
    init(_ buffer: stat) {
        size = Int64(buffer.st_size)
        device = UInt64(buffer.st_dev)
        inode = UInt64(buffer.st_ino)
        isRegular = buffer.st_mode & S_IFMT == S_IFREG
    }
}
