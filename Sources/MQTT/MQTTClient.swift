internal import CMosquitto
package import EventLoop
import Glibc

/// Why there is no broker.
package struct MQTTError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Code: Sendable, Hashable {
        /// libmosquitto is not installed.
        case noLibrary
        /// A setting that the library does not take.
        case invalidSettings
        /// The broker is not reached, or does not answer.
        case unreachable
        /// The broker does not let us in.
        case refused
        /// There is no connection to publish on.
        case notConnected
    }

    package let code: Code
    /// What happened, without secrets.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

/// A message on a topic.
package struct MQTTMessage: Sendable, Hashable {
    package let topic: String
    package let payload: String
    package let isRetained: Bool

    package init(_ topic: String, _ payload: String, isRetained: Bool = false) {
        self.topic = topic
        self.payload = payload
        self.isRetained = isRetained
    }
}

/// Which broker, and as whom.
package struct MQTTSettings: Sendable {
    package var host: String
    package var port: UInt16
    package var clientID: String
    package var username: String?
    package var password: String?
    package var usesTLS = false
    /// Certificates to trust instead of the system's.
    package var caFile: String?
    /// What the broker says of us when we are gone; nil: nothing.
    package var will: MQTTMessage?

    package init(host: String, port: UInt16, clientID: String, will: MQTTMessage?) {
        self.host = host
        self.port = port
        self.clientID = clientID
        self.will = will
    }
}

/// What comes from a broker.
package enum MQTTEvent: Sendable, Hashable {
    case message(topic: String, payload: String)
    /// The connection is gone, with the reason.
    case lost(String)
}

