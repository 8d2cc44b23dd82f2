import CCurl
import Glibc

/// One request under way: everything libcurl points into, until the handle is out of the multi.
///
/// Confined to the client's loop; libcurl calls back only from within calls that the engine makes there.
final class Transfer {
    let request: HTTPRequest
    let easy: UnsafeMutableRawPointer
    let completion: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>
    var collector: ResponseCollector
    var watchdog: StallWatchdog?
    private(set) var isRequestOut = false
    private var isReleased = false
    /// How often libcurl has sent the request, or wanted to.
    private var issues = 0
    private var refusal: (code: HTTPError.Code, message: String)?
    private var readers: [SliceReader] = []
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var mime: OpaquePointer?
    private let errorText: UnsafeMutablePointer<CChar>
    private let now: () -> ContinuousClock.Instant
    private var lastProgress: ContinuousClock.Instant
    private var reported: Int64 = 0
    private var sendLimit: Int64?

    init(
        request: HTTPRequest, sink: HTTPSink?, easy: UnsafeMutableRawPointer,
        now: @escaping () -> ContinuousClock.Instant,
        completion: CheckedContinuation<Result<HTTPResponse, HTTPError>, Never>
    ) {
        self.request = request
        self.easy = easy
        self.completion = completion
        self.now = now
        lastProgress = now()
        collector = ResponseCollector(bodyLimit: request.bodyLimit, sink: sink, onBody: request.onBody)
        watchdog = request.deadlines.stall.map { StallWatchdog(limits: $0, now: now()) }
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        release()
        errorText.deallocate()
    }

    /// To be called once the handle has left the multi: libcurl copies neither the headers nor the mime.
    func release() {
        guard !isReleased else { return }
        isReleased = true
        curl_easy_reset(easy)
        curl_mime_free(mime)
        curl_slist_free_all(headerList)
    }

    // MARK: Setting up

    /// `limit`: the bytes per second to begin with; nil is unlimited.
    func prepare(
        _ configuration: HTTPConfiguration, sink: HTTPSink?, limit: Int64? = nil
    ) throws(HTTPError) {
        curl_easy_reset(easy)
        var options = EasyOptions(easy: easy)
        options.setCommon(configuration)
        options.setRequest(request)
        if let limit { options.setSendLimit(limit) }
        sendLimit = limit
        options.set(CURLOPT_ERRORBUFFER, pointer: errorText)
        try setBody(&options)
        try setHeaders(&options, sink: sink)
        setCallbacks(&options)
        if let refused = options.refused {
            throw HTTPError(.other, "libcurl refuses option \(refused.rawValue)")
        }
    }

