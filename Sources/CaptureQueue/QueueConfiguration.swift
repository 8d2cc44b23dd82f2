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

    /// Why so many bytes are not taken, with what is missing.
    func refusal(of bytes: Int64, reserve: Int64) -> String {
        let missing = bytes.addingReportingOverflow(reserve).partialValue - free
        return
            "\(Self.words(bytes)) do not fit: \(Self.words(free)) are free and \(Self.words(reserve)) are to stay "
            + "free, so \(Self.words(max(0, missing))) are missing"
    }

    /// Bytes as people read them.
    static func words(_ bytes: Int64) -> String {
        var (scale, unit): (Int64, String) = (1, "bytes")
        for next in ["KiB", "MiB", "GiB", "TiB"] where bytes / 1024 >= scale {
            (scale, unit) = (scale * 1024, next)
        }
        let tenth = bytes % scale * 10 / scale
        return scale == 1 || tenth == 0 ? "\(bytes / scale) \(unit)" : "\(bytes / scale).\(tenth) \(unit)"
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
    /// No attempt and no end of a hold is ever put off for longer.
    package var longestWait: Duration = .seconds(2 * 60 * 60)
    /// Space that is held in a file for the queue's own notes when the disk is full; 0 for none.
    package var ballastBytes: Int64 = 4 << 20
    /// Free space beyond the reserve at which a queue that ran out of space takes files again.
    package var recoveredBytes: Int64 = 64 << 20
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
