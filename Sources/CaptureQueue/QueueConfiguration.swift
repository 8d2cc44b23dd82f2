package import FoundationEssentials
import Glibc

/// The space on a file system.
package struct FreeSpace: Sendable, Equatable {
    /// Bytes that an ordinary process may still write.
    package let free: Int64
    /// The file system's size in bytes.
    package let total: Int64

    package init(free: Int64, total: Int64) {
        self.free = free
        self.total = total
    }

    /// What the system says about the file system of an open file; nil when it cannot tell.
    package static func measure(_ descriptor: Int32) -> FreeSpace? {
        var buffer = statvfs()
        guard fstatvfs(descriptor, &buffer) == 0 else { return nil }
        let unit = UInt64(buffer.f_frsize)
        let free = UInt64(buffer.f_bavail).multipliedReportingOverflow(by: unit)
        let total = UInt64(buffer.f_blocks).multipliedReportingOverflow(by: unit)
        return FreeSpace(
            free: free.overflow ? .max : Int64(clamping: free.partialValue),
            total: total.overflow ? .max : Int64(clamping: total.partialValue))
    }
}

/// How the queue is set up. Nothing is read from the environment here.
package struct QueueConfiguration: Sendable {
    /// The data directory; made with mode 0700 when it is absent (its parent must exist).
    package var directory: String
    /// How many bytes a pull appends between two flushes that are journalled.
    package var journalInterval: Int64 = 16 << 20
    /// Free space that a pull never touches: the larger of both.
    package var reservedBytes: Int64 = 512 << 20
    package var reservedPercent: Int64 = 5
    /// How long the bytes stay after the cloud's receipt is stored.
    package var keepAfterUpload: Duration = .zero
    /// Whether the whole database is checked at every start, not only after an unclean stop.
    package var alwaysChecks = false
    /// The wall clock; used for what people read and for schedules, never for order.
    package var now: @Sendable () -> Date
    /// The space of the file system behind a descriptor.
    package var freeSpace: @Sendable (Int32) -> FreeSpace? = FreeSpace.measure

    package init(directory: String, now: @escaping @Sendable () -> Date = { Date() }) {
        self.directory = directory
        self.now = now
    }
}
