internal import CLinux

/// What a watched descriptor is ready for.
package struct FDEvents: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// EPOLLIN.
    package static let readable = FDEvents(rawValue: EPOLLIN.rawValue)
    /// EPOLLOUT.
    package static let writable = FDEvents(rawValue: EPOLLOUT.rawValue)
    /// EPOLLERR; always reported, never asked for.
    package static let error = FDEvents(rawValue: EPOLLERR.rawValue)
    /// EPOLLHUP; always reported, never asked for.
    package static let hangup = FDEvents(rawValue: EPOLLHUP.rawValue)
}
