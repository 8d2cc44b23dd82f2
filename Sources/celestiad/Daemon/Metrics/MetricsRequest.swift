/// What came over a connection to the metrics, and what to answer. Pure.
enum MetricsRequest: Equatable {
    /// More has to come.
    case incomplete
    case metrics(hasBody: Bool)
    case refused(status: Int, reason: String)

    static let longestHead = 8192

    static func parse(_ bytes: [UInt8]) -> MetricsRequest {
        guard let end = end(of: bytes) else {
            return bytes.count < longestHead
                ? .incomplete : .refused(status: 431, reason: "Request Header Fields Too Large")
        }
        guard let line = bytes[..<end].split(separator: UInt8(ascii: "\n")).first else {
            return .refused(status: 400, reason: "Bad Request")
        }
        let words = line.filter { $0 != UInt8(ascii: "\r") }.split(
            separator: UInt8(ascii: " "), omittingEmptySubsequences: false
        )
        .map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3, words[2] == "HTTP/1.1" || words[2] == "HTTP/1.0" else {
            return .refused(status: 400, reason: "Bad Request")
        }
        guard words[0] == "GET" || words[0] == "HEAD" else {
            return .refused(status: 405, reason: "Method Not Allowed")
        }
        let path = words[1].prefix { $0 != "?" }
        guard path == "/metrics" || path == "/" else { return .refused(status: 404, reason: "Not Found") }
        return .metrics(hasBody: words[0] == "GET")
    }

    /// Where the head's empty line begins.
    private static func end(of bytes: [UInt8]) -> Int? {
        let newline = UInt8(ascii: "\n")
        for index in bytes.indices.dropFirst() where bytes[index] == newline {
            if bytes[index - 1] == newline { return index }
            if index >= 2, bytes[index - 1] == UInt8(ascii: "\r"), bytes[index - 2] == newline {
                return index
            }
        }
        return nil
    }

    static func response(_ text: String, hasBody: Bool) -> [UInt8] {
        response(200, "OK", MetricsText.contentType, text, hasBody: hasBody)
    }

    static func refusal(_ status: Int, _ reason: String) -> [UInt8] {
        response(status, reason, "text/plain; charset=utf-8", reason + "\n", hasBody: true)
    }

    private static func response(
        _ status: Int, _ reason: String, _ type: String, _ text: String, hasBody: Bool
    ) -> [UInt8] {
        let allowed = status == 405 ? "Allow: GET, HEAD\r\n" : ""
        let head =
            "HTTP/1.1 \(status) \(reason)\r\nContent-Type: \(type)\r\nContent-Length: \(text.utf8.count)\r\n"
            + "\(allowed)Connection: close\r\n\r\n"
        return Array((head + (hasBody ? text : "")).utf8)
    }
}
