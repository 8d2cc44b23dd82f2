/// Who a recorder is, from its Device Information service. The serial number is its identity; the rest is
/// for people and may change with the firmware.
package struct RecorderIdentity: Sendable, Hashable {
    /// The longest serial number that is accepted, in bytes.
    package static let maximumSerialBytes = 64

    /// The serial number (2A25), verbatim.
    package var serial: String
    /// The manufacturer (2A29), harmless text.
    package var manufacturer: String?
    /// The model (2A24), harmless text.
    package var model: String?
    /// The firmware revision (2A26), harmless text.
    package var firmware: String?
    /// The hardware revision (2A27), harmless text.
    package var hardware: String?

    /// An identity with these fields, unchecked.
    package init(
        serial: String, manufacturer: String? = nil, model: String? = nil, firmware: String? = nil,
        hardware: String? = nil
    ) {
        (self.serial, self.manufacturer, self.model) = (serial, manufacturer, model)
        (self.firmware, self.hardware) = (firmware, hardware)
    }

    /// The serial number in `value`. It is never altered beyond its padding, because two recorders could
    /// become one: what is not harmless text of 1…64 bytes throws `notARecorder`.
    static func serial(from value: [UInt8]) throws(RecorderError) -> String {
        let text = Self.trimmed(value)
        let safe = SafeName(text, fallback: "", maximumBytes: maximumSerialBytes).text
        guard !text.isEmpty, safe == text, !text.unicodeScalars.contains("\u{FFFD}") else {
            throw RecorderError(
                .notARecorder, "the device has no usable serial number",
                hint: "a recorder must have one of 1 to 64 bytes of plain text", endsLink: true)
        }
        return text
    }

    /// A harmless text in `value`; nil when it is empty.
    static func label(from value: [UInt8]) -> String? {
        let text = SafeName(Self.trimmed(value), fallback: "", maximumBytes: 64).text
        return text.isEmpty ? nil : text
    }

    private static func trimmed(_ value: [UInt8]) -> String {
        var bytes = value[...]
        while let last = bytes.last, last == 0 || last == 0x20 { bytes.removeLast() }
        while bytes.first == 0x20 { bytes.removeFirst() }
        return String(decoding: bytes, as: UTF8.self)
    }
}
