import Foundation

@testable import Control
@testable import celestiad

/// Learns the JSON Schema of a document by letting its type decode itself: every key that it asks for is a property, and
/// required unless it asks whether it is there.
final class SchemaReader {
    /// The schemas of the types that occur, by name.
    private(set) var definitions: [String: Any] = [:]

    func schema(of type: any Decodable.Type) throws -> [String: Any] {
        try read(type).schema
    }

    /// A value of the type, which `Decodable` wants, and the schema that goes with it.
    fileprivate func read(_ type: any Decodable.Type) throws -> (schema: [String: Any], value: Any) {
        switch type {
        case is String.Type: return (["type": "string"], "")
        case is Bool.Type: return (["type": "boolean"], false)
        case is Date.Type: return (["type": "string", "format": "date-time"], Date())
        case is Int.Type: return (["type": "integer"], 0)
        case is Int32.Type: return (["type": "integer"], Int32(0))
        case is Int64.Type: return (["type": "integer"], Int64(0))
        case is [String: String].Type:
            return (["type": "object", "additionalProperties": ["type": "string"]], [String: String]())
        case let list as any SchemaList.Type: return try list.read(self)
        case is Check.Type: return (["type": "string"], Check.disk)
        case is Finding.State.Type: return (["type": "string"], Finding.State.ok)
        default: break
        }
        let decoder = FieldReader(self)
        let value = try type.init(from: decoder)
        var object: [String: Any] = ["type": "object", "properties": decoder.properties.fields]
        let required = decoder.properties.required.sorted()
        if !required.isEmpty { object["required"] = required }
        let name = String(describing: type)
        definitions[name] = object
        return (["$ref": "#/$defs/\(name)"], value)
    }
}

/// Lists, whatever is in them.
private protocol SchemaList {
    static func read(_ reader: SchemaReader) throws -> (schema: [String: Any], value: Any)
}

extension Array: SchemaList where Element: Decodable {
    fileprivate static func read(_ reader: SchemaReader) throws -> (schema: [String: Any], value: Any) {
        let element = try reader.read(Element.self)
        return (["type": "array", "items": element.schema], [Element]())
    }
}

private final class Properties {
    var fields: [String: Any] = [:]
    var required: Set<String> = []
}

private struct FieldReader: Decoder {
    let reader: SchemaReader
    let properties = Properties()
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(_ reader: SchemaReader) {
        self.reader = reader
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(Fields<Key>(reader: reader, properties: properties))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw unsupported }
    func singleValueContainer() throws -> any SingleValueDecodingContainer { throw unsupported }

    private var unsupported: DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "a document is made of named fields"))
    }
}

private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: SchemaReader
    let properties: Properties
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { [] }

    /// As JSONEncoder makes keys.
    private func name(_ key: Key) -> String {
        var words: [String] = []
        for character in key.stringValue {
            if character.isUppercase || words.isEmpty { words.append("") }
            words[words.count - 1] += character.lowercased()
        }
        return words.joined(separator: "_")
    }

    func contains(_ key: Key) -> Bool { true }

    /// Asked by `decodeIfPresent` only.
    func decodeNil(forKey key: Key) -> Bool {
        properties.required.remove(name(key))
        properties.fields[name(key)] = NSNull()
        return false
    }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        let (schema, value) = try reader.read(type)
        if properties.fields[name(key)] == nil { properties.required.insert(name(key)) }
        properties.fields[name(key)] = schema
        guard let value = value as? Value else {
            throw DecodingError.typeMismatch(type, .init(codingPath: [key], debugDescription: "no value"))
        }
        return value
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedDecodingContainer<Nested> {
        KeyedDecodingContainer(Fields<Nested>(reader: reader, properties: Properties()))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "not used")
    }

    func superDecoder() throws -> any Decoder { FieldReader(reader) }
    func superDecoder(forKey key: Key) throws -> any Decoder { FieldReader(reader) }
}
