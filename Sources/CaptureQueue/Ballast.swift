import Glibc

/// A file that takes up a little space for the hour when there is none left: it is given up so that the queue can still
/// write down what happened, and made again when there is room.
final class Ballast {
    private let directory: StateDirectory
    private let size: Int64
    private static let name = "ballast"

    init(directory: StateDirectory, size: Int64) {
        self.directory = directory
        self.size = size
    }

    /// The bytes that it holds now.
    var held: Int64 {
        (try? FileSystem.status(at: directory.descriptor, Self.name))?.map(\.size) ?? 0
    }

    /// Gives the space back; false when there was none to give.
    func drop() -> Bool {
        guard held > 0 else { return false }
        return unlinkat(directory.descriptor, Self.name, 0) == 0
    }

    /// Takes the space, if it is not taken. What cannot be had whole is not kept.
    func restore() {
        guard held < size,
            let file = try? FileSystem.open(at: directory.descriptor, Self.name, O_RDWR | O_CREAT)
        else { return }
        // It fails with the disk full and leaves what it got.
        if posix_fallocate(file.raw, 0, off_t(size)) != 0 { _ = drop() }
    }
}
