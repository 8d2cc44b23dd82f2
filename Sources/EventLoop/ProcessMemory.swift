internal import CLinux

/// How this process uses memory.
package enum ProcessMemory {
    /// Keeps the heap small: to be called first thing in `main`, before there are threads.
    package static func keepSmall() {
        celestiad_use_one_arena()
    }
}
