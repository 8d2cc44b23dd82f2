package import EventLoop
import Glibc

/// Listens to the kernel for what may bring a connection back, on an event loop. Needs no right and no daemon.
package actor NetworkWatch {
    private let loop: EventLoop
    private let socket: OwnedFD
    private let now: @Sendable () -> ContinuousClock.Instant
    private let tell: @Sendable () async -> Void
    private var machine = NetworkReturnMachine()
    private var watch: FDWatch?
    private var timer: LoopTimer?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// A socket that hears of links, addresses and routes of both families. Throws when the process may not have one
    /// (`RestrictAddressFamilies=`).
    package static func open() throws(SystemError) -> OwnedFD {
        // Glibc's Swift module has none of <linux/rtnetlink.h>.
        let netlink: Int32 = 16
        let descriptor = Glibc.socket(
            netlink, Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue),
            0)
        guard descriptor >= 0 else { throw SystemError("socket(AF_NETLINK)") }
        let owned = OwnedFD(descriptor)
        // RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE
        let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400
        // struct sockaddr_nl: family, padding, port (0: the kernel chooses), groups.
        var address: (UInt16, UInt16, UInt32, UInt32) = (UInt16(netlink), 0, 0, groups)
        let result = withUnsafeBytes(of: &address) { bytes in
            bytes.baseAddress.map {
                bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
            } ?? -1
        }
        guard result == 0 else { throw SystemError("bind(AF_NETLINK)") }
        return owned
    }

    /// `tell` is called when the network may be back.
    package init(
        loop: EventLoop, socket: consuming OwnedFD,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
        tell: @escaping @Sendable () async -> Void
    ) {
        self.loop = loop
        self.socket = socket
        self.now = now
        self.tell = tell
    }

    /// Throws when the loop cannot watch another descriptor.
    package func start() throws(SystemError) {
        watch = try loop.watch(socket.rawValue, for: .readable) { [weak self] _ in
            self?.assumeIsolated { $0.read() }
        }
    }

    package func stop() {
        watch?.cancel()
        watch = nil
        timer?.cancel()
        timer = nil
    }

    private func read() {
        // The kernel puts no more than this into one datagram; what is left makes the descriptor readable again.
        var buffer = [UInt8](repeating: 0, count: 32 << 10)
        for _ in 0..<16 {
            let count = recv(socket.rawValue, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                if count < 0, errno == ENOBUFS { hear(.overrun) }
                return
            }
            for change in NetlinkMessages.changes(in: Array(buffer[..<count])) { hear(change) }
        }
    }

    private func hear(_ change: NetworkChange) {
        let now = now()
        guard let due = machine.heard(change, at: now) else { return }
        timer = loop.schedule(after: now.duration(to: due)) { [weak self] in
            self?.assumeIsolated { $0.isDue() }
        }
    }

    private func isDue() {
        timer = nil
        machine.told(at: now())
        let tell = tell
        Task { await tell() }
    }
}
