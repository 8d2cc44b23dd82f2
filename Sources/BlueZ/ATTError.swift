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
        return "ATT error 0x" + (digits.count == 1 ? "0" + digits : digits)
    }
}
