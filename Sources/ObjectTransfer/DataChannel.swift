/// Takes the bytes of a transfer in order, a whole chunk at a time. Throws `sink` to end the transfer.
package typealias ByteSink = @Sendable ([UInt8]) async throws(ObjectTransferError) -> Void

/// The ways in which the bytes of an object can come.
package enum DataPlane: String, Sendable, Hashable, CaseIterable {
    /// The Object Transfer Channel: an LE credit-based L2CAP channel.
    case channel = "coc"
    /// The recorder's own notifications.
    case notifications = "notification"
}

/// Brings the bytes of the current object. One transfer at a time; every call returns promptly (with
/// `cancelled`) when its task is cancelled.
package protocol DataChannel: Sendable {
    /// Which way this is.
    var plane: DataPlane { get }

    /// Whether OACP Read starts the transfer; otherwise ``receive(offset:length:into:)`` does.
    var needsReadAction: Bool { get }

    /// Opens the channel, if it is not open, with nothing left in it of an earlier transfer. Throws
    /// `channel` or `linkLost`.
    func prepare() async throws(ObjectTransferError)

    /// Gives exactly `length` bytes from `offset` to `sink`, in order. Throws `channel` when the bytes end
    /// early and `protocolViolation` when there are more; what was given to `sink` before is good as far
    /// as the channel knows.
    func receive(
        offset: UInt32, length: UInt32, into sink: @escaping ByteSink
    ) async throws(ObjectTransferError)

    /// Ends a transfer that runs and closes the channel; ``prepare()`` opens it again.
    func close() async
}

/// A connected byte stream, as of an L2CAP socket.
package protocol ByteStream: Sendable {
    /// Waits for bytes and returns at least one and at most `count`; none at the end of the stream.
    /// Throws `linkLost` or `channel`, and `cancelled` promptly when its task is cancelled.
    func read(upTo count: Int) async throws(ObjectTransferError) -> [UInt8]

    /// Whether a read would return bytes at once.
    func hasUnreadBytes() async -> Bool

    /// Closes the stream; reads that wait throw `channel`.
    func close() async
}

/// The data plane over a byte stream that OACP Read fills (OTS Object Transfer Channel).
package actor StreamDataChannel: DataChannel {
    private static let chunkLength = 64 * 1024

    private let connect: @Sendable () async throws(ObjectTransferError) -> any ByteStream
    private var stream: (any ByteStream)?

    package nonisolated let plane = DataPlane.channel
    package nonisolated let needsReadAction = true

    /// A channel that `connect` opens, again after each close.
    package init(connect: @escaping @Sendable () async throws(ObjectTransferError) -> any ByteStream) {
        self.connect = connect
    }

    package func prepare() async throws(ObjectTransferError) {
        if let stream, await stream.hasUnreadBytes() {
            // Left over from an aborted read; they would be taken for the next window.
            await close()
        }
        if stream == nil { stream = try await connect() }
    }

    package func receive(
        offset: UInt32, length: UInt32, into sink: @escaping ByteSink
    ) async throws(ObjectTransferError) {
        guard let stream else { throw ObjectTransferError(.channel, "the data channel is not open") }
        var remaining = Int(length)
        while remaining > 0 {
            let bytes = try await stream.read(upTo: min(remaining, Self.chunkLength))
            guard !bytes.isEmpty else {
                await close()
                throw ObjectTransferError(.channel, "the data channel closed \(remaining) bytes early")
            }
            guard bytes.count <= remaining else {
                throw ObjectTransferError(.protocolViolation, "more data than was asked for")
            }
            remaining -= bytes.count
            try await sink(bytes)
        }
        if await stream.hasUnreadBytes() {
            throw ObjectTransferError(.protocolViolation, "more data than was asked for")
        }
    }

    package func close() async {
        let open = stream
        stream = nil
        await open?.close()
    }
}
