import Cloud
import FoundationEssentials
import Glibc

/// What is wrong with a value, in words that come after it; nil: nothing.
enum ValueCheck {
    /// The address of the API. Never repeats the value: it may hold a password.
    @Sendable static func apiAddress(_ value: String) -> String? {
        do throws(CloudError) {
            _ = try APIBase(value)
            return nil
        } catch {
            let prefix = "API address: "
            return error.message.hasPrefix(prefix)
                ? String(error.message.dropFirst(prefix.count)) : error.message
        }
    }

    /// A file of certificates that libcurl is to trust: a missing one would only show at the first call.
    @Sendable static func certificates(_ path: String) -> String? {
        guard !path.isEmpty, path.hasPrefix("/") else { return nil }
        guard let file = fopen(path, "re") else {
            return "it cannot be read: \(String(cString: strerror(errno)))"
        }
        defer { fclose(file) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var text = ""
        while text.utf8.count < 4 << 20 {
            let count = fread(&buffer, 1, buffer.count, file)
            guard count > 0 else { break }
            text = String(text.suffix(64)) + String(decoding: buffer[..<count], as: UTF8.self)
            if isCertificate(text) { return nil }
        }
        return ferror(file) != 0
            ? "it cannot be read: \(String(cString: strerror(errno)))" : "there is no certificate in it"
    }

    private static func isCertificate(_ text: String) -> Bool {
        [
            "-----BEGIN CERTIFICATE-----", "-----BEGIN TRUSTED CERTIFICATE-----",
            "-----BEGIN X509 CERTIFICATE-----",
        ]
        .contains { text.contains($0) }
    }

    /// Public key pins, as curl takes them: each the SHA-256 of a key.
    @Sendable static func pins(_ value: String) -> String? {
        guard !value.isEmpty else { return nil }
        for pin in value.split(separator: ";", omittingEmptySubsequences: false) {
            let prefix = "sha256//"
            guard pin.hasPrefix(prefix), Data(base64Encoded: String(pin.dropFirst(prefix.count)))?.count == 32
            else {
                return "\(Terminal.printable(String(pin))) is no SHA-256 in base64"
            }
        }
        return nil
    }
}
