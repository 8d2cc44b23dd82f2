import Control
import EventLoop
import Glibc

/// Standard input, read without blocking a thread, so that Ctrl-C ends a question.
actor StandardInput: LineSource {
    private let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var buffered: [UInt8] = []
    private var watch: FDWatch?
    private var waiter: CheckedContinuation<Bool, Never>?
    private static let maximumLine = 64 * 1024

    init(loop: EventLoop) {
        self.loop = loop
    }

    func line(echo: Bool) async -> String? {
        let saved = echo ? nil : Self.hideInput()
        defer { if var saved { tcsetattr(STDIN_FILENO, TCSAFLUSH, &saved) } }
        while true {
            if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffered.removeFirst(end + 1) }
                return String(decoding: buffered[..<end], as: UTF8.self)
            }
            guard buffered.count <= Self.maximumLine, await isReadable(), !Task.isCancelled else {
                return nil
            }
            guard readSome() else {
                defer { buffered = [] }
                return buffered.isEmpty ? nil : String(decoding: buffered, as: UTF8.self)
            }
        }
    }

    func all(limit: Int) async throws(ControlError) -> [UInt8] {
        while await isReadable() {
            guard !Task.isCancelled else { throw ControlError(.cancelled, "cancelled") }
            guard readSome() else { break }
            guard buffered.count <= limit else {
                throw ControlError(.invalidArgument, "standard input has more than \(limit) bytes")
            }
        }
        defer { buffered = [] }
        return buffered
    }

    /// Takes what there is; false at the end of the input.
    private func readSome() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = read(STDIN_FILENO, &chunk, chunk.count)
        guard count > 0 else { return count < 0 && (errno == EINTR || errno == EAGAIN) }
        buffered += chunk.prefix(count)
        return true
    }

    /// Waits until reading will not block; returns at once for a file, which never does, and on cancellation.
    private func isReadable() async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.wait(continuation)
            }
        } onCancel: {
            loop.submit { [weak self] in self?.assumeIsolated { $0.wake(isReadable: false) } }
        }
    }

    private func wait(_ continuation: CheckedContinuation<Bool, Never>) {
        guard !Task.isCancelled else { return continuation.resume(returning: false) }
        waiter = continuation
        watch = try? loop.watch(STDIN_FILENO, for: .readable) { [weak self] _ in
            self?.assumeIsolated { $0.wake(isReadable: true) }
        }
        // epoll refuses regular files, which are always readable.
        if watch == nil { wake(isReadable: true) }
    }

    private func wake(isReadable: Bool) {
        watch?.cancel()
        watch = nil
        waiter?.resume(returning: isReadable)
        waiter = nil
    }

    /// Turns the terminal's echo off; returns how it was.
    private static func hideInput() -> termios? {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return nil }
        let saved = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings)
        return saved
    }
}
