/// An error code of the Attribute Protocol (Core 5.4, Vol 3 Part F 3.4.1.1), as the device sent it.
package struct ATTError: Sendable, Hashable, CustomStringConvertible {
    package let code: UInt8

    package init(_ code: UInt8) {
        self.code = code
    }

    /// The code in BlueZ's text "Operation failed with ATT error: 0xNN"; nil for another text.
    init?(parsing text: String) {
        let prefix = "Operation failed with ATT error: 0x"
        guard text.hasPrefix(prefix) else { return nil }
        let digits = text.dropFirst(prefix.count)
        guard digits.count <= 2, digits.allSatisfy(\.isHexDigit), let code = UInt8(digits, radix: 16) else {
            return nil
        }
        self.init(code)
    }

    package static let readNotPermitted = ATTError(0x02)
    package static let writeNotPermitted = ATTError(0x03)
    package static let invalidOffset = ATTError(0x07)
    package static let invalidLength = ATTError(0x0d)

    /// Insufficient authentication, encryption key size or encryption: the link must be paired.
    var needsPairing: Bool {
        [0x05, 0x0c, 0x0f].contains(code)
    }

    package var description: String {
        let digits = String(code, radix: 16)
        return "\(words), ATT error 0x" + (digits.count == 1 ? "0" + digits : digits)
    }

    /// What the code means (Core 5.4, Vol 3 Part F table 3.4; Supplement Part B 1.2).
    private var words: String {
        switch code {
        case 0x01: "there is no such attribute"
        case 0x02: "it may not be read"
        case 0x03: "it may not be written"
        case 0x04: "the request was malformed"
        case 0x05: "the link is not authenticated"
        case 0x06: "the request is not supported"
        case 0x07: "the offset is beyond the value's end"
        case 0x08: "the hub is not authorised"
        case 0x09: "too many writes are prepared"
        case 0x0a: "there is no attribute in the range"
        case 0x0b: "the value is not a long one"
        case 0x0c: "the encryption key is too short"
        case 0x0d: "the value's length is wrong"
        case 0x0e: "an unlikely error"
        case 0x0f: "the link is not encrypted"
        case 0x10: "the group type is not supported"
        case 0x11: "the device is out of resources"
        case 0x12: "its services have changed"
        case 0x13: "the value is not allowed"
        case 0x80...0x9f: "an error of the service's own"
        case 0xfc: "the write was rejected"
        case 0xfd: "notifications are not set up right"
        case 0xfe: "the same is under way already"
        case 0xff: "the value is out of range"
        default: "a code without a meaning"
        }
    }
}
