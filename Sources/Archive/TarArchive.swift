/// A tar archive of small files in memory (POSIX ustar).
package struct TarArchive: Sendable {
    private static let block = 512
    /// What the header has room for without an extension.
    package static let longestName = 100

    private var entries: [UInt8] = []

    package init() {}

    /// Adds a file that only its owner may read. A name that is too long or not ASCII is made to fit; `time` is in seconds
    /// since 1970.
    package mutating func add(_ name: String, _ bytes: [UInt8], time: Int64) {
        var header = [UInt8](repeating: 0, count: Self.block)
        let name = Array(
            name.utf8.map { (0x21...0x7E).contains($0) ? $0 : UInt8(ascii: "_") }.prefix(Self.longestName))
        header.replaceSubrange(0..<name.count, with: name)
        Self.put(0o600, digits: 7, at: 100, in: &header)
        Self.put(0, digits: 7, at: 108, in: &header)
        Self.put(0, digits: 7, at: 116, in: &header)
        Self.put(Int64(bytes.count), digits: 11, at: 124, in: &header)
        Self.put(max(0, time), digits: 11, at: 136, in: &header)
        header[156] = UInt8(ascii: "0")
        header.replaceSubrange(257..<265, with: Array("ustar\u{0}00".utf8))
        // The checksum is over the header with blanks in its place.
        header.replaceSubrange(148..<156, with: [UInt8](repeating: 0x20, count: 8))
        let sum = header.reduce(Int64(0)) { $0 + Int64($1) }
        Self.put(sum, digits: 6, at: 148, in: &header)
        header[154] = 0
        entries += header + bytes
        let rest = bytes.count % Self.block
        if rest > 0 { entries += [UInt8](repeating: 0, count: Self.block - rest) }
    }

    /// The archive with its end.
    package var bytes: [UInt8] { entries + [UInt8](repeating: 0, count: 2 * Self.block) }

    private static func put(_ number: Int64, digits: Int, at offset: Int, in header: inout [UInt8]) {
        let text = String(number, radix: 8).suffix(digits)
        let padded = String(repeating: "0", count: digits - text.count) + text
        header.replaceSubrange(offset..<offset + digits, with: Array(padded.utf8))
    }
}
