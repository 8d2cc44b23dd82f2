/// How a recorder's user answers when numbers are compared.
package enum RecorderConfirmation: String, Sendable, Hashable, CaseIterable {
    /// Confirms at once.
    case automatic = "auto"
    /// Waits for `Confirm` of the control interface.
    case manual
    /// Refuses at once.
    case refuse
}

/// The person who holds a recorder, looks at its display and presses its button.
package final class RecorderUser {
    private let confirmation: RecorderConfirmation
    /// The answer to the number on the display.
    private var answer: Bool?
    private var waiting: CheckedContinuation<Bool, Never>?

    package init(_ confirmation: RecorderConfirmation) {
        self.confirmation = confirmation
    }

    /// A new number is on the display; whoever waits for an answer to the one before is refused.
    package func ask() {
        confirm(false)
        switch confirmation {
        case .automatic: answer = true
        case .refuse: answer = false
        case .manual: answer = nil
        }
    }

    /// The user answers, perhaps before anybody waits.
    package func confirm(_ answer: Bool) {
        self.answer = answer
        waiting?.resume(returning: answer)
        waiting = nil
    }

    /// Resumes with the answer once there is one.
    package func wait(_ continuation: CheckedContinuation<Bool, Never>) {
        if let answer { continuation.resume(returning: answer) } else { waiting = continuation }
    }
}
