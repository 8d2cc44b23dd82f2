package import EventLoop

/// One request, as a value: sending it twice sends the same bytes.
package struct HTTPRequest: Sendable, CustomStringConvertible {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package enum Body: Sendable {
        case none
        /// Sent as it is, with this media type.
        case bytes([UInt8], type: String)
        /// multipart/form-data in this order.
        case multipart([MultipartPart])
    }

    package var method: Method
    package var url: HTTPURL
    /// Further header fields. `Authorization` goes to `bearer`, so that no description can show it.
    package var headers: [HTTPHeaders.Field] = []
    /// Sent as `Authorization: Bearer …`.
    package var bearer: Secret?
    package var body: Body = .none
    package var deadlines = HTTPDeadlines()
    /// The response body's cap in bytes; more is `bodyTooLarge`.
    package var bodyLimit = 1 << 20
    /// Takes the body of a 200 piece by piece, on the client's loop; the response's own is empty then.
    package var onBody: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    /// Never sent on a connection that was used before, which may be dead without anybody knowing. For calls
    /// that must not be repeated, and after a transport error.
    package var freshConnection = false
    /// Whether libcurl may send it again by itself when a used connection dies before the answer
    /// (Curl_retry_request). Otherwise that is an `emptyReply` with `requestSent`.
    package var isRepeatable = false
    /// Whether the client's limit holds for it (`HTTPClient.limitSending`).
    package var isPaced = false
    /// Called on the client's loop with the body bytes sent so far, multipart framing included, at most ten
    /// times a second and once at the end. Sent is not acknowledged: it must not be recorded as done.
    package var onProgress: (@Sendable (Int64) -> Void)?

    package init(_ method: Method, _ url: HTTPURL) {
        self.method = method
        self.url = url
    }

    package var description: String { "\(method.rawValue) \(url)" }
}

/// One field of a multipart/form-data body.
package struct MultipartPart: Sendable {
    package enum Content: Sendable {
        case text(String)
        /// Read by `pread` while it is sent; `fileName` and `type` always go on the part, since libcurl
        /// would otherwise name the spool file or no type at all.
        case file(FileSlice, fileName: String, type: String)
    }

    package var name: String
    package var content: Content

    package init(name: String, text: String) {
        self.name = name
        content = .text(text)
    }

    package init(name: String, file: FileSlice, fileName: String, type: String) {
        self.name = name
        content = .file(file, fileName: fileName, type: type)
    }
}

/// An open file that several requests may read from, closed when the last of them goes.
package final class SharedFile: Sendable {
    package let descriptor: OwnedFD

    /// Takes ownership of an open descriptor.
    package init(_ descriptor: consuming OwnedFD) {
        self.descriptor = descriptor
    }
}

/// `length` bytes of a file from `offset`.
package struct FileSlice: Sendable {
    package let file: SharedFile
    package let offset: Int64
    package let length: Int64

    package init(file: SharedFile, offset: Int64, length: Int64) {
        self.file = file
        self.offset = offset
        self.length = length
    }
}

/// Where a download goes: into `file`, from `resumeAt` when the server honours the range.
package struct HTTPSink: Sendable {
    package let file: SharedFile
    /// The bytes that the file already holds. When the server answers 200 instead of 206 the file is
    /// truncated and filled anew.
    package let resumeAt: Int64
    /// The whole file's cap in bytes; more is `bodyTooLarge`.
    package let limit: Int64

    package init(file: SharedFile, resumeAt: Int64 = 0, limit: Int64) {
        self.file = file
        self.resumeAt = resumeAt
        self.limit = limit
    }
}

/// How long a request may take, by every measure that applies to it.
package struct HTTPDeadlines: Sendable, Equatable {
    /// Name resolution, TCP and TLS together.
    package var connect: Duration
    /// The whole request, whatever happens.
    package var total: Duration
    /// libcurl's rule: slower than this many bytes per second over this time ends the transfer, also while
    /// waiting for the answer. nil for calls on which the server may think.
    package var lowSpeed: LowSpeed?
    /// The watchdog's limits; nil for requests without a large body.
    package var stall: StallLimits?

    package struct LowSpeed: Sendable, Equatable {
        package var bytesPerSecond: Int
        package var window: Duration

        package init(bytesPerSecond: Int, window: Duration) {
            self.bytesPerSecond = bytesPerSecond
            self.window = window
        }
    }

    package init(
        connect: Duration = .seconds(15), total: Duration = .seconds(30), lowSpeed: LowSpeed? = nil,
        stall: StallLimits? = nil
    ) {
        self.connect = connect
        self.total = total
        self.lowSpeed = lowSpeed
        self.stall = stall
    }
}
