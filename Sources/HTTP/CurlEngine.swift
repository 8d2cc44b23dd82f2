import CCurl
import EventLoop
import Glibc

/// One curl multi handle driven by the event loop: libcurl says which sockets and which timer it wants, the
/// loop says when they are due.
///
/// Confined to the loop's thread. libcurl is never called from within its own callbacks: those only note what
/// it wants.
final class CurlEngine {
    private static let idleHandles = 4

    private let loop: EventLoop
    private let configuration: HTTPConfiguration
    private let now: () -> ContinuousClock.Instant
    private let multi: UnsafeMutableRawPointer
    private var watches: [Int32: FDWatch] = [:]
    private var timer: LoopTimer?
    private var watchdogTimer: LoopTimer?
    private var transfers: [UInt64: Transfer] = [:]
    private var idle: [UnsafeMutableRawPointer] = []
    /// Bytes per second for all paced transfers together; nil is unlimited.
    private var sendLimit: Int64?
    private(set) var isClosed = false

    init(
        loop: EventLoop, configuration: HTTPConfiguration, now: @escaping () -> ContinuousClock.Instant
    ) throws(HTTPError) {
        guard let multi = curl_multi_init() else { throw HTTPError(.other, "curl_multi_init failed") }
        self.loop = loop
        self.configuration = configuration
        self.now = now
        self.multi = multi
        celestiad_curlm_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
        celestiad_curlm_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.maximumConnections)
        let context = Unmanaged.passUnretained(self).toOpaque()
        celestiad_curlm_set_socket_function(
            multi,
            { _, fd, what, context, _ in
                guard let context else { return 0 }
                return Unmanaged<CurlEngine>.fromOpaque(context).takeUnretainedValue().want(what, on: fd)
            }, context)
        celestiad_curlm_set_timer_function(
            multi,
            { _, milliseconds, context in
                guard let context else { return 0 }
                Unmanaged<CurlEngine>.fromOpaque(context).takeUnretainedValue().wantTimer(milliseconds)
                return 0
            }, context)
    }

    // MARK: What libcurl wants (called by libcurl)

    private func want(_ what: Int32, on fd: Int32) -> Int32 {
        guard what != CURL_POLL_REMOVE else {
            watches.removeValue(forKey: fd)?.cancel()
            return 0
        }
        var events: FDEvents = []
        if what & CURL_POLL_IN != 0 { events.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { events.insert(.writable) }
        if let watch = watches[fd] {
            if (try? watch.update(events)) != nil { return 0 }
            // The number was closed and used again behind our back: watch it anew.
            watch.cancel()
        }
        do {
            watches[fd] = try loop.watch(fd, for: events) { [self] in socketReady(fd, $0) }
            return 0
        } catch {
            // Fails every transfer, which is honest: without a watch they would only time out.
            watches[fd] = nil
            return -1
        }
    }

    private func wantTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard milliseconds >= 0, !isClosed else { return }
        timer = loop.schedule(after: .milliseconds(milliseconds)) { [self] in
            timer = nil
            act(CURL_SOCKET_TIMEOUT, 0)
        }
    }

    // MARK: What the loop says

    private func socketReady(_ fd: Int32, _ events: FDEvents) {
        var mask: Int32 = 0
        if events.contains(.readable) { mask |= CURL_CSELECT_IN }
        if events.contains(.writable) { mask |= CURL_CSELECT_OUT }
        if events.contains(.error) || events.contains(.hangup) { mask |= CURL_CSELECT_ERR }
        act(fd, mask)
    }

    private func act(_ fd: Int32, _ mask: Int32) {
        guard !isClosed else { return }
        var running: Int32 = 0
        curl_multi_socket_action(multi, fd, mask, &running)
        finishDone()
    }

    /// A count of running handles does not say which is done: the messages do.
    private func finishDone() {
        var pending: Int32 = 0
        while let message = curl_multi_info_read(multi, &pending) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else {
                continue
            }
            let code = message.pointee.data.result
            guard let id = transfers.first(where: { $0.value.easy == easy })?.key else { continue }
            end(id) { $0.result(of: code) }
        }
    }

    // MARK: Transfers

    func start(
        _ request: HTTPRequest, sink: HTTPSink?, id: UInt64,
        completion: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>
    ) {
        guard !isClosed else {
            completion.resume(returning: .failure(HTTPError(.cancelled, "the client was shut down")))
            return
        }
        guard let easy = idle.popLast() ?? curl_easy_init() else {
            completion.resume(returning: .failure(HTTPError(.other, "curl_easy_init failed")))
            return
        }
        let transfer = Transfer(request: request, sink: sink, easy: easy, now: now, completion: completion)
        do throws(HTTPError) {
            let limit = request.isPaced ? share(of: pacedTransfers.count + 1) : nil
            try transfer.prepare(configuration, sink: sink, limit: limit)
        } catch {
            recycle(transfer)
            completion.resume(returning: .failure(error))
            return
        }
        let code = curl_multi_add_handle(multi, easy)
        guard code == CURLM_OK else {
            recycle(transfer)
            let text = String(cString: curl_multi_strerror(code))
            completion.resume(returning: .failure(HTTPError(.other, "curl_multi_add_handle: \(text)")))
            return
        }
        transfers[id] = transfer
        if request.isPaced { share() }
        if transfer.watchdog != nil { armWatchdog() }
    }

    func cancel(_ id: UInt64, _ message: String) {
        end(id) { .failure($0.failure(.cancelled, message)) }
    }

    /// Takes the handle out first: only then may what it points to go.
    private func end(_ id: UInt64, _ result: (Transfer) -> Result<HTTPResponse, HTTPError>) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        let result = result(transfer)
        let completion = transfer.completion
        curl_multi_remove_handle(multi, transfer.easy)
        if transfer.request.isPaced { share() }
        recycle(transfer)
        completion.resume(returning: result)
    }

    /// Frees what the transfer holds and keeps its handle for the next one.
    private func recycle(_ transfer: Transfer) {
        let easy = transfer.easy
        transfer.release()
        if idle.count < Self.idleHandles {
            idle.append(easy)
        } else {
            curl_easy_cleanup(easy)
        }
    }

    // MARK: Pacing

    private var pacedTransfers: [Transfer] { transfers.values.filter(\.request.isPaced) }

    func limitSending(to limit: Int64?) {
        sendLimit = limit
        share()
    }

    /// Divides the limit evenly among those that are under way.
    private func share() {
        let transfers = pacedTransfers
        let limit = share(of: transfers.count)
        for transfer in transfers { transfer.changeSendLimit(to: limit) }
    }

    private func share(of count: Int) -> Int64? {
        sendLimit.map { max(1, $0 / Int64(max(1, count))) }
    }

    // MARK: Watchdog

    private func armWatchdog() {
        guard watchdogTimer == nil else { return }
        watchdogTimer = loop.schedule(after: configuration.watchdogPeriod) { [self] in
            watchdogTimer = nil
            inspect()
            if transfers.values.contains(where: { $0.watchdog != nil }) { armWatchdog() }
        }
    }

    private func inspect() {
        for (id, transfer) in transfers {
            let isWaiting = transfer.isRequestOut && transfer.collector.status == nil
            let verdict = transfer.watchdog?.observe(
                total: transfer.bytesSent + transfer.bytesReceived, isWaiting: isWaiting, now: now())
            switch verdict {
            case nil, .alive: break
            case .silent: end(id) { .failure($0.failure(.stalled, "no byte moved for too long")) }
            case .trickle: end(id) { .failure($0.failure(.stalled, "the transfer is too slow to ever end")) }
            }
        }
    }

    // MARK: Ending

    /// Ends every transfer and frees libcurl's state, in the order it demands: handles out, handles freed,
    /// multi freed, and only then the watches that its last callbacks refer to.
    func close() {
        guard !isClosed else { return }
        for id in transfers.keys { cancel(id, "the client was shut down") }
        isClosed = true
        for easy in idle { curl_easy_cleanup(easy) }
        idle = []
        curl_multi_cleanup(multi)
        for watch in watches.values { watch.cancel() }
        watches = [:]
        timer?.cancel()
        timer = nil
        watchdogTimer?.cancel()
        watchdogTimer = nil
    }
}
