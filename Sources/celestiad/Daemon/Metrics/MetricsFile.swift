import EventLoop
import Glibc

/// The file that node_exporter's textfile collector reads: always whole, because it is replaced by renaming. Blocks.
struct MetricsFile: Sendable {
    let path: String

    /// Throws what the system says.
    func write(_ text: String) throws(SystemError) {
        // The collector reads *.prom only, so never this one.
        let temporary = path + ".new"
        unlink(temporary)
        let raw = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard raw >= 0 else { throw SystemError("open") }
        let file = OwnedFD(raw)
        // Whatever the umask is: the collector is another user.
        fchmod(file.rawValue, 0o644)
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
        guard rename(temporary, path) == 0 else {
            let error = SystemError("rename")
            unlink(temporary)
            throw error
        }
    }

    /// What is old must not be taken for new.
    func remove() { unlink(path) }
}
