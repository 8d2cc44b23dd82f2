internal import EventLoop
internal import Glibc

/// Our end of the socket pair that AcquireNotify of a server's characteristic hands out: what is written into it,
/// bluetoothd sends as a notification to every hub that subscribed.
final class FrameSocket {
    private let fd: Int32
    private let loop: EventLoop
    private var watch: FDWatch?
    private var onRoom: (() -> Void)?
    private var isOpen = true

    /// Takes ownership of a nonblocking packet socket. `onHangup` is called when bluetoothd closes its end.
    init(fd: Int32, loop: EventLoop, onHangup: @escaping () -> Void) {
        self.fd = fd
        self.loop = loop
        watch = try? loop.watch(fd, for: []) { [weak self] events in
            if events.contains(.hangup) || events.contains(.error) { return onHangup() }
            self?.roomCame()
        }
    }

    deinit {
        if isOpen { Glibc.close(fd) }
    }

    /// Sends one packet. False when there is no room: `onRoom` is then called once there is.
    func send(_ packet: UnsafeRawBufferPointer, onRoom: @escaping () -> Void) -> Bool {
        guard isOpen, Glibc.send(fd, packet.baseAddress, packet.count, Int32(MSG_NOSIGNAL)) < 0,
            errno == EAGAIN || errno == ENOBUFS
        else { return true }  // a socket that has gone takes everything, as a link does
        self.onRoom = onRoom
        try? watch?.update(.writable)
        return false
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        watch?.cancel()
        Glibc.close(fd)
    }

    private func roomCame() {
        try? watch?.update([])
        let onRoom = onRoom
        self.onRoom = nil
        onRoom?()
    }
}

/// Room for one notification, used again and again.
final class FrameBuffer {
    /// The longest value of an attribute (Core Specification, Vol 3, Part F, 3.2.9): bluetoothd cuts off what is longer.
    static let longest = 512
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: longest, alignment: 16)

    deinit {
        bytes.deallocate()
    }
}
