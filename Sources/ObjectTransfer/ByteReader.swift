/// Reads little-endian integers and byte runs from untrusted bytes; every read is bounds-checked and
/// throws ``ObjectTransferError`` (`malformed`) instead of trapping.
package struct ByteReader: Sendable {
    private var bytes: ArraySlice<UInt8>

    /// Starts at the first of `bytes`; nothing is copied.
    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    /// Starts at the first of `bytes`.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes[...]
    }

    /// How many bytes were not read yet.
    package var remaining: Int { bytes.count }

    /// Everything that was not read yet; the reader is empty afterwards.
    package mutating func rest() -> ArraySlice<UInt8> {
        defer { bytes = bytes[bytes.endIndex...] }
        return bytes
    }

    /// The next `count` bytes.
    package mutating func take(_ count: Int) throws(ObjectTransferError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= bytes.count else {
            throw .malformed("needs \(count) bytes where \(bytes.count) are left")
        }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }

    /// The next byte.
    package mutating func u8() throws(ObjectTransferError) -> UInt8 {
        try integer(UInt8.self)
    }

    /// The next two bytes.
    package mutating func u16() throws(ObjectTransferError) -> UInt16 {
        try integer(UInt16.self)
    }

    /// The next four bytes.
    package mutating func u32() throws(ObjectTransferError) -> UInt32 {
        try integer(UInt32.self)
    }

    /// The next six bytes as the low 48 bits.
    package mutating func u48() throws(ObjectTransferError) -> UInt64 {
        try take(6).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// The next bytes as a little-endian integer of type `Integer`.
    package mutating func integer<Integer: FixedWidthInteger>(
        _ type: Integer.Type
    ) throws(ObjectTransferError) -> Integer {
        var value: Integer = 0
        for (position, byte) in try take(Integer.bitWidth / 8).enumerated() {
            value |= Integer(truncatingIfNeeded: byte) << (8 * position)
        }
        return value
    }
}

extension [UInt8] {
    /// Appends `value` in little-endian order, as every OTS and vendor field is sent.
    package mutating func append<Integer: FixedWidthInteger>(littleEndian value: Integer) {
        for position in 0..<(Integer.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: value >> (8 * position)))
        }
    }

    /// Appends the low 48 bits of `value` in little-endian order.
    package mutating func append(littleEndian48 value: UInt64) {
        for position in 0..<6 {
            append(UInt8(truncatingIfNeeded: value >> (8 * position)))
        }
    }
}