/// A client of an MQTT broker by libmosquitto, which is loaded by the first of them. It lives on a loop of its own, because
/// finding and reaching the broker blocks.
package actor MQTTClient {
    private nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var library = celestiad_mosquitto()
    private var handle: OpaquePointer?
    /// The library closes its own.
    private var descriptor: OwnedFD?
    private var watch: FDWatch?
    private var timer: LoopTimer?
    private var greeting: CheckedContinuation<Result<Void, MQTTError>, Never>?
    private var greetingTimer: LoopTimer?
    private var events: AsyncStream<MQTTEvent>.Continuation?
    /// Messages that the broker has not taken yet, and who waits for that.
    private var underWay: Set<Int32> = []
    private var waiting: [CheckedContinuation<Bool, Never>] = []

    private static let keepAlive: Int32 = 60
    private static let greetingTime = Duration.seconds(15)
    private static let housekeeping = Duration.seconds(5)
    private static let longestPayload = 1024

    /// `loop` is this client's alone.
    package init(on loop: EventLoop) {
        self.loop = loop
    }

    isolated deinit {
        drop()
    }

    // MARK: Connecting

    /// Connects, and returns what comes from then on until the connection is lost. Throws `noLibrary`, `invalidSettings`,
    /// `unreachable`, `refused`.
    package func connect(_ settings: MQTTSettings) async throws(MQTTError) -> AsyncStream<MQTTEvent> {
        drop()
        try load()
        try open(settings)
        let (stream, continuation) = AsyncStream.makeStream(
            of: MQTTEvent.self, bufferingPolicy: .bufferingNewest(16))
        events = continuation
        let greeted = await withCheckedContinuation { continuation in
            self.await(continuation)
        }
        do throws(MQTTError) {
            try greeted.get()
            return stream
        } catch {
            drop()
            throw error
        }
    }

    private func load() throws(MQTTError) {
        guard library.make == nil else { return }
        guard celestiad_mosquitto_load(&library) == 0 else {
            library = celestiad_mosquitto()
            throw MQTTError(.noLibrary, "libmosquitto is not installed: sudo apt-get install libmosquitto1")
        }
    }

    private func open(_ settings: MQTTSettings) throws(MQTTError) {
        handle = library.make(settings.clientID, true, Unmanaged.passUnretained(self).toOpaque())
        guard handle != nil else {
            throw MQTTError(.invalidSettings, "there is no memory for an MQTT client")
        }
        if let name = settings.username {
            try check(library.username_pw_set(handle, name, settings.password), "user name and password")
        }
        if let will = settings.will {
            try check(
                library.will_set(
                    handle, will.topic, Int32(will.payload.utf8.count), will.payload, 1, will.isRetained),
                "the last will")
        }
        if settings.usesTLS {
            let path = settings.caFile == nil ? "/etc/ssl/certs" : nil
            try check(
                library.tls_set(handle, settings.caFile, path, nil, nil, nil), "the certificates to trust")
        }
        setCallbacks()
        let status = library.connect(handle, settings.host, Int32(settings.port), Self.keepAlive)
        guard status == MOSQ_ERR_SUCCESS.rawValue else {
            throw MQTTError(.unreachable, "\(settings.host):\(settings.port): \(reason(status))")
        }
        try follow()
    }

    private func check(_ status: Int32, _ what: String) throws(MQTTError) {
        guard status == MOSQ_ERR_SUCCESS.rawValue else {
            throw MQTTError(.invalidSettings, "\(what): \(reason(status))")
        }
    }

    /// The library's words, or the system's where it points to those.
    private func reason(_ status: Int32) -> String {
        if status == MOSQ_ERR_ERRNO.rawValue { return SystemError.text(of: errno) }
        return library.strerror(status).map { String(cString: $0) } ?? "error \(status)"
    }

    private func setCallbacks() {
        library.connect_callback_set(handle) { _, context, code in
            MQTTClient.enter(context) { $0.greeted(code) }
        }
        library.disconnect_callback_set(handle) { _, context, code in
            MQTTClient.enter(context) { $0.lost(code == 0 ? "the broker ended it" : $0.reason(code)) }
        }
        library.publish_callback_set(handle) { _, context, message in
            MQTTClient.enter(context) { $0.taken(message) }
        }
        library.message_callback_set(handle) { _, context, message in
            guard let message = message?.pointee, let topic = message.topic else { return }
            let count = min(Int(max(0, message.payloadlen)), MQTTClient.longestPayload)
            let payload = String(
                decoding: UnsafeRawBufferPointer(
                    start: message.payload, count: message.payload == nil ? 0 : count),
                as: UTF8.self)
            let event = MQTTEvent.message(topic: String(cString: topic), payload: payload)
            MQTTClient.enter(context) { $0.events?.yield(event) }
        }
    }

    private func taken(_ message: Int32) {
        underWay.remove(message)
        if underWay.isEmpty { tellWaiting(true) }
    }

    private func tellWaiting(_ areTaken: Bool) {
        let all = waiting
        waiting = []
        for continuation in all { continuation.resume(returning: areTaken) }
    }

    /// The library calls back from within its functions, which are called on the loop.
    private static func enter(
        _ context: UnsafeMutableRawPointer?, _ body: @Sendable (isolated MQTTClient) -> Void
    ) {
        guard let context else { return }
        Unmanaged<MQTTClient>.fromOpaque(context).takeUnretainedValue().assumeIsolated(body)
    }

    // MARK: The connection

    private func follow() throws(MQTTError) {
        let copy = fcntl(library.socket(handle), F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw MQTTError(.unreachable, SystemError("fcntl").description) }
        descriptor = OwnedFD(copy)
        do throws(SystemError) {
            watch = try loop.watch(copy, for: .readable) { [weak self] events in
                self?.assumeIsolated { $0.isReady(events) }
            }
        } catch {
            throw MQTTError(.unreachable, error.description)
        }
        keepHouse()
    }

    private func isReady(_ ready: FDEvents) {
        var status = MOSQ_ERR_SUCCESS.rawValue
        if !ready.isDisjoint(with: [.readable, .error, .hangup]) {
            // More than one packet may lie in TLS's own buffer.
            status = library.loop_read(handle, 16)
        }
        if status == MOSQ_ERR_SUCCESS.rawValue, ready.contains(.writable) {
            status = library.loop_write(handle, 1)
        }
        if status != MOSQ_ERR_SUCCESS.rawValue { lost(reason(status)) }
        wantWrite()
    }

    private func wantWrite() {
        guard let handle else { return }
        try? watch?.update(library.want_write(handle) ? [.readable, .writable] : .readable)
    }

    /// Keep-alive and what the library has to look after.
    private func keepHouse() {
        timer = loop.schedule(after: Self.housekeeping) { [weak self] in
            self?.assumeIsolated { client in
                guard client.handle != nil else { return }
                let status = client.library.loop_misc(client.handle)
                if status != MOSQ_ERR_SUCCESS.rawValue { return client.lost(client.reason(status)) }
                client.wantWrite()
                client.keepHouse()
            }
        }
    }

    private func `await`(_ continuation: CheckedContinuation<Result<Void, MQTTError>, Never>) {
        greeting = continuation
        greetingTimer = loop.schedule(after: Self.greetingTime) { [weak self] in
            self?.assumeIsolated { client in
                client.greeting?.resume(
                    returning: .failure(MQTTError(.unreachable, "the broker says nothing")))
                client.greeting = nil
            }
        }
        wantWrite()
    }

    private func greeted(_ code: Int32) {
        greetingTimer?.cancel()
        let answer = greeting
        greeting = nil
        guard code != 0 else {
            answer?.resume(returning: .success(()))
            return
        }
        let reason = library.connack_string(code).map { String(cString: $0) } ?? "code \(code)"
        answer?.resume(returning: .failure(MQTTError(.refused, reason)))
    }

    private func lost(_ reason: String) {
        greeting?.resume(returning: .failure(MQTTError(.unreachable, reason)))
        greeting = nil
        events?.yield(.lost(reason))
        events?.finish()
        events = nil
        watch?.cancel()
        watch = nil
        timer?.cancel()
        greetingTimer?.cancel()
        underWay = []
        tellWaiting(false)
    }

    /// Lets go of everything; the broker makes the last will known where a connection was.
    private func drop() {
        lost("closed")
        descriptor = nil
        if let handle { library.destroy(handle) }
        handle = nil
    }

    // MARK: Talking

    /// Asks for the messages of a topic. Throws `notConnected`.
    package func subscribe(to topic: String) throws(MQTTError) {
        try talk { library.subscribe(handle, nil, topic, 1) }
    }

    /// Hands a message to the library, which sends it at least once. Throws `notConnected`.
    package func publish(_ message: MQTTMessage) throws(MQTTError) {
        var id: Int32 = 0
        try talk {
            library.publish(
                handle, &id, message.topic, Int32(message.payload.utf8.count), message.payload, 1,
                message.isRetained)
        }
        underWay.insert(id)
    }

    /// Returns when the broker has taken all that was published. Throws `notConnected`.
    package func delivered() async throws(MQTTError) {
        guard watch != nil else { throw MQTTError(.notConnected, "there is no connection to the broker") }
        guard !underWay.isEmpty else { return }
        let areTaken = await withCheckedContinuation { waiting.append($0) }
        guard areTaken else { throw MQTTError(.notConnected, "the broker went away") }
    }

    private func talk(_ body: () -> Int32) throws(MQTTError) {
        guard watch != nil else { throw MQTTError(.notConnected, "there is no connection to the broker") }
        let status = body()
        guard status == MOSQ_ERR_SUCCESS.rawValue else { throw MQTTError(.notConnected, reason(status)) }
        wantWrite()
    }

    /// Says goodbye, so that the broker keeps the last will to itself, after what was published.
    package func disconnect() {
        guard watch != nil else { return drop() }
        for _ in 0..<64 where library.want_write(handle) { _ = library.loop_write(handle, 1) }
        _ = library.disconnect(handle)
        drop()
    }
}
