internal import CSystemd
import Glibc

/// What the service manager is told (sd_notify(3)); nothing happens outside systemd.
package struct ServiceManager: Sendable {
    package init() {}

    /// The service is up: the queue is open, the bus name ours, BlueZ was looked for once.
    package func ready() { notify("READY=1") }
    /// The configuration is being read anew; `ready()` ends it.
    package func reloading() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        notify("RELOADING=1\nMONOTONIC_USEC=\(microseconds)")
    }

    /// The service is on its way down.
    package func stopping() { notify("STOPPING=1") }
    /// One line for `systemctl status`.
    package func status(_ text: String) { notify("STATUS=\(text)") }
    /// The service lives.
    package func watchdog() { notify("WATCHDOG=1") }

    /// How often to call `watchdog()`; nil where nobody watches. A quarter of the limit: a part that is slow to answer may
    /// miss two calls.
    package var watchdogInterval: Duration? {
        var microseconds: UInt64 = 0
        guard sd_watchdog_enabled(0, &microseconds) > 0 else { return nil }
        return .microseconds(Int64(clamping: microseconds / 4))
    }

    private func notify(_ state: String) {
        _ = sd_notify(0, state)
    }
}
