internal import CZlib

/// The CRC-32 of OACP Calculate Checksum (CRC-32/ISO-HDLC, as in zlib), computed as bytes arrive.
package struct CRC32: Sendable, Hashable {
    /// The checksum of everything that was fed so far; 0 for nothing. May be stored and resumed from.
    package private(set) var value: UInt32

    /// Continues from `value`, the checksum of the bytes so far.
    package init(resuming value: UInt32 = 0) {
        self.value = value
    }

    /// The checksum of `bytes` alone.
    package static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc = CRC32()
        crc.update(bytes)
        return crc.value
    }

    /// Feeds `bytes`.
    package mutating func update(_ bytes: [UInt8]) {
        update(bytes[...])
    }

    /// Feeds `bytes`.
    package mutating func update(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Feeds `bytes`.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        value = celestia_crc32(value, base.assumingMemoryBound(to: UInt8.self), bytes.count)
    }
}
