import Glibc

/// A file descriptor with one owner, closed when the owner goes.
package struct OwnedFD: ~Copyable, Sendable {
    /// The descriptor; valid while this value lives.
    package let rawValue: Int32

    /// Takes ownership of an open descriptor.
    package init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        close(rawValue)
    }

    /// Gives the descriptor up without closing it.
    package consuming func release() -> Int32 {
        let fd = rawValue
        discard self
        return fd
    }

    /// Opens a second descriptor for the same file, close-on-exec. Throws `SystemError` when none is left.
    package borrowing func duplicate() throws(SystemError) -> OwnedFD {
        let copy = fcntl(rawValue, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SystemError("fcntl(F_DUPFD_CLOEXEC)") }
        return OwnedFD(copy)
    }
}
