/// A Bluetooth UUID. 16-bit (and 32-bit) assigned numbers are kept in their 128-bit form, so that equal
/// UUIDs are equal however they were written.
package struct BluetoothUUID: Sendable, Hashable, Comparable {
    /// The first eight bytes as they are written (most significant first).
    package let high: UInt64
    /// The last eight bytes as they are written.
    package let low: UInt64

    private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
    private static let baseLow: UInt64 = 0x8000_0080_5f9b_34fb

    /// The UUID with these two halves, most significant first.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The 16-bit assigned number `short`, on the Bluetooth base UUID.
    package init(_ short: UInt16) {
        self.init(high: UInt64(short) << 32 | Self.baseHigh, low: Self.baseLow)
    }

    /// Parses `xxxx`, `0xxxxx`, `xxxxxxxx` or the 36-character form, in either case; nil for anything else.
    package init?(_ text: some StringProtocol) {
        var digits = Array(text.utf8.prefix(37))
        if digits.starts(with: [0x30, 0x78]) || digits.starts(with: [0x30, 0x58]) { digits.removeFirst(2) }
        switch digits.count {
        case 4, 8:
            guard let short = UInt64(hexDigits: digits) else { return nil }
            self.init(high: short << 32 | Self.baseHigh, low: Self.baseLow)
        case 36:
            let dash = UInt8(ascii: "-")
            guard [8, 13, 18, 23].allSatisfy({ digits[$0] == dash }) else { return nil }
            digits.removeAll { $0 == dash }
            guard digits.count == 32, let high = UInt64(hexDigits: digits[..<16]),
                let low = UInt64(hexDigits: digits[16...])
            else { return nil }
            self.init(high: high, low: low)
        default:
            return nil
        }
    }

    /// The 16-bit assigned number, where this is one.
    package var short: UInt16? {
        guard low == Self.baseLow, high & 0xffff_ffff == Self.baseHigh else { return nil }
        return UInt16(exactly: high >> 32)
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}

extension BluetoothUUID: CustomStringConvertible {
    /// The 36-character lower-case form, as BlueZ writes it.
    package var description: String {
        let digits = high.hexDigits(16) + low.hexDigits(16)
        var text = ""
        for (position, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(position) { text.append("-") }
            text.append(digit)
        }
        return text
    }
}

extension BluetoothUUID {
    /// The little-endian bytes: 2 for an assigned number, else 16.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        if let short {
            bytes.append(littleEndian: short)
        } else {
            bytes.append(littleEndian: low)
            bytes.append(littleEndian: high)
        }
        return bytes
    }

    /// Reads 2 or 16 little-endian bytes; any other length is malformed.
    package init(wire bytes: ArraySlice<UInt8>) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        switch bytes.count {
        case 2:
            self.init(try reader.u16())
        case 16:
            let low = try reader.integer(UInt64.self)
            self.init(high: try reader.integer(UInt64.self), low: low)
        default:
            throw .malformed("a UUID has 2 or 16 bytes, not \(bytes.count)")
        }
    }
}

extension UInt64 {
    /// Parses 1…16 hexadecimal digits (no sign, no prefix); nil for anything else.
    package init?(hexDigits digits: some Collection<UInt8>) {
        guard (1...16).contains(digits.count) else { return nil }
        var value: UInt64 = 0
        for digit in digits {
            guard let nibble = Character(UnicodeScalar(digit)).hexDigitValue, digit < 0x80 else { return nil }
            value = value << 4 | UInt64(nibble)
        }
        self = value
    }

    /// The lower-case hexadecimal form, zero-padded to `width` digits.
    package func hexDigits(_ width: Int) -> String {
        let digits = String(self, radix: 16)
        return String(repeating: "0", count: Swift.max(0, width - digits.utf8.count)) + digits
    }
}
