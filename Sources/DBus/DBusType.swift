/// One complete type of the D-Bus type system (specification, section "Type System").
package indirect enum DBusType: Sendable, Hashable {
    case byte, boolean, int16, uint16, int32, uint32, int64, uint64, double
    case string, objectPath, signature, unixFD, variant
    case array(DBusType)
    case structure([DBusType])
    case dictionary(key: DBusType, value: DBusType)

    /// The type's signature string.
    package var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int16: "n"
        case .uint16: "q"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .unixFD: "h"
        case .variant: "v"
        case .array(let element): "a" + element.signature
        case .structure(let fields): "(" + fields.map(\.signature).joined() + ")"
        case .dictionary(let key, let value): "a{" + key.signature + value.signature + "}"
        }
    }

    var isBasic: Bool {
        switch self {
        case .variant, .array, .structure, .dictionary: false
        default: true
        }
    }

    /// The complete types of a signature; nil when it is not one (specification: at most 255 bytes, arrays and
    /// structures nested at most 32 deep).
    package static func parse(_ signature: String) -> [DBusType]? {
        guard signature.utf8.count <= 255 else { return nil }
        var parser = SignatureParser(bytes: Array(signature.utf8))
        return parser.all()
    }
}

private struct SignatureParser {
    let bytes: [UInt8]
    var position = 0

    mutating func all() -> [DBusType]? {
        var types: [DBusType] = []
        while position < bytes.count {
            guard let type = one(arrays: 0, structures: 0) else { return nil }
            types.append(type)
        }
        return types
    }

    private mutating func next() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    private mutating func one(arrays: Int, structures: Int) -> DBusType? {
        guard arrays <= 32, structures <= 32, let code = next() else { return nil }
        switch code {
        case UInt8(ascii: "a"):
            guard position < bytes.count else { return nil }
            if bytes[position] == UInt8(ascii: "{") {
                return dictionary(arrays: arrays + 1, structures: structures)
            }
            return one(arrays: arrays + 1, structures: structures).map { .array($0) }
        case UInt8(ascii: "("):
            return structure(arrays: arrays, structures: structures + 1)
        default:
            return Self.basic[code]
        }
    }

    private mutating func structure(arrays: Int, structures: Int) -> DBusType? {
        var fields: [DBusType] = []
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: ")") {
                position += 1
                return fields.isEmpty ? nil : .structure(fields)
            }
            guard let field = one(arrays: arrays, structures: structures) else { return nil }
            fields.append(field)
        }
        return nil
    }

    private mutating func dictionary(arrays: Int, structures: Int) -> DBusType? {
        position += 1
        guard let key = one(arrays: arrays, structures: structures), key.isBasic,
            let value = one(arrays: arrays, structures: structures),
            next() == UInt8(ascii: "}")
        else { return nil }
        return .dictionary(key: key, value: value)
    }

    private static let basic: [UInt8: DBusType] = [
        UInt8(ascii: "y"): .byte, UInt8(ascii: "b"): .boolean, UInt8(ascii: "n"): .int16,
        UInt8(ascii: "q"): .uint16, UInt8(ascii: "i"): .int32, UInt8(ascii: "u"): .uint32,
        UInt8(ascii: "x"): .int64, UInt8(ascii: "t"): .uint64, UInt8(ascii: "d"): .double,
        UInt8(ascii: "s"): .string, UInt8(ascii: "o"): .objectPath, UInt8(ascii: "g"): .signature,
        UInt8(ascii: "h"): .unixFD, UInt8(ascii: "v"): .variant,
    ]
}
