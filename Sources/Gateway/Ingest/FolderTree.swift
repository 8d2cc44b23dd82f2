import Glibc

/// A look at a folder and what is below it: plain files whose names do not begin with a dot. Symbolic links are not
/// followed, and neither depth nor number is without bound.
struct FolderTree {
    private(set) var files: [FilePath: FolderMachine.Look] = [:]
    private(set) var folders: [FilePath] = []
    /// Whether there was more than is looked at.
    private(set) var isCut = false
    /// Whether a part of it could not be read: what is not seen may be there all the same.
    private(set) var isPartial = false

    static let maximumFiles = 100_000
    static let maximumFolders = 1024
    private static let maximumDepth = 16

    /// nil when the folder cannot be read.
    init?(_ root: String) {
        guard walk(FilePath(root), depth: 0) else { return nil }
    }

    private mutating func walk(_ path: FilePath, depth: Int) -> Bool {
        guard let listing = FolderListing(path, followingLinks: depth == 0) else { return false }
        folders.append(path)
        if listing.isCut { isPartial = true }
        for entry in listing.entries {
            switch entry.status.st_mode & S_IFMT {
            case S_IFDIR:
                guard depth < Self.maximumDepth, folders.count < Self.maximumFolders else {
                    isCut = true
                    continue
                }
                if !walk(entry.path, depth: depth + 1) { isPartial = true }
            case S_IFREG:
                guard files.count < Self.maximumFiles else {
                    isCut = true
                    continue
                }
                files[entry.path] = FolderMachine.Look(entry.status)
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
