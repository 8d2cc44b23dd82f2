internal import CLinux
import Glibc

/// Unix signals as an asynchronous sequence.
///
/// By a handler that writes into a pipe, not by a signalfd: that needs the signals blocked in every thread, and
/// libdispatch's main thread waits with all of them unblocked.
package enum SignalSource {
    /// The signals as they come, one element each; from now on they do nothing else. The last stream made gets them.
    package static func stream(_ signals: [Int32], on loop: EventLoop) throws(SystemError) -> AsyncStream<
        Int32
    > {
        var ends: [Int32] = [0, 0]
        guard celestiad_pipe2(&ends, Int32(O_CLOEXEC | O_NONBLOCK)) == 0 else { throw SystemError("pipe2") }
        let (reading, writing) = (ends[0], ends[1])
        let (stream, continuation) = AsyncStream.makeStream(
            of: Int32.self, bufferingPolicy: .bufferingNewest(16))
        // Both ends live as long as the process: a handler may run at any time.
        for signal in signals where celestiad_catch_signal(signal, writing) != 0 {
            throw SystemError("sigaction")
        }
        loop.submit {
            let watch = try? loop.watch(reading, for: .readable) { _ in
                var signal: UInt8 = 0
                while read(reading, &signal, 1) == 1 { continuation.yield(Int32(signal)) }
            }
            if watch == nil { continuation.finish() }
        }
        return stream
    }
}
