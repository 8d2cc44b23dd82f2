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
    /// Restarts in a row that bring nothing before the window is given up.
    static let maximumFruitlessRestarts = 8

    private let end: UInt64
    private(set) var expected: UInt32
    /// Frames that may be on their way: fewer after each loss, one more with each top-up.
    private(set) var allowance: UInt16
    private var outstanding: UInt16 = 0
    private var staleBudget: UInt16 = 0
    private var fruitlessRestarts = 0

    /// A window that goes on with the allowance of the one before.
    init(offset: UInt32, length: UInt32, allowance: UInt16 = maximumCredits) {
        expected = offset
        self.allowance = allowance
        end = UInt64(offset) + UInt64(length)
    }

    var isComplete: Bool { UInt64(expected) == end }

    /// The command that starts the window, or starts it again from the first byte that is missing.
    mutating func start() -> ObjectDataControl {
        // Frames of the start before may still be on their way; no more than it had credits for.
        staleBudget = outstanding
        outstanding = allowance
        return .start(offset: expected, length: UInt32(end - UInt64(expected)), credits: allowance)
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

    /// The credits to give now, if it is time: in lots, as each top-up costs a round trip.
    mutating func credit() -> ObjectDataControl? {
        guard !isComplete, outstanding <= allowance - allowance / 4 else { return nil }
        allowance = min(allowance + 1, Self.maximumCredits)
        defer { outstanding = allowance }
        return .credit(allowance - outstanding)
    }

    private mutating func restart() -> Action {
        fruitlessRestarts += 1
        // Sending the same frames in the same rhythm again could lose the same one again.
        allowance = max(1, fruitlessRestarts > 1 ? allowance / 2 : allowance - allowance / 4)
        guard fruitlessRestarts <= Self.maximumFruitlessRestarts else {
            return .fail(ObjectTransferError(.stalled, "the data is lost again and again at \(expected)"))
        }
        return .restart
    }
}
