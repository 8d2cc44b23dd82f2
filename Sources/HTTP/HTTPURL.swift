/// An absolute `https` URL, or an `http` URL to a loopback host, in the one spelling that both we and libcurl
/// read alike: ASCII, no user information, no fragment.
package struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    package enum Scheme: String, Sendable {
        case https, http
    }

    package let scheme: Scheme
    /// Lower case; IPv6 without brackets.
    package let host: String
    /// The port as written, or the scheme's own.
    package let port: UInt16
    /// Path and query as given; never empty.
    package let target: String

    /// Throws `invalidRequest` with what is wrong; never quotes the part before `@`.
    package init(_ string: String) throws(HTTPError) {
        guard string.utf8.count <= 4096 else { throw Self.invalid("is longer than 4096 bytes") }
        guard string.utf8.allSatisfy(Self.isAllowed) else {
            throw Self.invalid("has a character that must be percent-encoded")
        }
        guard let separator = string.range(ofASCII: "://") else { throw Self.invalid("has no scheme") }
        guard let scheme = Scheme(rawValue: string[..<separator.lowerBound].lowercased()) else {
            throw Self.invalid("is neither https nor http")
        }
        let rest = string[separator.upperBound...]
        let authorityEnd = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        (host, port) = try Self.parse(authority: rest[..<authorityEnd], scheme: scheme)
        let tail = rest[authorityEnd...]
        target = tail.isEmpty ? "/" : tail.first == "?" ? "/\(tail)" : String(tail)
        self.scheme = scheme
        guard scheme == .https || isLoopback else {
            throw Self.invalid("is plain http to a host that is not loopback")
        }
    }

    /// Whether the host is this machine by its very name: `localhost`, 127.0.0.0/8 or ::1.
    package var isLoopback: Bool { Self.isLoopback(host) }

    /// The same of a host alone.
    package static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" || host == "::1" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { (1...3).contains($0.utf8.count) && UInt8($0) != nil }
    }

    /// Scheme, host and port: what a credential is bound to.
    package var origin: String { "\(scheme.rawValue)://\(authority)" }

    /// Host and, unless it is the scheme's own, port: how people are told who it is.
    package var authority: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        let isDefault = port == (scheme == .https ? 443 : 80)
        return "\(name)\(isDefault ? "" : ":\(port)")"
    }

    package var description: String { origin + target }

    private static func parse(
        authority: Substring, scheme: Scheme
    ) throws(HTTPError) -> (host: String, port: UInt16) {
        guard !authority.utf8.contains(UInt8(ascii: "@")) else { throw invalid("has user information") }
        var host = authority
        var portText: Substring?
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { throw invalid("has an unclosed [") }
            host = authority[authority.index(after: authority.startIndex)..<end]
            let rest = authority[authority.index(after: end)...]
            guard rest.isEmpty || rest.first == ":" else { throw invalid("has text after ]") }
            portText = rest.isEmpty ? nil : rest.dropFirst()
            guard host.contains(":"), host.utf8.allSatisfy({ isHexDigit($0) || $0 == 0x3A || $0 == 0x2E })
            else { throw invalid("has a malformed IPv6 address") }
        } else if let colon = authority.firstIndex(of: ":") {
            host = authority[..<colon]
            portText = authority[authority.index(after: colon)...]
        }
        guard !host.isEmpty, host.utf8.count <= 253 else { throw invalid("has no usable host") }
        if authority.first != "[" {
            guard host.utf8.allSatisfy({ isAlphanumeric($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F })
            else { throw invalid("has a host with a character that is not allowed") }
        }
        guard let portText else { return (host.lowercased(), scheme == .https ? 443 : 80) }
        guard (1...5).contains(portText.utf8.count), portText.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(portText), port > 0
        else { throw invalid("has a malformed port") }
        return (host.lowercased(), port)
    }

    private static func invalid(_ what: String) -> HTTPError {
        HTTPError(.invalidRequest, "the URL \(what)")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        guard (0x21...0x7E).contains(byte) else { return false }
        return !"\\\"<>^`{|}#".utf8.contains(byte)
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }
}

extension String {
    /// The first occurrence of an ASCII text; Foundation's searches are not linked for this.
    fileprivate func range(ofASCII needle: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(needle) { return start..<index(start, offsetBy: needle.count) }
            start = index(after: start)
        }
        return nil
    }
}
