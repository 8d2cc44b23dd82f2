import Glibc

/// A look at a folder and what is below it: plain files whose names do not begin with a dot. Symbolic links are not
/// followed, and neither depth nor number is without bound.
struct FolderTree {
    private(set) var files: [String: FolderMachine.Look] = [:]
    private(set) var folders: [String] = []
    /// Whether there was more than is looked at.
    private(set) var isCut = false

    static let maximumFiles = 100_000
    static let maximumFolders = 1024
    private static let maximumDepth = 16

    /// nil when the folder cannot be read.
    init?(_ root: String) {
        guard walk(root, depth: 0) else { return nil }
    }

    private mutating func walk(_ path: String, depth: Int) -> Bool {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth > 0 ? O_NOFOLLOW : 0))
        guard descriptor >= 0, let stream = fdopendir(descriptor) else {
            if descriptor >= 0 { close(descriptor) }
            return false
        }
        defer { closedir(stream) }
        folders.append(path)
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard !name.hasPrefix(".") else { continue }
            var buffer = stat()
            guard fstatat(descriptor, name, &buffer, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
            switch buffer.st_mode & S_IFMT {
            case S_IFDIR:
                guard depth < Self.maximumDepth, folders.count < Self.maximumFolders else {
                    isCut = true
                    continue
                }
                _ = walk("\(path)/\(name)", depth: depth + 1)
            case S_IFREG:
                guard files.count < Self.maximumFiles else {
                    isCut = true
                    continue
                }
                files["\(path)/\(name)"] = FolderMachine.Look(buffer)
            default: continue
            }
        }
        return true
    }
}

extension FolderMachine.Look {
    init(_ buffer: stat) {
        self.init(
            size: Int64(buffer.st_size),
            modified: Int64(buffer.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(buffer.st_mtim.tv_nsec),
            inode: UInt64(buffer.st_ino))
    }
}
