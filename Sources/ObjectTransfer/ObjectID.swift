/// A 48-bit object identifier (OTS 3.8). 0 is the directory listing, 1…0xFF are reserved.
package struct ObjectID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The identifier; never more than 48 bits.
    package let value: UInt64

    /// The directory listing object.
    package static let directory = ObjectID(unchecked: 0)

    private init(unchecked value: UInt64) {
        self.value = value
    }

    /// Nil when `value` has more than 48 bits.
    package init?(_ value: UInt64) {
        guard value < 1 << 48 else { return nil }
        self.value = value
    }

    /// Parses the twelve hexadecimal digits of a manifest, in either case; nil for anything else.
    package init?(hex text: String) {
        let digits = Array(text.utf8.prefix(13))
        guard digits.count == 12, let value = UInt64(hexDigits: digits) else { return nil }
        self.value = value
    }

    /// Whether the identifier may belong to an ordinary object (0x100 and above).
    package var isOrdinary: Bool { value >= 0x100 }

    /// Twelve lower-case hexadecimal digits, most significant first.
    package var description: String { value.hexDigits(12) }

    /// The six bytes of the Object ID characteristic.
    package var wire: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(littleEndian48: value)
        return bytes
    }

    /// Reads the Object ID characteristic; bytes after the sixth are ignored.
    package init(wire bytes: [UInt8]) throws(ObjectTransferError) {
        var reader = ByteReader(bytes)
        try self.init(from: &reader)
    }

    init(from reader: inout ByteReader) throws(ObjectTransferError) {
        self.value = try reader.u48()
    }

    package static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}
