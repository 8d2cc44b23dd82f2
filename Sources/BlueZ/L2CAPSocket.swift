internal import CBluetooth
package import EventLoop
import Glibc

/// An LE credit-based channel (L2CAP CoC) to a connected device, as a byte stream (l2cap-protocol(7)).
package actor L2CAPSocket {
    /// Where a channel goes and how.
    package struct Endpoint: Sendable, Hashable {
        /// The adapter's own address: without it the kernel takes any adapter.
        package var local: DeviceAddress
        package var localKind: DeviceAddress.Kind
        /// The device's address as BlueZ has it now.
        package var remote: DeviceAddress
        package var remoteKind: DeviceAddress.Kind
        /// The SPSM.
        package var psm: UInt16
        /// The largest SDU that the device may send.
        package var receiveMTU: UInt16

        package init(
            local: DeviceAddress, _ localKind: DeviceAddress.Kind,
            remote: DeviceAddress, _ remoteKind: DeviceAddress.Kind, psm: UInt16, receiveMTU: UInt16 = 4096
        ) {
            self.local = local
            self.localKind = localKind
            self.remote = remote
            self.remoteKind = remoteKind
            self.psm = psm
            self.receiveMTU = receiveMTU
        }
    }

    private nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let socket: OwnedFD
    private var isClosed = false
    private var waiter: (id: UInt64, continuation: CheckedContinuation<Wake, Never>)?
    private var watch: FDWatch?
    private var timer: LoopTimer?
    private var lastWait: UInt64 = 0

    private enum Wake {
        case ready, expired, cancelled
    }

    private static let longestRead = 256 * 1024

    /// Takes ownership of a nonblocking stream socket.
    init(socket: consuming OwnedFD, loop: EventLoop) {
        self.socket = socket
        self.loop = loop
    }

    isolated deinit {
        watch?.cancel()
        timer?.cancel()
    }

    // MARK: Connecting

    /// Opens a channel. To be called only while BlueZ has the device connected: the kernel would start a link of
    /// its own. Throws `unsupported` where Bluetooth sockets cannot be had (containers, private network
    /// namespaces, kernels without them), `refused`, `timedOut`, `linkLost`, `adapterGone`.
    package static func connect(
        to endpoint: Endpoint, timeout: Duration, on loop: EventLoop
    ) async throws(BlueZError) -> L2CAPSocket {
        do throws(SystemError) {
            let socket = L2CAPSocket(socket: try open(endpoint), loop: loop)
            try await socket.connect(to: endpoint, timeout: timeout)
            return socket
        } catch {
            throw Self.error(for: error)
        }
    }

    /// Whether this process can have such sockets at all; to be asked at start, so that the fallback is chosen at once.
    package static var isSupported: Bool {
        let fd = Glibc.socket(
            AF_BLUETOOTH, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), BTPROTO_L2CAP)
        guard fd >= 0 else { return false }
        Glibc.close(fd)
        return true
    }

    /// Order matters: the options need an LE type, which only the bind gives.
    private static func open(_ endpoint: Endpoint) throws(SystemError) -> OwnedFD {
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let fd = Glibc.socket(AF_BLUETOOTH, Int32(type), BTPROTO_L2CAP)
        guard fd >= 0 else { throw SystemError("socket(AF_BLUETOOTH)") }
        let socket = OwnedFD(fd)
        var local = address(endpoint.local, endpoint.localKind, psm: 0)
        guard withSocketAddress(&local, { bind(fd, $0, $1) }) == 0 else { throw SystemError("bind") }
        var security = bt_security(level: UInt8(BT_SECURITY_MEDIUM), key_size: 0)
        let length = socklen_t(MemoryLayout<bt_security>.size)
        guard setsockopt(fd, SOL_BLUETOOTH, BT_SECURITY, &security, length) == 0 else {
            throw SystemError("setsockopt(BT_SECURITY)")
        }
        var mtu = endpoint.receiveMTU
        guard setsockopt(fd, SOL_BLUETOOTH, BT_RCVMTU, &mtu, 2) == 0 else {
            throw SystemError("setsockopt(BT_RCVMTU)")
        }
        return socket
    }

    private func connect(to endpoint: Endpoint, timeout: Duration) async throws(SystemError) {
        var remote = Self.address(endpoint.remote, endpoint.remoteKind, psm: endpoint.psm)
        let fd = socket.rawValue
        if withSocketAddress(&remote, { Glibc.connect(fd, $0, $1) }) == 0 { return }
        guard errno == EINPROGRESS else { throw SystemError("connect") }
        switch try await wait(for: .writable, timeout: timeout) {
        case .expired: throw SystemError("connect", errno: ETIMEDOUT)
        case .cancelled: throw SystemError("connect", errno: ECANCELED)
        case .ready: break
        }
        var status: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(fd, SOL_SOCKET, SO_ERROR, &status, &length) == 0 else {
            throw SystemError("getsockopt(SO_ERROR)")
        }
        guard status == 0 else { throw SystemError("connect", errno: status) }
    }

    /// The kernel's socket address; everything in it little-endian.
    static func address(_ address: DeviceAddress, _ kind: DeviceAddress.Kind, psm: UInt16) -> sockaddr_l2 {
        var result = sockaddr_l2()
        result.l2_family = sa_family_t(AF_BLUETOOTH)
        result.l2_psm = psm.littleEndian
        withUnsafeMutableBytes(of: &result.l2_bdaddr) { $0.copyBytes(from: address.bytes.prefix($0.count)) }
        result.l2_bdaddr_type = UInt8(kind == .public ? BDADDR_LE_PUBLIC : BDADDR_LE_RANDOM)
        return result
    }

    // MARK: Reading

    /// Waits for bytes and returns at least one and at most `count`; none at the end of the stream. One reader at a
    /// time. Throws `stalled` when none come within `stall`, `linkLost` when the link goes, `closed` after `close()`,
    /// `cancelled` promptly when the task is cancelled.
    package func read(upTo count: Int, stall: Duration) async throws(BlueZError) -> [UInt8] {
        let count = max(1, min(count, Self.longestRead))
        while true {
            let wake: Wake
            do throws(SystemError) {
                guard !isClosed else { throw SystemError("recv", errno: EBADF) }
                if let bytes = try receive(count) { return bytes }
                wake = try await wait(for: .readable, timeout: stall)
            } catch {
                throw Self.error(for: error)
            }
            switch wake {
            case .ready: continue
            case .cancelled: throw isClosed ? Self.closed : .cancelled
            case .expired: throw BlueZError(.stalled, "the device sent nothing for \(stall)")
            }
        }
    }

    /// Whether a read would return bytes at once.
    package func hasUnreadBytes() -> Bool {
        var byte: UInt8 = 0
        let flags = Int32(MSG_DONTWAIT | MSG_PEEK)
        return !isClosed && recv(socket.rawValue, &byte, 1, flags) == 1
    }

    /// Closes the channel; a read that waits throws `closed`.
    package func close() {
        guard !isClosed else { return }
        isClosed = true
        // The descriptor itself goes with this object; the device learns now.
        shutdown(socket.rawValue, Int32(SHUT_RDWR))
        wake(.cancelled)
    }

    /// Up to `count` bytes, none at the end of the stream, nil when none have come yet.
    private func receive(_ count: Int) throws(SystemError) -> [UInt8]? {
        while true {
            var status = 0
            let fd = socket.rawValue
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                status = recv(fd, buffer.baseAddress, count, Int32(MSG_DONTWAIT))
                filled = max(0, status)
            }
            if status >= 0 { return bytes }
            if errno == EAGAIN { return nil }
            guard errno == EINTR else { throw SystemError("recv") }
        }
    }

    // MARK: Waiting

    private func wait(for events: FDEvents, timeout: Duration) async throws(SystemError) -> Wake {
        guard waiter == nil else { throw SystemError("recv", errno: EBUSY) }
        lastWait += 1
        let id = lastWait
        watch = try loop.watch(socket.rawValue, for: events) { [weak self] _ in
            self?.assumeIsolated { $0.wake(.ready) }
        }
        timer = loop.schedule(after: timeout) { [weak self] in self?.assumeIsolated { $0.wake(.expired) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { self.setWaiter($0, id: id) }
        } onCancel: {
            loop.submit { [weak self] in
                self?.assumeIsolated { if $0.waiter?.id == id { $0.wake(.cancelled) } }
            }
        }
    }

    private func setWaiter(_ continuation: CheckedContinuation<Wake, Never>, id: UInt64) {
        waiter = (id, continuation)
        if Task.isCancelled || isClosed { wake(.cancelled) }
    }

    private func wake(_ wake: Wake) {
        watch?.cancel()
        timer?.cancel()
        (watch, timer) = (nil, nil)
        waiter?.continuation.resume(returning: wake)
        waiter = nil
    }

    // MARK: Errors

    private static let closed = BlueZError(.closed, "the channel was closed")

    static func error(for error: SystemError) -> BlueZError {
        let code: BlueZError.Code =
            switch error.errno {
            case EAFNOSUPPORT, EPROTONOSUPPORT, EPROTOTYPE, ESOCKTNOSUPPORT, ENOPROTOOPT: .unsupported
            case EACCES, EPERM: .notPermitted
            case ECONNREFUSED: .refused
            case EBUSY, EALREADY: .inProgress
            case ETIMEDOUT: .timedOut
            case ECANCELED: .cancelled
            case EBADF: .closed
            case EHOSTUNREACH, ENETDOWN, ENODEV, EADDRNOTAVAIL: .adapterGone
            case EHOSTDOWN, ECONNRESET, ECONNABORTED, ENOTCONN, EPIPE: .linkLost
            case EINVAL: .invalidArgument
            default: .failed
            }
        return BlueZError(code, "the L2CAP channel failed: \(error)")
    }
}

/// Passes a Bluetooth socket address as the system calls want it.
private func withSocketAddress(
    _ address: inout sockaddr_l2, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_l2>.size))
        }
    }
}
