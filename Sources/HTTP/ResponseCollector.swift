import EventLoop
import Glibc

/// Takes a response in as libcurl hands it over, within every cap.
struct ResponseCollector {
    private static let maximumFields = 100
    private static let maximumHeaderBytes = 64 << 10

    private(set) var status: Int?
    private(set) var headers = HTTPHeaders()
    private(set) var body: [UInt8] = []
    private(set) var bytesStored: Int64 = 0
    /// Why this response cannot be taken in; set once, ends the transfer.
    private(set) var failure: HTTPError.Code?
    private(set) var failureMessage = ""
    private let bodyLimit: Int
    private let sink: HTTPSink?
    private let onBody: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    private var passedOn = 0
    private var headerBytes = 0
    private var bodyBegan = false
    /// The offset in the sink's file that the next body byte goes to; nil when the body stays in memory.
    private var sinkOffset: Int64?

    init(
        bodyLimit: Int, sink: HTTPSink?, onBody: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) {
        self.bodyLimit = bodyLimit
        self.sink = sink
        self.onBody = onBody
    }

    /// One header line or status line, with its line end. False ends the transfer.
    mutating func receive(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        guard headerBytes <= Self.maximumHeaderBytes, headers.fields.count < Self.maximumFields else {
            return fail(.headersTooLarge, "the response has more than 100 header fields or 64 KiB of them")
        }
        if bytes.starts(with: "HTTP/".utf8) {
            // A final status line after 100 Continue begins the headers anew.
            let line = String(decoding: bytes, as: UTF8.self).split(separator: " ")
            status = line.count > 1 ? Int(line[1].prefix(3)) : nil
            headers = HTTPHeaders()
            return true
        }
        // Trailers after the body say nothing that we use.
        guard !bodyBegan, let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return true }
        let name = String(decoding: bytes[..<colon], as: UTF8.self)
        let value = String(
            decoding: bytes[(colon + 1)...].filter { $0 != 0x0D && $0 != 0x0A && $0 != 0 }, as: UTF8.self)
        headers.append(HTTPHeaders.Field(name, value.trimmingASCIISpace()))
        return true
    }

    /// Body bytes. False ends the transfer.
    mutating func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
        if !bodyBegan {
            bodyBegan = true
            guard beginBody() else { return false }
        }
        guard let sink, let offset = sinkOffset else {
            guard bytes.count <= bodyLimit - body.count - passedOn else {
                return fail(.bodyTooLarge, "the response is over \(bodyLimit) bytes")
            }
            if let onBody, status == 200 {
                passedOn += bytes.count
                onBody(bytes)
            } else {
                body.append(contentsOf: bytes)
            }
            return true
        }
        guard Int64(bytes.count) <= sink.limit - offset else {
            return fail(.bodyTooLarge, "the response is over \(sink.limit) bytes")
        }
        var written = 0
        while written < bytes.count {
            let count = pwrite(
                sink.file.descriptor.rawValue, bytes.baseAddress.map { $0 + written }, bytes.count - written,
                off_t(offset) + off_t(written))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let isFull = errno == ENOSPC || errno == EDQUOT
                return fail(
                    isFull ? .sinkFull : .sink,
                    "the file cannot be written: \(String(cString: strerror(errno)))")
            }
            written += count
        }
        sinkOffset = offset + Int64(written)
        bytesStored += Int64(written)
        return true
    }

    /// Only a 200 or the 206 that was asked for goes to the sink: an error's text must not end up in the file.
    private mutating func beginBody() -> Bool {
        guard let sink else { return true }
        switch status {
        case 200:
            guard ftruncate(sink.file.descriptor.rawValue, 0) == 0 else {
                return fail(.sink, "the file cannot be emptied: \(String(cString: strerror(errno)))")
            }
            sinkOffset = 0
        case 206:
            guard Self.rangeStart(headers["content-range"]) == sink.resumeAt else {
                return fail(.notHTTP, "the server answered another range than was asked for")
            }
            sinkOffset = sink.resumeAt
        default: break
        }
        return true
    }

    /// The first byte's offset of `bytes 21010-47021/47022`.
    private static func rangeStart(_ field: String?) -> Int64? {
        guard let field, field.lowercased().hasPrefix("bytes ") else { return nil }
        return Int64(field.dropFirst(6).prefix { $0 != "-" })
    }

    private mutating func fail(_ code: HTTPError.Code, _ message: String) -> Bool {
        if failure == nil {
            failure = code
            failureMessage = message
        }
        return false
    }
}
