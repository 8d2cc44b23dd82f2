import Glibc

/// A thread for one thing that blocks.
enum Thread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    static func start(_ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Work(body))  // released by the thread
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { context in
                context.map { Unmanaged<Work>.fromOpaque($0).takeRetainedValue() }?.body()
                return nil
            }, context.toOpaque())
        guard status == 0 else { return context.release() }
        pthread_detach(thread)
    }
}
