import CCrypto

/// A SHA-256 value: 32 bytes, written as 64 lower-case hex digits.
package struct SHA256Digest: Sendable, Hashable, CustomStringConvertible {
    /// 64 lower-case hex digits.
    package let hex: String

    /// Accepts upper and lower case, as the cloud's pattern does; nil for anything but 64 hex digits.
    package init?(hex: String) {
        guard hex.utf8.count == 64, hex.utf8.allSatisfy(Hex.isDigit) else { return nil }
        self.hex = hex.lowercased()
    }

    init(bytes: [UInt8]) { hex = Hex.encode(bytes) }

    /// The digest of `bytes`.
    package init(hashing bytes: [UInt8]) { self = SHA256.digest(of: bytes) }

    package var description: String { hex }
}

/// An incremental SHA-256 over libcrypto. Not shared between threads.
package final class SHA256 {
    private let context: OpaquePointer

    package init() {
        // libcrypto fails here only without memory, where nothing else would work either.
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            fatalError("libcrypto cannot start a SHA-256")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Hashes more bytes.
    package func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
        let status = EVP_DigestUpdate(context, base, bytes.count)
        precondition(status == 1, "libcrypto refused to hash")
    }

    /// The digest of what was hashed so far; hashing may go on.
    package func digest() -> SHA256Digest {
        var bytes = [UInt8](repeating: 0, count: 32)
        guard let copy = EVP_MD_CTX_new() else { fatalError("libcrypto has no memory") }
        defer { EVP_MD_CTX_free(copy) }
        let status = EVP_MD_CTX_copy_ex(copy, context) == 1 && EVP_DigestFinal_ex(copy, &bytes, nil) == 1
        precondition(status, "libcrypto cannot finish a SHA-256")
        return SHA256Digest(bytes: bytes)
    }

    static func digest(of bytes: [UInt8]) -> SHA256Digest {
        let hasher = SHA256()
        bytes.withUnsafeBytes(hasher.update)
        return hasher.digest()
    }
}

/// Hex digits, both ways of looking at them.
enum Hex {
    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    static func encode(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
