import EventLoop
import FoundationEssentials

/// Reads `GET /sessions` while it arrives and keeps what it is asked for.
final class SessionListReader: Sendable {
    private struct State {
        var scanner = SessionListScanner()
        var sessions: [RemoteSession] = []
        var unreadableCount = 0
    }

    private let state = Locked(State())
    private let isWanted: @Sendable (RemoteSession) -> Bool

    init(_ isWanted: @escaping @Sendable (RemoteSession) -> Bool) {
        self.isWanted = isWanted
    }

    func feed(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { state in
            var (sessions, unreadable) = ([RemoteSession](), 0)
            state.scanner.feed(bytes) { element in
                guard let session = try? JSONDecoder().decode(RemoteSession.self, from: Data(element)) else {
                    unreadable += 1
                    return
                }
                if isWanted(session) { sessions.append(session) }
            }
            state.sessions += sessions
            state.unreadableCount += unreadable
        }
    }

    /// The answer without its sessions.
    var head: [UInt8] { state.withLock { $0.scanner.head } }

    /// nil when there was no list.
    var list: SessionList? {
        state.withLock { state in
            guard state.scanner.hasList else { return nil }
            return SessionList(
                sessions: state.sessions,
                unreadableCount: state.unreadableCount + state.scanner.oversizedCount)
        }
    }
}
