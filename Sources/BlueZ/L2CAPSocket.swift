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
    /// The same socket once more, so that a read and a write can wait at the same time.
    private let writing: OwnedFD
    private nonisolated let readable: DescriptorWait
    private nonisolated let writable: DescriptorWait
    private var isClosed = false

    private static let longestRead = 256 * 1024

    /// The least that a device must take in one SDU (Core Specification, Vol 3, Part A, 4.22).
    private static let smallestMTU = 23

    /// Takes ownership of a nonblocking stream socket. Throws when no descriptor is left.
    init(socket: consuming OwnedFD, loop: EventLoop) throws(SystemError) {
        let writing = try socket.duplicate()
        readable = DescriptorWait(socket.rawValue, for: .readable, on: loop)
        writable = DescriptorWait(writing.rawValue, for: .writable, on: loop)
        self.writing = writing
        self.socket = socket
        self.loop = loop
    }

    // MARK: Connecting

    /// Opens a channel. To be called only while BlueZ has the device connected: the kernel would start a link of
    /// its own. Throws `unsupported` where Bluetooth sockets cannot be had (containers, private network
    /// namespaces, kernels without them), `refused`, `timedOut`, `linkLost`, `adapterGone`.
    package static func connect(
        to endpoint: Endpoint, timeout: Duration, on loop: EventLoop
    ) async throws(BlueZError) -> L2CAPSocket {
        do throws(SystemError) {
            let socket = try L2CAPSocket(socket: try open(endpoint), loop: loop)
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

    private static func open(_ endpoint: Endpoint) throws(SystemError) -> OwnedFD {
        let socket = try open(at: address(endpoint.local, endpoint.localKind, psm: 0), BT_SECURITY_MEDIUM)
        var mtu = endpoint.receiveMTU
        guard setsockopt(socket.rawValue, SOL_BLUETOOTH, BT_RCVMTU, &mtu, 2) == 0 else {
            throw SystemError("setsockopt(BT_RCVMTU)")
        }
        return socket
    }

    /// A nonblocking stream socket. Order matters: the options need an LE type, which only the bind gives.
    static func open(at local: sockaddr_l2, _ security: Int32) throws(SystemError) -> OwnedFD {
        let type = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let fd = Glibc.socket(AF_BLUETOOTH, Int32(type), BTPROTO_L2CAP)
        guard fd >= 0 else { throw SystemError("socket(AF_BLUETOOTH)") }
        let socket = OwnedFD(fd)
        var local = local
        guard withSocketAddress(&local, { bind(fd, $0, $1) }) == 0 else { throw SystemError("bind") }
        var security = bt_security(level: UInt8(security), key_size: 0)
        let length = socklen_t(MemoryLayout<bt_security>.size)
        guard setsockopt(fd, SOL_BLUETOOTH, BT_SECURITY, &security, length) == 0 else {
            throw SystemError("setsockopt(BT_SECURITY)")
        }
        return socket
    }

    private func connect(to endpoint: Endpoint, timeout: Duration) async throws(SystemError) {
        var remote = Self.address(endpoint.remote, endpoint.remoteKind, psm: endpoint.psm)
        let fd = socket.rawValue
        if withSocketAddress(&remote, { Glibc.connect(fd, $0, $1) }) == 0 { return }
        guard errno == EINPROGRESS else { throw SystemError("connect") }
        switch try await writable.wait(timeout: timeout) {
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
            let wake: DescriptorWait.Wake
            do throws(SystemError) {
                guard !isClosed else { throw SystemError("recv", errno: EBADF) }
                if let bytes = try receive(count) { return bytes }
                wake = try await readable.wait(timeout: stall)
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
        for wait in [readable, writable] { wait.assumeIsolated { $0.cancel() } }
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

    // MARK: Writing

    /// The longest SDU that the device takes.
    package var sendMTU: Int {
        var mtu: UInt16 = 0
        var length = socklen_t(MemoryLayout<UInt16>.size)
        guard getsockopt(socket.rawValue, SOL_BLUETOOTH, BT_SNDMTU, &mtu, &length) == 0 else {
            return Self.smallestMTU
        }
        return max(Int(mtu), Self.smallestMTU)
    }

    /// Sends all bytes, in SDUs that the device takes, as it gives credits. One writer at a time. Throws `stalled` when
    /// it takes nothing for `stall`, `linkLost` when it or the link goes, `closed` after `close()`, `cancelled` promptly
    /// when the task is cancelled; how much was sent is then unknown.
    package func write(_ bytes: [UInt8], stall: Duration) async throws(BlueZError) {
        // A longer one is refused (EMSGSIZE), on a stream socket, too.
        let longest = sendMTU
        var rest = bytes[...]
        while !rest.isEmpty {
            let wake: DescriptorWait.Wake
            do throws(SystemError) {
                guard !isClosed else { throw SystemError("send", errno: EBADF) }
                if let count = try send(rest.prefix(longest)) {
                    rest = rest.dropFirst(count)
                    continue
                }
                wake = try await writable.wait(timeout: stall)
            } catch {
                throw Self.error(for: error)
            }
            switch wake {
            case .ready: continue
            case .cancelled: throw isClosed ? Self.closed : .cancelled
            case .expired: throw BlueZError(.stalled, "the device took nothing for \(stall)")
            }
        }
    }

    /// How many bytes the kernel took, nil when it has no room or no credits.
    private func send(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int? {
        while true {
            let count = bytes.withUnsafeBytes {
                Glibc.send(writing.rawValue, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
            }
            if count >= 0 { return count }
            if errno == EAGAIN { return nil }
            guard errno == EINTR else { throw SystemError("send") }
        }
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
func withSocketAddress(
    _ address: inout sockaddr_l2, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_l2>.size))
        }
    }
}
