import Foundation
import Glibc

extension Process {
    /// Waits for the end of the process.
    ///
    /// Foundation's `waitUntilExit` turns the calling thread's run loop, and when the process ends at the wrong moment
    /// it turns it without rest for ever.
    package func waitForEnd() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(processIdentifier), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        // The process has ended; Foundation's own thread is about to notice.
        while isRunning { sched_yield() }
    }
}
