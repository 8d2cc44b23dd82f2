/// A Bluetooth device address.
package struct DeviceAddress: Sendable, Hashable, CustomStringConvertible {
    /// What an LE address is: decides how the kernel reaches the device.
    package enum Kind: String, Sendable, Hashable {
        case `public`
        case random
    }

    /// The six bytes as the kernel takes them, least significant first.
    package let bytes: [UInt8]

    /// Parses "AA:BB:CC:DD:EE:FF", in either case; nil for anything else.
    package init?(_ text: String) {
        let parts = text.utf8.prefix(18).split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard parts.count == 6, text.utf8.count == 17 else { return nil }
        var bytes: [UInt8] = []
        for part in parts.reversed() {
            // The radix initialiser would take a sign.
            guard part.count == 2, part.first != UInt8(ascii: "+"), part.first != UInt8(ascii: "-"),
                let byte = UInt8(String(decoding: part, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(byte)
        }
        self.bytes = bytes
    }

    package var description: String {
        bytes.reversed().map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "0" + digits : digits
        }.joined(separator: ":")
    }
}
