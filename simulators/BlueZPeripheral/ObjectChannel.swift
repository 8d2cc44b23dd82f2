internal import BlueZ

/// The Object Transfer Channel that is open: the socket, and the bell that wakes its sender. Used on the loop only.
final class ObjectChannel {
    let socket: L2CAPSocket
    /// An element when there may be bytes to send.
    let ready: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    init(_ socket: L2CAPSocket) {
        self.socket = socket
        (ready, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    /// There may be bytes to send.
    func resume() {
        bell.yield()
    }

    func close() {
        bell.finish()
        socket.assumeIsolated { $0.close() }  // it lives on the same loop
    }
}
