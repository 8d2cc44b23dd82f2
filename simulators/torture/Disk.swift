import CTorture
import Glibc

/// A file system of its own in a file, whose power can be cut. Root only.
struct Disk {
    let image: String
    let mountPoint: String

    static var isPossible: Bool { getuid() == 0 && access("/dev/loop-control", W_OK) == 0 }

    init(_ directory: String, mebibytes: Int) throws {
        image = directory + "/disk.ext4"
        mountPoint = directory + "/disk"
        mkdir(mountPoint, 0o700)
        try Child.run("truncate", "-s", "\(mebibytes)M", image)
        try Child.run("mkfs.ext4", "-q", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", image)
        try mount()
    }

    func mount() throws { try Child.run("mount", "-o", "loop", image, mountPoint) }

    func unmount() throws { try Child.run("umount", mountPoint) }

    /// The power goes: what was not flushed is lost.
    func cutPower() throws {
        guard celestia_cut_power(mountPoint) == 0 else {
            throw Failure("the power cannot be cut: \(String(cString: strerror(errno)))")
        }
    }

    func makeReadOnly(_ isReadOnly: Bool) throws {
        try Child.run("mount", "-o", isReadOnly ? "remount,ro" : "remount,rw", mountPoint)
    }

    func remove() {
        try? unmount()
        unlink(image)
        rmdir(mountPoint)
    }
}
