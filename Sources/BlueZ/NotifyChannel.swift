internal import CBluetooth
import DBus
import EventLoop
import Glibc

/// The notifications of one characteristic as bluetoothd puts them into a socket, one packet each (AcquireNotify).
///
/// bluetoothd drops what does not fit into the socket, so packets are taken out of it as soon as they come; when
/// nobody reads `frames()`, a bounded number is kept and the socket fills up.
package actor NotifyChannel {
    private let descriptor: SharedFD
    /// The ATT MTU of the link: a frame is at most 3 bytes shorter.
    package nonisolated let mtu: Int
    private nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private enum End {
        case hangup, closed
        case failed(SystemError)
    }

    private var watch: FDWatch?
    private var buffer: [[UInt8]] = []
    private var end: End?
    private var reader: CheckedContinuation<Void, Never>?
    private let scratch = UnsafeMutableRawBufferPointer.allocate(
        byteCount: NotifyChannel.packet, alignment: 1)

    /// Frames kept while nobody reads. Credits bound what a recorder may send far below this.
    private static let capacity = 2048
    /// Room for one packet: an attribute has at most 512 bytes.
    private static let packet = 1024

    /// A channel that reads nothing before `start()`.
    init(descriptor: SharedFD, mtu: Int, loop: EventLoop) {
        self.descriptor = descriptor
        self.mtu = mtu
        self.loop = loop
    }

    isolated deinit {
        watch?.cancel()
        scratch.deallocate()
    }

    /// Begins to take packets out of the socket.
    func start() throws(BlueZError) {
        do throws(SystemError) {
            watch = try loop.watch(descriptor.rawValue, for: .readable) { [weak self] _ in
                self?.assumeIsolated { $0.drain() }
            }
        } catch {
            throw BlueZError(.failed, "the notifications' descriptor cannot be watched: \(error)")
        }
    }

    // MARK: Reading

    /// Waits for frames and returns all that are there, at least one, in order; a frame may be empty. One reader at a
    /// time. Throws `linkLost` when the link or bluetoothd is gone and every frame has been read, `closed` after
    /// `close()`, `cancelled` promptly when the task is cancelled.
    package func frames() async throws(BlueZError) -> [[UInt8]] {
        while buffer.isEmpty {
            guard !Task.isCancelled else { throw .cancelled }
            if let end { throw Self.error(for: end) }
            guard reader == nil else {
                throw BlueZError(.invalidArgument, "somebody else reads these notifications")
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { self.setReader($0) }
            } onCancel: {
                loop.submit { [weak self] in self?.assumeIsolated { $0.wakeReader() } }
            }
        }
        return takeFrames()
    }

    /// Throws away the frames that are there; waits for none.
    package func discardPending() {
        drain()
        _ = takeFrames()
        _ = takeFrames()  // what a full buffer had kept in the socket
    }

    /// Gives the notifications up: bluetoothd ends them when it sees the socket closed.
    package func close() {
        end = .closed
        buffer = []
        stop()
        // The descriptor itself goes with this object; the other end learns now.
        shutdown(descriptor.rawValue, Int32(SHUT_RDWR))
        wakeReader()
    }

    /// The link is gone: what has arrived can still be read.
    func linkEnded() {
        drain()
        if end == nil { end = .hangup }
        stop()
        wakeReader()
    }

    private static func error(for end: End) -> BlueZError {
        switch end {
        case .hangup: BlueZError(.linkLost, "the notifications ended with the link")
        case .closed: BlueZError(.closed, "the notifications were closed")
        case .failed(let error): BlueZError(.failed, "the notifications cannot be read: \(error)")
        }
    }

    private func setReader(_ continuation: CheckedContinuation<Void, Never>) {
        if Task.isCancelled || !buffer.isEmpty || end != nil {
            continuation.resume()
        } else {
            reader = continuation
        }
    }

    private func wakeReader() {
        reader?.resume()
        reader = nil
    }

    private func takeFrames() -> [[UInt8]] {
        let frames = buffer
        buffer = []
        // Reading stood still while the buffer was full.
        if end == nil, watch == nil {
            drain()
            if end == nil { resumeWatch() }
        }
        return frames
    }

    private func resumeWatch() {
        do throws(BlueZError) {
            try start()
        } catch {
            end = .hangup
        }
    }

    private func stop() {
        watch?.cancel()
        watch = nil
    }

    // MARK: The socket

    private func drain() {
        guard end == nil else { return }
        while true {
            guard buffer.count < Self.capacity else {
                stop()
                break
            }
            let count = recv(
                descriptor.rawValue, scratch.baseAddress, scratch.count,
                Int32(MSG_DONTWAIT | MSG_TRUNC))
            if count < 0 {
                if errno == EINTR { continue }
                if errno != EAGAIN { finish(.failed(SystemError("recv"))) }
                break
            }
            if count == 0, isHungUp {
                finish(.hangup)
                break
            }
            // With MSG_TRUNC the packet's own length comes back, however much of it was read.
            guard count <= scratch.count else {
                finish(.failed(SystemError("recv", errno: EMSGSIZE)))
                break
            }
            buffer.append(Array(scratch.prefix(count)))
        }
        if !buffer.isEmpty || end != nil { wakeReader() }
    }

    private func finish(_ end: End) {
        self.end = end
        stop()
    }

    /// Tells the end of the socket from an empty notification, for both of which recv returns 0: at the end the other
    /// side is closed and nothing is queued.
    private var isHungUp: Bool {
        var state = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&state, 1, 0) == 1, state.revents & Int16(POLLHUP) != 0 else { return false }
        var queued: Int32 = 0
        return ioctl(descriptor.rawValue, UInt(FIONREAD), &queued) != 0 || queued == 0
    }
}
