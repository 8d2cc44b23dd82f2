import EventLoop
import Glibc

/// A file that is always whole, because it is replaced by renaming. Blocks.
struct ReplacedFile: Sendable {
    let path: String
    /// Whatever the umask is: node_exporter, which reads the metrics, is another user.
    var mode: mode_t = 0o644
    /// Whether a power cut after `write` leaves the new content.
    var isDurable = false

    /// Throws what the system says.
    func write(_ text: String) throws(SystemError) {
        // node_exporter reads *.prom only, so never this one.
        let temporary = path + ".new"
        unlink(temporary)
        let raw = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard raw >= 0 else { throw SystemError("open") }
        let file = OwnedFD(raw)
        fchmod(file.rawValue, mode)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file.rawValue, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let error = SystemError("write")
                unlink(temporary)
                throw error
            }
            rest = rest.dropFirst(count)
        }
        guard !isDurable || fsync(file.rawValue) == 0, rename(temporary, path) == 0 else {
            let error = SystemError("fsync and rename")
            unlink(temporary)
            throw error
        }
        guard isDurable, let folder = SystemTree.parent(of: path) else { return }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw SystemError("open") }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw SystemError("fsync") }
    }

    /// What is old must not be taken for new.
    func remove() { unlink(path) }
}
