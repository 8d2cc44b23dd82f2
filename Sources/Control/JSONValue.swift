import DBus
import FoundationEssentials

/// Any JSON that a document can hold: numbers are whole.
package indirect enum JSONValue: Codable {
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    case array([JSONValue])
    case object([String: JSONValue])

    static let object = DBusType.dictionary(key: .string, value: .variant)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode([String: JSONValue].self) {
            self = .object(value)
        } else {
            self = .array(try container.decode([JSONValue].self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let values): try container.encode(values)
        }
    }

    /// Arrays of one type become arrays of it (`as`, `aa{sv}`), the empty one and mixed ones `av`.
    var dbus: DBusValue {
        switch self {
        // NUL is JSON but not D-Bus; the bus would refuse the whole document for it.
        case .string(let value): .string(value.replacing("\0", with: "\u{FFFD}"))
        case .integer(let value): .int64(value)
        case .boolean(let value): .boolean(value)
        case .object(let values): .properties(values.mapValues(\.dbus))
        case .array(let values):
            Self.array(values.map(\.dbus))
        }
    }

    private static func array(_ values: [DBusValue]) -> DBusValue {
        guard let type = values.first?.type, values.allSatisfy({ $0.type == type }) else {
            return .array(of: .variant, values.map { .variant($0) })
        }
        return .array(of: type, values)
    }

    /// Nil for what has no place in a document: descriptors, structures, fractions.
    init?(_ value: DBusValue) {
        switch value.unwrapped {
        case .string(let text), .signature(let text): self = .string(text)
        case .objectPath(let path): self = .string(path.text)
        case .boolean(let value): self = .boolean(value)
        case .array(_, let values):
            let members = values.compactMap(JSONValue.init)
            guard members.count == values.count else { return nil }
            self = .array(members)
        case .dictionary:
            guard let entries = value.asProperties else { return nil }
            let members = entries.compactMapValues(JSONValue.init)
            guard members.count == entries.count else { return nil }
            self = .object(members)
        case let number:
            guard let integer = number.asInt64 else { return nil }
            self = .integer(integer)
        }
    }
}
