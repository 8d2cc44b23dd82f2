import Glibc

/// The files of a machine: the real ones, or a tree that stands in for them. Every call may block.
struct SystemTree: Sendable {
    /// What lies before every path; empty for the real ones.
    var root = ""

    /// What is known of a file.
    enum Entry: Sendable, Equatable {
        case absent
        /// We may not look there, or looking failed.
        case hidden
        case found(Info)
    }

    struct Info: Sendable, Equatable {
        let isFolder: Bool
        let mode: UInt32
        let owner: UInt32
        let group: UInt32
    }

    /// The beginning of a file; nil when it cannot be read.
    func text(_ path: String, limit: Int = 1 << 16) -> String? {
        let fd = open(root + path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 1 << 16))
        while bytes.count < limit {
            let count = read(fd, &buffer, min(buffer.count, limit - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// One word, as the files of sysfs hold it.
    func word(_ path: String) -> String? { text(path, limit: 4096)?.trimmingSpace() }

    /// The names in a folder, sorted; nil where there is no such folder.
    func names(_ path: String) -> [String]? {
        guard let directory = opendir(root + path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.first != "." { names.append(name) }
        }
        return names.sorted()
    }

    func entry(_ path: String) -> Entry {
        var info = stat()
        guard stat(root + path, &info) == 0 else {
            return errno == ENOENT || errno == ENOTDIR ? .absent : .hidden
        }
        return .found(
            Info(
                isFolder: info.st_mode & S_IFMT == S_IFDIR, mode: info.st_mode & 0o7777, owner: info.st_uid,
                group: info.st_gid))
    }

    /// The number of the file system that a path lies on; nil where it cannot be looked at.
    func device(_ path: String) -> UInt64? {
        var info = stat()
        return stat(root + path, &info) == 0 ? UInt64(info.st_dev) : nil
    }

    func exists(_ path: String) -> Bool { entry(path) != .absent }

    func hasAny(of paths: [String]) -> Bool { paths.contains(where: exists) }

    /// Where a link leads in the end, below the root; nil when it leads nowhere.
    func target(_ path: String) -> String? {
        guard let resolved = realpath(root + path, nil) else { return nil }
        defer { free(resolved) }
        let text = String(cString: resolved)
        guard !root.isEmpty else { return text }
        guard let base = realpath(root, nil) else { return nil }
        defer { free(base) }
        let prefix = String(cString: base)
        return text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
    }

    /// The folder that a path lies in; nil for the top.
    static func parent(of path: String) -> String? {
        guard let slash = path.lastIndex(of: "/"), path != "/" else { return nil }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
