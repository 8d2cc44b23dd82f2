internal import CLinux

/// The machine's clock on the wall.
package enum SystemClock {
    /// Whether the kernel says that something keeps it in time (adjtimex(2)); nil where it says nothing.
    package static var isSynchronized: Bool? {
        let answer = celestiad_clock_is_synchronized()
        return answer < 0 ? nil : answer == 1
    }
}
