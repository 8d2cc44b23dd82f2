import Glibc

/// A value behind a pthread mutex, for state that several threads share and an actor would only add hops to.
///
/// `Synchronization.Mutex` is not used: it is an inlined futex that ThreadSanitizer cannot see on Linux.
package final class Locked<Value>: @unchecked Sendable {
    // Proof for @unchecked: `value` is read and written only between lock and unlock of `mutex`, and what
    // `withLock` hands out leaves it only as a sending result.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    /// Wraps `value`; it must not be used elsewhere afterwards.
    package init(_ value: sending Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        self.value = value
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access; it must not block and must not call back into this lock.
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
