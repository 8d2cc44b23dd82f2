import DBus
import EventLoop
import Glibc

/// Passes a password by a pipe, so that it is in no message that a bus monitor could show.
enum PasswordPipe {
    /// What a pipe holds at least without a reader, so that writing never waits.
    static let maximumLength = 4096

    /// The end to send, of a pipe that holds `password` and ends after it.
    static func readEnd(holding password: Password) throws(ControlError) -> SharedFD {
        let bytes = Array(password.reveal().utf8)
        guard bytes.count <= maximumLength else {
            throw ControlError(.invalidArgument, "the password is longer than \(maximumLength) bytes")
        }
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw ControlError(.failed, SystemError("pipe").description)
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let reading = SharedFD(ends[0])
        let writing = OwnedFD(ends[1])
        guard write(writing.rawValue, bytes, bytes.count) == bytes.count else {
            throw ControlError(.failed, SystemError("write").description)
        }
        return reading
    }

    /// Reads a password from a caller's pipe to its end. Throws `invalidArgument` when it is none, and `timeout` when
    /// its end does not come.
    static func read(
        _ pipe: SharedFD, on loop: EventLoop, timeout: Duration = .seconds(10)
    ) async throws(ControlError) -> Password {
        var status = stat()
        guard fstat(pipe.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
            throw ControlError(.invalidArgument, "the password must come by a pipe")
        }
        _ = fcntl(pipe.rawValue, F_SETFL, fcntl(pipe.rawValue, F_GETFL) | O_NONBLOCK)
        var bytes = try await PipeReader(pipe, on: loop).readToEnd(limit: maximumLength, timeout: timeout)
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else {
            throw ControlError(.invalidArgument, "the password is empty or not UTF-8")
        }
        return Password(text)
    }
}

/// Collects what comes by a non-blocking pipe.
private actor PipeReader {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let pipe: SharedFD
    private var bytes: [UInt8] = []
    private var watch: FDWatch?
    private var timer: LoopTimer?
    private var waiter: CheckedContinuation<Result<[UInt8], ControlError>, Never>?

    init(_ pipe: SharedFD, on loop: EventLoop) {
        self.pipe = pipe
        self.loop = loop
    }

    func readToEnd(limit: Int, timeout: Duration) async throws(ControlError) -> [UInt8] {
        try await suspending { continuation in
            self.start(limit: limit, timeout: timeout, continuation)
        }
    }

    private func start(
        limit: Int, timeout: Duration,
        _ continuation: CheckedContinuation<Result<[UInt8], ControlError>, Never>
    ) {
        waiter = continuation
        timer = loop.schedule(after: timeout) { [weak self] in
            let late = ControlError(.timeout, "the password did not come to its end in time")
            self?.assumeIsolated { $0.finish(.failure(late)) }
        }
        do throws(SystemError) {
            watch = try loop.watch(pipe.rawValue, for: .readable) { [weak self] _ in
                self?.assumeIsolated { $0.drain(limit: limit) }
            }
        } catch {
            finish(.failure(ControlError(.failed, error.description)))
        }
    }

    private func drain(limit: Int) {
        var chunk = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = Glibc.read(pipe.rawValue, &chunk, chunk.count)
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else { return finish(.success(bytes)) }
            bytes += chunk.prefix(count)
            guard bytes.count <= limit else {
                return finish(
                    .failure(ControlError(.invalidArgument, "the password is longer than \(limit) bytes")))
            }
        }
    }

    private func finish(_ result: Result<[UInt8], ControlError>) {
        watch?.cancel()
        timer?.cancel()
        waiter?.resume(returning: result)
        waiter = nil
    }
}
