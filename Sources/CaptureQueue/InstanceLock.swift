import Glibc

/// Makes one process the owner of a data directory, by `flock` on `queue.lock`. The lock goes with the
/// process, however it ends; the pid inside is for the message only.
final class InstanceLock {
    private let file: Descriptor

    init(directory: Int32) throws(QueueError) {
        let file = try FileSystem.open(at: directory, "queue.lock", O_RDWR | O_CREAT)
        guard flock(file.raw, LOCK_EX | LOCK_NB) == 0 else {
            let text = (try? FileSystem.contents(at: directory, "queue.lock", limit: 64)) ?? []
            let pid = String(decoding: text.prefix { $0 != 0x0A }, as: UTF8.self)
            throw QueueError(
                .alreadyInUse, "the state directory is already in use by pid \(pid.isEmpty ? "?" : pid)",
                hint: "stop the other celestiad first")
        }
        try FileSystem.truncate(file.raw, to: 0)
        let text = Array("\(getpid())\n".utf8)
        try FileSystem.write(text, to: file.raw, at: 0)
        self.file = file
    }
}
