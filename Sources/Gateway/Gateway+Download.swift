import Cloud
package import DBus
import EventLoop
import Glibc
import HTTP

extension Gateway {
    /// Attempts in a row that bring no byte.
    private static let fruitlessAttempts = 5
    /// Nobody sits in front of a download that waits longer.
    private static let longestWish = Duration.seconds(30)

    /// Writes an asset of the cloud into `file` behind what is there already, and returns the file's length. A transfer
    /// that breaks is continued. Throws `invalidArgument` for a file that cannot be written without waiting.
    package nonisolated func download(
        session: String, asset: String, into file: SharedFD, bytes: Int64
    ) async throws(GatewayError) -> Int64 {
        var length = try DownloadTarget.length(of: file)
        if length > bytes { length = 0 }
        var failures = 0
        var random = SystemRandomNumberGenerator()
        while length < bytes {
            let copy = try DownloadTarget.copy(of: file)
            let sink = HTTPSink(file: SharedFile(copy), resumeAt: length, limit: bytes)
            let failure: CloudError
            switch await attempt(asset, of: session, into: sink) {
            case .success: return try DownloadTarget.length(of: file)
            case .failure(let error): failure = error
            }
            let reached = min(bytes, try DownloadTarget.length(of: file))
            failures = reached > length ? 1 : failures + 1
            switch failure.outcome {
            case _ where failure.transport == .sink || failure.transport == .sinkFull:
                throw GatewayError(failure)
            case .reinit where length > 0: length = 0
            case .retry where failures < Self.fruitlessAttempts: length = reached
            default: throw GatewayError(failure)
            }
            if let wish = failure.outcome.wish, wish > Self.longestWish {
                throw GatewayError(
                    .cloud, "\(failure.message); it asks to wait \(wish.components.seconds) s",
                    hint: "What came is kept; try again then.")
            }
            let delay = max(
                failure.outcome.wish ?? .zero,
                min(.seconds(15), RetryPolicy().delay(failures: failures, using: &random)))
            guard (try? await context.clock.sleep(for: delay)) != nil else {
                throw GatewayError(.cancelled, "cancelled")
            }
        }
        return length
    }

    private nonisolated func attempt(
        _ asset: String, of session: String, into sink: HTTPSink
    ) async -> Result<Void, CloudError> {
        do throws(CloudError) {
            _ = try await api.downloadAsset(id: asset, sessionId: session, into: sink)
            return .success(())
        } catch {
            return .failure(error)
        }
    }
}

/// The caller's file that a download goes into.
enum DownloadTarget {
    static func length(of file: SharedFD) throws(GatewayError) -> Int64 {
        var info = stat()
        guard fstat(file.rawValue, &info) == 0, info.st_mode & S_IFMT == S_IFREG else {
            throw GatewayError(.invalidArgument, "a download needs a regular file")
        }
        guard !SlowFileSystem.holds(file.rawValue) else {
            throw GatewayError(
                .invalidArgument, "the folder is on a network or user-space file system",
                hint: "Download to a local disk and move the files then.")
        }
        let flags = fcntl(file.rawValue, F_GETFL)
        guard flags >= 0, flags & O_ACCMODE != O_RDONLY, flags & O_APPEND == 0 else {
            throw GatewayError(.invalidArgument, "the file is not open for writing anywhere in it")
        }
        return Int64(info.st_size)
    }

    /// A descriptor of the same open file that the transfer may own.
    static func copy(of file: SharedFD) throws(GatewayError) -> OwnedFD {
        let copy = fcntl(file.rawValue, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw GatewayError(SystemError("fcntl")) }
        return OwnedFD(copy)
    }
}
