internal import ObjectTransfer

/// The rules of one window on the notification plane: which frames count, when credits are due, and what
/// to do about frames that were lost on the way. No I/O.
struct FrameWindowMachine {
    enum Action: Equatable {
        /// The payload is the next piece.
        case accept
        /// The frame is old, repeated or useless.
        case ignore
        /// Something was lost: stop the recorder and start it again from here.
        case restart
        /// The transfer cannot go on.
        case fail(ObjectTransferError)
    }

    /// bluetoothd drops what does not fit in its socket queue of about 167 frames; this stays far below.
    static let maximumCredits: UInt16 = 64
    /// Credits are topped up in lots, as each top-up costs a round trip.
    static let creditLot: UInt16 = 16
    /// Restarts in a row that bring nothing before the window is given up.
    static let maximumFruitlessRestarts = 8

    private let end: UInt64
    private(set) var expected: UInt32
    private var outstanding: UInt16 = 0
    private var staleBudget: UInt16 = 0
    private var fruitlessRestarts = 0

    init(offset: UInt32, length: UInt32) {
        expected = offset
        end = UInt64(offset) + UInt64(length)
    }

    var isComplete: Bool { UInt64(expected) == end }

    /// The command that starts the window, or starts it again from the first byte that is missing.
    mutating func start() -> ObjectDataControl {
        // Frames of the start before may still be on their way; no more than it had credits for.
        staleBudget = outstanding
        outstanding = Self.maximumCredits
        return .start(
            offset: expected, length: UInt32(end - UInt64(expected)), credits: Self.maximumCredits)
    }

    mutating func frame(offset: UInt32, count: Int) -> Action {
        outstanding -= min(1, outstanding)
        if offset < expected { return .ignore }
        if offset > expected {
            if staleBudget > 0 {
                staleBudget -= 1
                return .ignore
            }
            return restart()
        }
        let next = UInt64(expected) + UInt64(count)
        guard next <= end, let next = UInt32(exactly: next) else {
            return .fail(ObjectTransferError(.protocolViolation, "more data than was asked for"))
        }
        expected = next
        staleBudget = 0
        fruitlessRestarts = 0
        return .accept
    }

    /// No frame came for a while although the window is not complete: the last ones were lost.
    mutating func silence() -> Action {
        restart()
    }

    /// The credits to give now, if it is time.
    mutating func credit() -> ObjectDataControl? {
        let missing = Self.maximumCredits - outstanding
        guard !isComplete, missing >= Self.creditLot else { return nil }
        outstanding = Self.maximumCredits
        return .credit(missing)
    }

    private mutating func restart() -> Action {
        fruitlessRestarts += 1
        guard fruitlessRestarts <= Self.maximumFruitlessRestarts else {
            return .fail(ObjectTransferError(.stalled, "the data is lost again and again at \(expected)"))
        }
        return .restart
    }
}
