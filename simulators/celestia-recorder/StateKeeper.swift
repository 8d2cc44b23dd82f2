import EventLoop
import RecorderModel

/// Keeps the recorders' lasting state in the state file, where there is one.
final class StateKeeper: Sendable {
    private let path: String?
    private let states: Locked<[String: RecorderState]>

    /// Reads the file. Throws `state` when it is not one.
    init(path: String?) throws(RecorderModelError) {
        self.path = path
        states = Locked(
            try path.map { path throws(RecorderModelError) in try RecorderState.load(path) } ?? [:])
    }

    func state(of serial: String) -> RecorderState {
        states.withLock { $0[serial] } ?? RecorderState()
    }

    /// Writes the file anew; a failure is told on standard error and the recorders go on.
    func keep(_ state: RecorderState, of serial: String) {
        let all = states.withLock { states in
            states[serial] = state
            return states
        }
        guard let path else { return }
        do throws(RecorderModelError) {
            try RecorderState.save(all, to: path)
        } catch {
            Output.complain(error.message)
        }
    }
}
