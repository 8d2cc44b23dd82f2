internal import CLinux
import Glibc

/// Unix signals as an asynchronous sequence, read from a signalfd on an event loop.
package enum SignalSource {
    /// Blocks `signals` in the calling thread and every thread it starts: to be called first thing in `main`.
    package static func block(_ signals: [Int32]) {
        var set = signalSet(signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// The signals as they come, one element each. They must be blocked in every thread.
    package static func stream(_ signals: [Int32], on loop: EventLoop) throws(SystemError) -> AsyncStream<
        Int32
    > {
        var set = signalSet(signals)
        let fd = signalfd(-1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        guard fd >= 0 else { throw SystemError("signalfd") }
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int32.self, bufferingPolicy: .bufferingNewest(16))
        loop.submit {
            // The watch lives as long as the loop: signals are wanted until the process ends.
            let watch = try? loop.watch(fd, for: .readable) { _ in
                var info = signalfd_siginfo()
                while read(fd, &info, MemoryLayout<signalfd_siginfo>.size)
                    == MemoryLayout<signalfd_siginfo>.size
                {
                    continuation.yield(Int32(bitPattern: info.ssi_signo))
                }
            }
            if watch == nil { continuation.finish() }
        }
        return stream
    }

    private static func signalSet(_ signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
