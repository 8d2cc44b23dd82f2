import EventLoop
import Glibc

/// The file `credentials` in the state directory: 0600, replaced whole and durably. Blocks; not for the loop.
struct CredentialFile: Sendable {
    enum Content: Equatable {
        case absent
        case unreadable
        case credentials(Credentials)
    }

    private static let name = "credentials"
    private static let temporaryName = ".credentials.new"
    private static let maximumBytes = 128 << 10

    let directory: String

    /// Never a symbolic link, never another user's, never open to others.
    func load() throws(CloudError) -> Content {
        let directory = try openDirectory()
        let raw = openat(directory.rawValue, Self.name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        if raw < 0, errno == ENOENT { return .absent }
        guard raw >= 0 else { throw Self.failure("open") }
        let file = OwnedFD(raw)
        var status = stat()
        guard fstat(file.rawValue, &status) == 0 else { throw Self.failure("fstat") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_size <= Self.maximumBytes
        else { return .unreadable }
        if status.st_mode & 0o077 != 0 { fchmod(file.rawValue, 0o600) }
        var bytes = [UInt8](repeating: 0, count: Self.maximumBytes)
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                read(file.rawValue, buffer.baseAddress.map { $0 + length }, buffer.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure("read") }
            if count == 0 { break }
            length += count
        }
        return Credentials(decoding: Array(bytes[..<length])).map { .credentials($0) } ?? .unreadable
    }

    /// Temporary file, fsync, rename, fsync of the directory: after this returns a power cut leaves the new
    /// content, before it the old.
    func save(_ credentials: Credentials) throws(CloudError) {
        let bytes = try credentials.encoded()
        guard bytes.count <= Self.maximumBytes else {
            throw .storage("the login is larger than a credentials file may be")
        }
        let directory = try openDirectory()
        unlinkat(directory.rawValue, Self.temporaryName, 0)
        let raw = openat(
            directory.rawValue, Self.temporaryName, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
            0o600)
        guard raw >= 0 else { throw Self.failure("open") }
        let file = OwnedFD(raw)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                write(file.rawValue, buffer.baseAddress.map { $0 + written }, buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure("write") }
            written += count
        }
        guard fsync(file.rawValue) == 0 else { throw Self.failure("fsync") }
        guard renameat(directory.rawValue, Self.temporaryName, directory.rawValue, Self.name) == 0 else {
            throw Self.failure("rename")
        }
        guard fsync(directory.rawValue) == 0 else { throw Self.failure("fsync of the directory") }
    }

    /// After this returns the tokens are gone from the file system.
    func remove() throws(CloudError) {
        let directory = try openDirectory()
        unlinkat(directory.rawValue, Self.temporaryName, 0)
        guard unlinkat(directory.rawValue, Self.name, 0) == 0 || errno == ENOENT else {
            throw Self.failure("unlink")
        }
        guard fsync(directory.rawValue) == 0 else { throw Self.failure("fsync of the directory") }
    }

    private func openDirectory() throws(CloudError) -> OwnedFD {
        let raw = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard raw >= 0 else { throw Self.failure("open of the directory") }
        return OwnedFD(raw)
    }

    private static func failure(_ call: String) -> CloudError {
        .storage("credentials file: \(SystemError(call))")
    }
}
