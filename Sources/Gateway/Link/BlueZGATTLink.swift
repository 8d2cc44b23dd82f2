import BlueZ
import ObjectTransfer
import Recorder

/// One link of BlueZ as the object transfer client sees it. What it subscribes to stays subscribed as long as this
/// object lives, so that one piece of work after another can use the same link.
actor BlueZGATTLink: GATTLink {
    nonisolated let bluez: BlueZ
    nonisolated let link: Link
    /// Unread copies of what was subscribed to: they keep BlueZ from ending a subscription between two readers.
    private var keepers: [GATTCharacteristicID: AsyncStream<[UInt8]>] = [:]
    private var frames: SharedFrameSource?

    init(bluez: BlueZ, link: Link) {
        self.bluez = bluez
        self.link = link
    }

    func offers(_ characteristic: GATTCharacteristicID) async -> Bool {
        await bluez.offers(characteristic.address, on: link)
    }

    func read(_ characteristic: GATTCharacteristicID) async throws(ObjectTransferError) -> [UInt8] {
        try await mapping { () async throws(BlueZError) in
            try await self.bluez.read(characteristic.address, on: self.link)
        }
    }

    func write(_ value: [UInt8], to characteristic: GATTCharacteristicID) async throws(ObjectTransferError) {
        try await mapping { () async throws(BlueZError) in
            try await self.bluez.write(value, to: characteristic.address, on: self.link)
        }
    }

    func subscribe(
        _ characteristic: GATTCharacteristicID
    ) async throws(ObjectTransferError) -> AsyncStream<[UInt8]> {
        let stream = try await mapping { () async throws(BlueZError) in
            try await self.bluez.subscribe(to: characteristic.address, on: self.link)
        }
        if keepers[characteristic] == nil {
            keepers[characteristic] = try await mapping { () async throws(BlueZError) in
                try await self.bluez.subscribe(to: characteristic.address, on: self.link)
            }
        }
        return stream
    }

    /// The notifications of Object Data, taken over once for the life of the link.
    func frameSource() async throws(ObjectTransferError) -> any FrameSource {
        if let frames { return frames }
        let channel = try await mapping { () async throws(BlueZError) in
            try await self.bluez.acquireNotify(RecorderProfile.objectData.address, on: self.link)
        }
        let source = SharedFrameSource(channel: channel)
        frames = source
        return source
    }

    private func mapping<Value: Sendable>(
        _ body: () async throws(BlueZError) -> Value
    ) async throws(ObjectTransferError) -> Value {
        do throws(BlueZError) {
            return try await body()
        } catch {
            throw ObjectTransferError(error)
        }
    }
}

/// Object Data notifications for one reader after another: `close()` ends the reading, not the notifications.
private struct SharedFrameSource: FrameSource {
    let channel: NotifyChannel

    func frames() async throws(ObjectTransferError) -> [[UInt8]] {
        do throws(BlueZError) {
            return try await channel.frames()
        } catch {
            throw ObjectTransferError(error)
        }
    }

    func discardPending() async {
        await channel.discardPending()
    }

    func close() async {
        await channel.discardPending()
    }
}

/// An L2CAP channel as the byte stream that the Object Transfer Channel is.
struct L2CAPByteStream: ByteStream {
    let socket: L2CAPSocket
    /// The object transfer client has the finer deadline; this one only keeps a read from waiting for ever.
    private static let stall = Duration.seconds(60)

    func read(upTo count: Int) async throws(ObjectTransferError) -> [UInt8] {
        do throws(BlueZError) {
            return try await socket.read(upTo: count, stall: Self.stall)
        } catch {
            throw ObjectTransferError(error)
        }
    }

    func hasUnreadBytes() async -> Bool {
        await socket.hasUnreadBytes()
    }

    func close() async {
        await socket.close()
    }
}

extension GATTCharacteristicID {
    /// As BlueZ names it.
    var address: CharacteristicAddress {
        CharacteristicAddress(service: service.description, characteristic: characteristic.description)
    }
}

extension ObjectTransferError {
    /// What a failure of BlueZ means to the object transfer client.
    init(_ error: BlueZError) {
        switch error.code {
        case .busGone, .bluetoothdGone, .adapterGone, .adapterOff, .deviceGone, .linkLost, .servicesChanged,
            .linkUnusable:
            self.init(.linkLost, error.message)
        case .timedOut: self.init(.timedOut, error.message)
        case .cancelled: self.init(.cancelled, error.message)
        case .notPaired, .authenticationFailed: self.init(.notPaired, error.message)
        case .characteristicMissing: self.init(.characteristicMissing, error.message)
        case .attribute(let code): self.init(.attribute(code.code), error.message)
        case .stalled: self.init(.stalled, error.message)
        case .refused, .closed: self.init(.channel, error.message)
        case .inProgress: self.init(.busy, error.message)
        case .unsupported, .notPermitted: self.init(.unsupported, error.message)
        default: self.init(.channel, error.message)
        }
    }
}
