/// Why a request has no whole answer.
///
/// An HTTP status, whatever it is, is not an `HTTPError`: it is a response. `requestSent` and `responseBegan`
/// let the caller judge whether the server may have acted.
package struct HTTPError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kinds of failure that lead to different next steps.
    package enum Code: String, Sendable, CaseIterable {
        /// The request cannot be sent as it is: bad URL, header, or plain HTTP to a host that is not loopback.
        case invalidRequest
        /// The host name did not resolve.
        case resolve
        /// No connection: refused, unreachable, or none within the connect deadline.
        case connect
        /// The TLS handshake failed for a reason other than trust.
        case tls
        /// The server's certificate is not trusted, or is not the pinned one.
        case tlsUntrusted
        /// The server's certificate is not valid yet: usually our clock is wrong.
        case tlsNotYetValid
        /// The total deadline, or the low-speed rule, ended the transfer.
        case timeout
        /// The watchdog ended the transfer: bytes stopped, or came too slowly for too long.
        case stalled
        /// The connection broke while sending.
        case send
        /// The connection broke while receiving.
        case receive
        /// The server closed the connection without an answer.
        case emptyReply
        /// The response body ended early.
        case truncated
        /// What answered does not speak HTTP as it should.
        case notHTTP
        /// The response body is over its cap.
        case bodyTooLarge
        /// The response headers are over their caps.
        case headersTooLarge
        /// The file to send is shorter than promised, or cannot be read.
        case source
        /// The received bytes could not be written to their file.
        case sink
        /// There is no space for the received bytes.
        case sinkFull
        /// The task was cancelled, or the client was shut down.
        case cancelled
        /// libcurl failed in a way that has no name here.
        case other
    }

    package let code: Code
    /// What happened, without secrets.
    package let message: String
    /// The CURLcode, 0 when libcurl did not fail.
    package let curlCode: Int32
    /// Whether any byte of the request went out: when false the server has certainly not acted.
    package let requestSent: Bool
    /// Whether any part of a response came in.
    package let responseBegan: Bool
    /// Body bytes handed to the network, multipart framing included.
    package let bytesSent: Int64
    /// The response's status when its status line came in.
    package let status: Int?

    package init(
        _ code: Code, _ message: String, curlCode: Int32 = 0, requestSent: Bool = false,
        responseBegan: Bool = false, bytesSent: Int64 = 0, status: Int? = nil
    ) {
        self.code = code
        self.message = message
        self.curlCode = curlCode
        self.requestSent = requestSent
        self.responseBegan = responseBegan
        self.bytesSent = bytesSent
        self.status = status
    }

    /// Whether repeating the very same request cannot help.
    package var isPermanent: Bool {
        code == .invalidRequest || code == .source
    }

    package var description: String {
        curlCode == 0 ? "\(code.rawValue): \(message)" : "\(code.rawValue): \(message) (curl \(curlCode))"
    }
}
