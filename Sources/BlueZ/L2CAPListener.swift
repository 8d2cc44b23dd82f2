internal import CBluetooth
package import EventLoop
import Glibc

/// Takes the LE credit-based channels that devices open to an adapter (l2cap-protocol(7)): the recorder's side of
/// `L2CAPSocket`.
package actor L2CAPListener {
    /// What a device must have done before the kernel lets it open a channel.
    package enum Security: Sendable, Hashable {
        /// Paired, in whichever way.
        case encrypted
        /// Paired with a number compared or entered.
        case authenticated
    }

    private nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let socket: OwnedFD
    private nonisolated let readable: DescriptorWait
    private var isClosed = false

    /// Requests that may wait to be looked at.
    private static let backlog: Int32 = 4

    /// Takes ownership of a nonblocking socket that listens.
    init(socket: consuming OwnedFD, loop: EventLoop) {
        readable = DescriptorWait(socket.rawValue, for: .readable, on: loop)
        self.socket = socket
        self.loop = loop
    }

    /// Listens on the adapter of this address. Throws `unsupported` where Bluetooth sockets cannot be had, and
    /// `notPermitted` for an SPSM below 0x80 without CAP_NET_BIND_SERVICE.
    package static func open(
        at local: DeviceAddress, _ kind: DeviceAddress.Kind, psm: UInt16, security: Security,
        on loop: EventLoop
    ) throws(BlueZError) -> L2CAPListener {
        do throws(SystemError) {
            let level = security == .authenticated ? BT_SECURITY_HIGH : BT_SECURITY_MEDIUM
            let socket = try L2CAPSocket.open(at: L2CAPSocket.address(local, kind, psm: psm), level)
            // A request is then answered only once it was looked at, and can be refused.
            var isDeferred: Int32 = 1
            let length = socklen_t(MemoryLayout<Int32>.size)
            guard setsockopt(socket.rawValue, SOL_BLUETOOTH, BT_DEFER_SETUP, &isDeferred, length) == 0 else {
                throw SystemError("setsockopt(BT_DEFER_SETUP)")
            }
            guard listen(socket.rawValue, backlog) == 0 else { throw SystemError("listen") }
            return L2CAPListener(socket: socket, loop: loop)
        } catch {
            throw L2CAPSocket.error(for: error)
        }
    }

    /// Waits for a channel. `isWelcome` is asked on the loop for each request; one that is not is refused. One caller
    /// at a time. Throws `closed` after `close()`, `cancelled` promptly when the task is cancelled.
    package func accept(where isWelcome: @Sendable () -> Bool) async throws(BlueZError) -> L2CAPSocket {
        while true {
            let wake: DescriptorWait.Wake
            do throws(SystemError) {
                guard !isClosed else { throw SystemError("accept", errno: EBADF) }
                if let request = try takeRequest() {
                    // Closed unanswered, which refuses it.
                    guard isWelcome() else { continue }
                    Self.admit(request)
                    return try L2CAPSocket(socket: request, loop: loop)
                }
                wake = try await readable.wait(timeout: nil)
            } catch {
                throw L2CAPSocket.error(for: error)
            }
            if wake == .cancelled, !isClosed { throw .cancelled }
        }
    }

    /// Stops to listen; channels that are open stay so.
    package func close() {
        isClosed = true
        shutdown(socket.rawValue, Int32(SHUT_RDWR))
        readable.assumeIsolated { $0.cancel() }
    }

    private func takeRequest() throws(SystemError) -> OwnedFD? {
        while true {
            let fd = Glibc.accept(socket.rawValue, nil, nil)
            if fd >= 0 {
                let request = OwnedFD(fd)
                guard fcntl(fd, F_SETFD, FD_CLOEXEC) == 0, fcntl(fd, F_SETFL, O_NONBLOCK) == 0 else {
                    throw SystemError("fcntl")
                }
                return request
            }
            switch errno {
            case EAGAIN: return nil
            // The device has gone meanwhile.
            case EINTR, ECONNABORTED: continue
            default: throw SystemError("accept")
            }
        }
    }

    /// The first read of a deferred channel reads nothing and lets it be opened.
    private static func admit(_ request: borrowing OwnedFD) {
        var byte: UInt8 = 0
        _ = recv(request.rawValue, &byte, 1, Int32(MSG_DONTWAIT | MSG_PEEK))
    }
}
