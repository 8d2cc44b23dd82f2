internal import CCrypto

/// SHA-256 over bytes as they come, by libcrypto.
final class SHA256 {
    private let context: OpaquePointer

    init() {
        guard let context = EVP_MD_CTX_new() else { fatalError("out of memory") }
        self.context = context
        EVP_DigestInit_ex(context, EVP_sha256(), nil)
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// The 32 bytes; nothing may be fed afterwards.
    func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(context, &digest, nil)
        return digest
    }

    static func digest(of text: String) -> [UInt8] {
        let hash = SHA256()
        Array(text.utf8).withUnsafeBytes(hash.update)
        return hash.finish()
    }
}

/// A UUID that follows from a name and nothing else (RFC 9562, version 8), so that a restart serves the same ids.
func derivedUUID(_ name: String) -> String {
    var bytes = Array(SHA256.digest(of: name).prefix(16))
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    let digits = hexDigits(bytes)
    var text = ""
    for (position, digit) in digits.enumerated() {
        if [8, 12, 16, 20].contains(position) { text.append("-") }
        text.append(digit)
    }
    return text
}

/// Two lower-case hexadecimal digits for each byte.
func hexDigits(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count * 2)
    for byte in bytes {
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 0x0F)])
    }
    return String(decoding: text, as: UTF8.self)
}
