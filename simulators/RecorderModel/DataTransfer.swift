internal import ObjectTransfer

/// One read of an object that is under way.
struct DataTransfer {
    enum Plane { case channel, notifications }

    let plane: Plane
    let object: ObjectID
    /// The position in the log of transfers.
    let record: Int
    let end: Int64
    var position: Int64
    /// Frames that may still be sent (notifications only).
    var credits: Int

    let reader: ContentReader

    var isComplete: Bool { position >= end }
}

/// Limits how fast data is sent, as a slow radio does.
struct Pace {
    private var due: ContinuousClock.Instant?
    /// How late sending may be and still catch up: timers are coarser than frames.
    private static let slack = Duration.milliseconds(20)

    /// How long to wait before more may be sent; nil for not at all.
    func delay(at now: ContinuousClock.Instant) -> Duration? {
        guard let due, due > now else { return nil }
        return due - now
    }

    mutating func sent(_ bytes: Int, at now: ContinuousClock.Instant, bytesPerSecond: Int64?) {
        guard let bytesPerSecond else {
            due = nil
            return
        }
        let start = max(due ?? now, now - Self.slack)
        due = start + Duration.seconds(1) * Double(bytes) / Double(bytesPerSecond)
    }
}

/// A checksum that is being computed, piece by piece.
struct ChecksumJob {
    private static let stepSize: Int64 = 4 << 20

    let object: ObjectID
    private let reader: ContentReader
    private var position: Int64
    private let end: Int64
    private var crc = CRC32()

    init(object: ObjectID, reader: ContentReader, offset: UInt32, length: UInt32) {
        self.object = object
        self.reader = reader
        position = Int64(offset)
        end = Int64(offset) + Int64(length)
    }

    enum Progress {
        case more
        case done(UInt32)
        case failed
    }

    /// Goes on for a few megabytes.
    mutating func step() -> Progress {
        let stop = min(end, position + Self.stepSize)
        var chunk = [UInt8](repeating: 0, count: Int(min(stop - position, 1 << 18)))
        while position < stop {
            let wanted = Int(min(stop - position, Int64(chunk.count)))
            let count = chunk.withUnsafeMutableBytes {
                reader.read(at: position, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<wanted]))
            }
            guard count > 0 else { return .failed }
            crc.update(chunk[..<count])
            position += Int64(count)
        }
        return position >= end ? .done(crc.value) : .more
    }
}
