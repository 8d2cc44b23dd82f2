package import HTTP

/// The configured address of the API: `https`, or `http` to loopback only, with an optional base path and
/// nothing else. Tokens are bound to exactly this value.
package struct APIBase: Sendable, Hashable, CustomStringConvertible {
    private let root: HTTPURL
    /// Without a slash at its end: Gin answers one with a redirect.
    private let path: String

    /// Throws `invalidArgument` with what is wrong with the address.
    package init(_ string: String) throws(CloudError) {
        let root: HTTPURL
        do throws(HTTPError) {
            root = try HTTPURL(string)
        } catch {
            throw .invalid(
                "API address: \(error.message)", hint: "use https://host/path; http only for loopback")
        }
        guard !root.target.contains("?") else { throw .invalid("API address: it has a query") }
        guard !root.target.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
            throw .invalid("API address: it has a . or .. in its path")
        }
        self.root = root
        path = String(root.target.reversed().drop { $0 == "/" }.reversed())
    }

    /// Origin and base path in their one spelling; the key of credentials.
    package var description: String { root.origin + path }

    /// Scheme, host and port.
    package var origin: String { root.origin }

    /// Whether the address is this machine.
    package var isLoopback: Bool { root.isLoopback }

    /// The address of an endpoint. Segments are percent-encoded, so that an id from the server stays one
    /// segment whatever is in it. Throws `invalidArgument` for an empty or overlong segment.
    package func url(
        _ segments: [String], query: [(name: String, value: String)] = []
    ) throws(CloudError) -> HTTPURL {
        var text = description
        for segment in segments {
            guard (1...200).contains(segment.utf8.count) else {
                throw .invalid("an id in the path is empty or longer than 200 bytes")
            }
            text += "/" + Self.encode(segment)
        }
        for (index, item) in query.enumerated() {
            text += (index == 0 ? "?" : "&") + Self.encode(item.name) + "=" + Self.encode(item.value)
        }
        do throws(HTTPError) {
            return try HTTPURL(text)
        } catch {
            throw .invalid("the address of the call: \(error.message)")
        }
    }

    /// RFC 3986 unreserved characters stay, except that `.` and `..` alone would be path steps.
    private static func encode(_ text: String) -> String {
        let dots = text == "." || text == ".."
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where !dots:
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let hex = String(byte, radix: 16, uppercase: true)
                result += hex.utf8.count == 1 ? "%0\(hex)" : "%\(hex)"
            }
        }
        return result
    }
}
