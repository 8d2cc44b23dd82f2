import EventLoop
import Gateway
import Glibc

/// Serves the metrics by HTTP to this machine: a few connections at a time, one request each, each with a deadline.
actor MetricsListener {
    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let address: MetricsAddress
    private let text: @Sendable () async -> String
    private var socket: OwnedFD?
    private var watch: FDWatch?
    private var connections: [Int: MetricsConnection] = [:]
    private var lastConnection = 0

    private static let mostConnections = 8
    private static let patience = Duration.seconds(10)

    /// `text` makes the metrics anew for each request.
    init(_ address: MetricsAddress, on loop: EventLoop, text: @escaping @Sendable () async -> String) {
        self.address = address
        self.loop = loop
        self.text = text
    }

    /// Listens from now on. Throws what the system says.
    func start() throws(SystemError) {
        let opened = try address.listen()
        let fd = opened.rawValue
        watch = try loop.watch(fd, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.accept(fd) } }
        socket = consume opened
    }

    /// Ends the listening and every connection.
    func stop() {
        watch?.cancel()
        watch = nil
        socket = nil
        for connection in connections.values { connection.close() }
        connections = [:]
        address.remove()
    }

    private func accept(_ listener: Int32) {
        // Level-triggered: who is left is taken in the next turn.
        let fd = Glibc.accept(listener, nil, nil)
        guard fd >= 0 else { return }
        let file = OwnedFD(fd)
        guard connections.count < Self.mostConnections, fcntl(fd, F_SETFD, FD_CLOEXEC) == 0,
            fcntl(fd, F_SETFL, O_NONBLOCK) == 0
        else { return }
        lastConnection += 1
        let id = lastConnection
        let connection = MetricsConnection(consume file)
        connections[id] = connection
        connection.timer = loop.schedule(after: Self.patience) { [weak self] in
            self?.assumeIsolated { $0.end(id) }
        }
        connection.watch = try? loop.watch(fd, for: .readable) { [weak self] _ in
            self?.assumeIsolated { $0.advance(id) }
        }
        if connection.watch == nil { end(id) }
    }

    private func advance(_ id: Int) {
        guard let connection = connections[id] else { return }
        switch connection.advance() {
        case .waits: break
        case .ended: end(id)
        case .wants(let hasBody):
            let text = text
            Task {
                let text = await text()
                answer(id, MetricsRequest.response(text, hasBody: hasBody))
            }
        }
    }

    private func answer(_ id: Int, _ bytes: [UInt8]) {
        guard let connection = connections[id] else { return }
        connection.answer(bytes)
        advance(id)
    }

    private func end(_ id: Int) {
        connections.removeValue(forKey: id)?.close()
    }
}

/// One connection. On the loop's thread only.
private final class MetricsConnection {
    enum Step {
        case waits
        /// The request is whole: the metrics are to be made.
        case wants(hasBody: Bool)
        case ended
    }

    private enum State {
        case reading, collecting, writing, draining
    }

    private let file: OwnedFD
    private var state = State.reading
    private var head: [UInt8] = []
    private var output: ArraySlice<UInt8> = []
    var watch: FDWatch?
    var timer: LoopTimer?

    init(_ file: consuming OwnedFD) {
        self.file = file
    }

    func close() {
        watch?.cancel()
        timer?.cancel()
    }

    func answer(_ bytes: [UInt8]) {
        output = bytes[...]
        state = .writing
    }

    func advance() -> Step {
        switch state {
        case .reading: read()
        // Only an error or the end of the connection wakes it then.
        case .collecting: .ended
        case .writing: write()
        case .draining: drain()
        }
    }

    /// How much is still taken from who goes on talking.
    private static let mostDrained = 1 << 16
    private var drained = 0

    private func read() -> Step {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(file.rawValue, &buffer, buffer.count)
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .waits : .ended }
        guard count > 0 else { return .ended }
        head += buffer[..<count]
        switch MetricsRequest.parse(head) {
        case .incomplete: return .waits
        case .metrics(let hasBody):
            state = .collecting
            try? watch?.update([])
            return .wants(hasBody: hasBody)
        case .refused(let status, let reason):
            answer(MetricsRequest.refusal(status, reason))
            return write()
        }
    }

    private func write() -> Step {
        while !output.isEmpty {
            let count = output.withUnsafeBytes {
                send(file.rawValue, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                try? watch?.update(.writable)
                return .waits
            }
            guard count > 0 else { return .ended }
            output = output.dropFirst(count)
        }
        // What the other side still sends would reset the connection, and take from it what it has not read yet.
        shutdown(file.rawValue, Int32(SHUT_WR))
        state = .draining
        try? watch?.update(.readable)
        return .waits
    }

    private func drain() -> Step {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(file.rawValue, &buffer, buffer.count)
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .waits : .ended }
        drained += count
        return count == 0 || drained > Self.mostDrained ? .ended : .waits
    }
}
