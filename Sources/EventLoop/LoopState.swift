internal import CLinux
import Glibc

/// State that only the loop's own thread touches.
final class LoopConfined<Value>: @unchecked Sendable {
    // Proof for @unchecked: every access in EventLoop is either before the thread starts or behind
    // `checkIsolated()` / in the thread's own run.
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

/// The epoll set and the timers of one loop.
final class LoopState {
    struct Event {
        let id: UInt
        let events: FDEvents
    }

    private struct Registration {
        let fd: Int32
        let handler: (FDEvents) -> Void
    }

    let timers = TimerHeap()
    private let epoll: OwnedFD
    private let wake: OwnedFD
    /// Registrations by an id that is never used again, so that an event queued for a closed descriptor
    /// cannot reach the next owner of its number. Id 0 is the wake-up descriptor.
    private var registrations: [UInt: Registration] = [:]
    private var lastID: UInt = 0
    private let buffer = UnsafeMutablePointer<epoll_event>.allocate(capacity: LoopState.batch)
    private static let batch = 64

    init(epoll: consuming OwnedFD, wake: consuming OwnedFD) {
        self.epoll = epoll
        self.wake = wake
    }

    deinit {
        buffer.deallocate()
    }

    func add(fd: Int32, events: FDEvents, handler: @escaping (FDEvents) -> Void) throws(SystemError) -> UInt {
        lastID += 1
        guard celestiad_epoll_ctl(epoll.rawValue, EPOLL_CTL_ADD, fd, events.rawValue, lastID) == 0 else {
            throw SystemError("epoll_ctl(ADD)")
        }
        registrations[lastID] = Registration(fd: fd, handler: handler)
        return lastID
    }

    func modify(id: UInt, events: FDEvents) throws(SystemError) {
        guard let registration = registrations[id] else { return }
        guard celestiad_epoll_ctl(epoll.rawValue, EPOLL_CTL_MOD, registration.fd, events.rawValue, id) == 0
        else { throw SystemError("epoll_ctl(MOD)") }
    }

    func remove(id: UInt) {
        guard let registration = registrations.removeValue(forKey: id) else { return }
        // The owner may have closed the descriptor already, which removed it from the set.
        _ = celestiad_epoll_ctl(epoll.rawValue, EPOLL_CTL_DEL, registration.fd, 0, id)
    }

    func removeAll() {
        registrations.removeAll()
        timers.removeAll()
    }

    func handler(id: UInt) -> ((FDEvents) -> Void)? {
        registrations[id]?.handler
    }

    /// Waits up to `timeout` milliseconds (-1: for ever).
    func poll(timeout: Int32) -> [Event] {
        let count = epoll_wait(epoll.rawValue, buffer, Int32(Self.batch), timeout)
        guard count > 0 else { return [] }
        return (0..<count).map { index in
            Event(
                id: celestiad_event_id(buffer, index),
                events: FDEvents(rawValue: celestiad_event_mask(buffer, index)))
        }
    }
}