    private func setBody(_ options: inout EasyOptions) throws(HTTPError) {
        switch request.body {
        case .none:
            guard request.method != .get else { break }
            options.set(CURLOPT_POST, 1)
            options.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: 0)
            options.set(CURLOPT_POSTFIELDS, pointer: nil)
            options.set(CURLOPT_COPYPOSTFIELDS, "")
        case .bytes(let bytes, _):
            options.set(CURLOPT_POST, 1)
            options.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(bytes.count))
            let code = bytes.withUnsafeBytes { buffer in
                // Copied by its size, so that it need not end in a zero.
                celestiad_curl_set_pointer(
                    easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: buffer.baseAddress))
            }
            options.note(code, CURLOPT_COPYPOSTFIELDS)
        case .multipart(let parts):
            guard let form = curl_mime_init(easy) else { throw HTTPError(.other, "out of memory") }
            mime = form
            for part in parts { try add(part, to: form) }
            options.note(celestiad_curl_set_mime(easy, form), CURLOPT_MIMEPOST)
        }
        if request.method != .get && request.method != .post {
            options.set(CURLOPT_CUSTOMREQUEST, request.method.rawValue)
        }
    }

    private func add(_ part: MultipartPart, to form: OpaquePointer) throws(HTTPError) {
        guard let field = curl_mime_addpart(form) else { throw HTTPError(.other, "out of memory") }
        var codes = [curl_mime_name(field, part.name)]
        switch part.content {
        case .text(let text):
            codes.append(curl_mime_data(field, text, text.utf8.count))
        case .file(let slice, let fileName, let type):
            guard slice.offset >= 0, slice.length >= 0,
                !slice.offset.addingReportingOverflow(slice.length).overflow
            else { throw HTTPError(.invalidRequest, "the file slice is out of range") }
            guard Self.isFieldValue(fileName), Self.isFieldValue(type) else {
                throw HTTPError(.invalidRequest, "a part's file name or type has a control character")
            }
            let reader = SliceReader(slice)
            readers.append(reader)
            codes.append(
                curl_mime_data_cb(
                    field, curl_off_t(slice.length),
                    { buffer, size, count, context in
                        guard let context else { return celestiad_curl_read_abort() }
                        return Unmanaged<SliceReader>.fromOpaque(context).takeUnretainedValue()
                            .read(into: buffer, capacity: size * count)
                    },
                    { context, offset, origin in
                        guard let context else { return CURL_SEEKFUNC_FAIL }
                        return Unmanaged<SliceReader>.fromOpaque(context).takeUnretainedValue()
                            .seek(to: Int64(offset), origin: origin)
                    }, nil, Unmanaged.passUnretained(reader).toOpaque()))
            codes.append(curl_mime_filename(field, fileName))
            codes.append(curl_mime_type(field, type))
        }
        guard codes.allSatisfy({ $0 == CURLE_OK }) else {
            throw HTTPError(.other, "libcurl refuses the multipart field \(part.name)")
        }
    }

    private func setHeaders(_ options: inout EasyOptions, sink: HTTPSink?) throws(HTTPError) {
        // An empty value takes a header away that libcurl would add; waiting for 100-continue costs a second
        // per request with a server that does not know it.
        var lines = ["Expect:"]
        if case .bytes(_, let type) = request.body { lines.append("Content-Type: \(type)") }
        if case .none = request.body { lines.append("Content-Type:") }
        if let sink, sink.resumeAt > 0 { lines.append("Range: bytes=\(sink.resumeAt)-") }
        if let bearer = request.bearer { lines.append("Authorization: Bearer \(bearer.reveal())") }
        for field in request.headers { lines.append("\(field.name): \(field.value)") }
        for line in lines {
            guard Self.isFieldValue(line) else {
                throw HTTPError(.invalidRequest, "a header field has a control character")
            }
            guard let longer = curl_slist_append(headerList, line) else {
                throw HTTPError(.other, "out of memory")
            }
            headerList = longer
        }
        options.note(celestiad_curl_set_headers(easy, headerList), CURLOPT_HTTPHEADER)
    }

    private static func isFieldValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }

    private func setCallbacks(_ options: inout EasyOptions) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        options.set(CURLOPT_WRITEDATA, pointer: context)
        options.note(
            celestiad_curl_set_transfer_function(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
                Transfer.deliver(bytes, size * count, context) { $0.collector.receive(body: $1) }
            }, CURLOPT_WRITEFUNCTION)
        options.set(CURLOPT_HEADERDATA, pointer: context)
        options.note(
            celestiad_curl_set_transfer_function(easy, CURLOPT_HEADERFUNCTION) {
                bytes, size, count, context in
                Transfer.deliver(bytes, size * count, context) { $0.collector.receive(headerLine: $1) }
            }, CURLOPT_HEADERFUNCTION)
        options.set(CURLOPT_XFERINFODATA, pointer: context)
        options.note(
            celestiad_curl_set_progress_function(easy) { context, _, _, total, sent in
                guard let context else { return 0 }
                Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
                    .progressed(sent: Int64(sent), total: Int64(total))
                return 0
            }, CURLOPT_XFERINFOFUNCTION)
        options.set(CURLOPT_NOPROGRESS, 0)
        options.set(CURLOPT_PREREQDATA, pointer: context)
        options.note(
            celestiad_curl_set_prereq_function(easy) { context, address, _, _, _ in
                guard let context, let address else { return CURL_PREREQFUNC_ABORT }
                let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
                return transfer.mayIssue(to: String(cString: address))
                    ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
            }, CURLOPT_PREREQFUNCTION)
    }

    /// Asked each time that libcurl is about to send the request, connected to `address`.
    private func mayIssue(to address: String) -> Bool {
        issues += 1
        if issues > 1, !request.isRepeatable {
            refusal = (.emptyReply, "a used connection died before the answer")
        } else if request.url.scheme == .http, !address.hasPrefix("127."), address != "::1" {
            // A loopback name may resolve to anything: what it resolved to must be loopback too.
            refusal = (.invalidRequest, "plain http to \(address), which is not loopback")
        }
        return refusal == nil
    }

    private static func deliver(
        _ bytes: UnsafeMutablePointer<CChar>?, _ count: Int, _ context: UnsafeMutableRawPointer?,
        _ receive: (Transfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        guard let context else { return 0 }
        let transfer = Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        // A count other than the one offered ends the transfer with CURLE_WRITE_ERROR.
        return receive(transfer, UnsafeRawBufferPointer(start: bytes, count: count))
            ? count : count == 0 ? 1 : 0
    }

    private func progressed(sent: Int64, total: Int64) {
        isRequestOut = total > 0 ? sent >= total : requestBytes > 0
        guard let onProgress = request.onProgress, sent > reported else { return }
        let now = now()
        guard isRequestOut || now - lastProgress >= .milliseconds(100) else { return }
        lastProgress = now
        reported = sent
        onProgress(sent)
    }

    /// A new limit for what is under way; nil is unlimited. libcurl makes up for what was sent too fast within its last
    /// three seconds: from a limit much higher, or from none, that would be a silence long enough to be taken for a
    /// stall, so that such a change is left to the next request.
    func changeSendLimit(to limit: Int64?) {
        guard limit != sendLimit else { return }
        if let limit {
            guard let sendLimit, limit >= sendLimit / 8 else { return }
        }
        sendLimit = limit
        // 0 is none.
        _ = celestiad_curl_set_offset(easy, CURLOPT_MAX_SEND_SPEED_LARGE, curl_off_t(limit ?? 0))
    }

    // MARK: Ending

    var bytesSent: Int64 { Int64(celestiad_curl_get_offset(easy, CURLINFO_SIZE_UPLOAD_T)) }
    var bytesReceived: Int64 { Int64(celestiad_curl_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T)) }
    private var requestBytes: Int { celestiad_curl_get_long(easy, CURLINFO_REQUEST_SIZE) }

    /// The result when libcurl is done, while the handle still knows its figures.
    func result(of code: CURLcode) -> Result<HTTPResponse, HTTPError> {
        guard code == CURLE_OK, let status = collector.status, status >= 200 else {
            return .failure(error(of: code))
        }
        return .success(
            HTTPResponse(
                status: status, headers: collector.headers, body: collector.body,
                bytesStored: collector.bytesStored, bytesSent: bytesSent,
                usedNewConnection: celestiad_curl_get_long(easy, CURLINFO_NUM_CONNECTS) > 0))
    }

    /// An error of our own making, with the transfer's figures.
    func failure(_ code: HTTPError.Code, _ message: String, curlCode: CURLcode = CURLE_OK) -> HTTPError {
        HTTPError(
            code, message, curlCode: Int32(bitPattern: curlCode.rawValue),
            requestSent: requestBytes > 0 || bytesSent > 0 || issues > 1,
            responseBegan: collector.status != nil,
            bytesSent: bytesSent, status: collector.status)
    }

    private func error(of code: CURLcode) -> HTTPError {
        if let failure = collector.failure {
            return self.failure(failure, collector.failureMessage, curlCode: code)
        }
        if let refusal { return failure(refusal.code, refusal.message, curlCode: code) }
        if let message = readers.lazy.compactMap(\.failure).first {
            return failure(.source, message, curlCode: code)
        }
        let verdict = celestiad_curl_get_long(easy, CURLINFO_SSL_VERIFYRESULT)
        var text = String(cString: errorText)
        if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
        return failure(CurlFailure.kind(of: code, tlsVerdict: verdict), text, curlCode: code)
    }
}
