import Glibc

/// A file descriptor that came or goes by the bus, closed with its last reference.
package final class SharedFD: Sendable, Hashable {
    /// Valid while this object lives.
    package let rawValue: Int32

    /// Takes ownership of an open descriptor.
    package init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    deinit {
        close(rawValue)
    }

    package static func == (left: SharedFD, right: SharedFD) -> Bool {
        left.rawValue == right.rawValue
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(rawValue)
    }
}
