/// A value of the D-Bus type system.
package indirect enum DBusValue: Sendable, Hashable {
    case byte(UInt8)
    case boolean(Bool)
    case int16(Int16)
    case uint16(UInt16)
    case int32(Int32)
    case uint32(UInt32)
    case int64(Int64)
    case uint64(UInt64)
    case double(Double)
    case string(String)
    case objectPath(ObjectPath)
    case signature(String)
    case unixFD(SharedFD)
    case variant(DBusValue)
    /// An array of bytes (`ay`), kept apart because GATT values are many and long.
    case bytes([UInt8])
    case array(of: DBusType, [DBusValue])
    case structure([DBusValue])
    case dictionary(key: DBusType, value: DBusType, [DBusValue: DBusValue])

    /// The value's type; nil for a structure without fields, which the wire cannot carry.
    package var type: DBusType? {
        switch self {
        case .byte: .byte
        case .boolean: .boolean
        case .int16: .int16
        case .uint16: .uint16
        case .int32: .int32
        case .uint32: .uint32
        case .int64: .int64
        case .uint64: .uint64
        case .double: .double
        case .string: .string
        case .objectPath: .objectPath
        case .signature: .signature
        case .unixFD: .unixFD
        case .variant: .variant
        case .bytes: .array(.byte)
        case .array(let element, _): .array(element)
        case .dictionary(let key, let value, _): .dictionary(key: key, value: value)
        case .structure(let fields):
            fields.isEmpty || fields.contains { $0.type == nil } ? nil : .structure(fields.compactMap(\.type))
        }
    }

    /// An `a{sv}` of these entries.
    package static func properties(_ entries: [String: DBusValue]) -> DBusValue {
        var values: [DBusValue: DBusValue] = [:]
        for (key, value) in entries { values[.string(key)] = .variant(value) }
        return .dictionary(key: .string, value: .variant, values)
    }

    /// An `as` of these strings.
    package static func strings(_ strings: [String]) -> DBusValue {
        .array(of: .string, strings.map { .string($0) })
    }
}

// MARK: - Reading a value as what it should be

extension DBusValue {
    /// The value inside any variants around it.
    package var unwrapped: DBusValue {
        if case .variant(let inner) = self { inner.unwrapped } else { self }
    }

    package var asString: String? {
        if case .string(let value) = unwrapped { value } else { nil }
    }

    package var asObjectPath: ObjectPath? {
        if case .objectPath(let value) = unwrapped { value } else { nil }
    }

    package var asBool: Bool? {
        if case .boolean(let value) = unwrapped { value } else { nil }
    }

    package var asDouble: Double? {
        if case .double(let value) = unwrapped { value } else { nil }
    }

    package var asFD: SharedFD? {
        if case .unixFD(let value) = unwrapped { value } else { nil }
    }

    /// Any integer type, when it fits.
    package var asInt64: Int64? {
        switch unwrapped {
        case .byte(let value): Int64(value)
        case .int16(let value): Int64(value)
        case .uint16(let value): Int64(value)
        case .int32(let value): Int64(value)
        case .uint32(let value): Int64(value)
        case .int64(let value): value
        case .uint64(let value): Int64(exactly: value)
        default: nil
        }
    }

    package var asUInt16: UInt16? { asInt64.flatMap { UInt16(exactly: $0) } }
    package var asUInt32: UInt32? { asInt64.flatMap { UInt32(exactly: $0) } }
    package var asInt16: Int16? { asInt64.flatMap { Int16(exactly: $0) } }

    /// The bytes of an `ay`.
    package var asBytes: [UInt8]? {
        if case .bytes(let value) = unwrapped { value } else { nil }
    }

    package var asArray: [DBusValue]? {
        if case .array(_, let values) = unwrapped { values } else { nil }
    }

    package var asStrings: [String]? {
        guard let values = asArray else { return nil }
        let strings = values.compactMap(\.asString)
        return strings.count == values.count ? strings : nil
    }

    /// The entries of a dictionary keyed by string, values out of their variants.
    package var asProperties: [String: DBusValue]? {
        guard case .dictionary(.string, _, let entries) = unwrapped else { return nil }
        var properties: [String: DBusValue] = [:]
        for (key, value) in entries {
            guard let key = key.asString else { return nil }
            properties[key] = value.unwrapped
        }
        return properties
    }

    /// The entries of a dictionary of any key type.
    package var asDictionary: [DBusValue: DBusValue]? {
        if case .dictionary(_, _, let entries) = unwrapped { entries } else { nil }
    }
}
