/// A whole answer: a status, headers, and a body within its cap. Redirects are answers like any other.
package struct HTTPResponse: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// Empty when the body went to a sink.
    package var body: [UInt8]
    /// Bytes written to the sink by this response.
    package let bytesStored: Int64
    /// Request body bytes handed to the network, multipart framing included.
    package let bytesSent: Int64
    /// Whether the request opened a connection of its own.
    package let usedNewConnection: Bool

    package init(
        status: Int, headers: HTTPHeaders = HTTPHeaders(), body: [UInt8] = [], bytesStored: Int64 = 0,
        bytesSent: Int64 = 0, usedNewConnection: Bool = true
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.bytesStored = bytesStored
        self.bytesSent = bytesSent
        self.usedNewConnection = usedNewConnection
    }

    /// The media type without parameters, in lower case.
    package var mediaType: String? {
        headers["content-type"].map { value in
            let type = value.prefix { $0 != ";" }.lowercased()
            return type.trimmingASCIISpace()
        }
    }

    /// The server's clock when it answered, in seconds since 1970; nil when absent or malformed.
    package var date: Int64? {
        headers["date"].flatMap(HTTPDate.parse)
    }

    /// How long the server asks to wait, within 0…1 h; nil when it does not ask. libcurl's own parser is not
    /// used: it answers negative or absurd numbers to some dates.
    package var retryAfter: Duration? {
        headers["retry-after"].flatMap { RetryAfter.parse($0, serverNow: date) }
    }
}

/// Header fields in order of arrival; names compare without case.
package struct HTTPHeaders: Sendable, Equatable {
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package private(set) var fields: [Field]

    package init(_ fields: [Field] = []) {
        self.fields = fields
    }

    package mutating func append(_ field: Field) {
        fields.append(field)
    }

    /// The first value of a field.
    package subscript(name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }
}

extension String {
    /// Without spaces and tabs at either end.
    func trimmingASCIISpace() -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        let start = drop(while: isSpace)
        guard let end = start.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(start[...end])
    }
}
