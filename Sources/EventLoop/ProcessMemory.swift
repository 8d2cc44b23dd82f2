internal import CLinux

/// How this process uses memory.
package enum ProcessMemory {
    /// Keeps the heap small: to be called first thing in `main`, before there are threads.
    package static func keepSmall() {
        celestiad_use_one_arena()
    }

    /// Lets go of the pages of code that were used so far: to be called when a phase with code of its own has ended, such
    /// as the start. What is used again comes back from the page cache.
    package static func releaseCode() {
        celestiad_release_code()
    }
}
