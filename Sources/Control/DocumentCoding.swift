package import DBus
import FoundationEssentials

/// Documents as JSON and as the `a{sv}` that stands for the same JSON on the bus. One style: keys in snake case, times
/// as RFC 3339 in UTC with milliseconds, sorted keys, absent instead of null.
package enum DocumentCoding {
    /// A document as JSON text in one line, or on many for people.
    package static func json(_ document: some Encodable, pretty: Bool = false) throws(ControlError) -> String
    {
        String(decoding: try data(document, pretty: pretty), as: UTF8.self)
    }

    /// A document as an `a{sv}`.
    package static func value(_ document: some Encodable) throws(ControlError) -> DBusValue {
        do {
            return try JSONDecoder().decode(JSONValue.self, from: try data(document, pretty: false)).dbus
        } catch {
            throw unreadable(error)
        }
    }

    /// Documents as an `aa{sv}`.
    package static func values(_ documents: [some Encodable]) throws(ControlError) -> DBusValue {
        var values: [DBusValue] = []
        for document in documents { values.append(try value(document)) }
        return .array(of: JSONValue.object, values)
    }

    /// The document in an `a{sv}`. Throws `failed` when it is not as this program knows it.
    package static func document<Document: Decodable>(
        _ type: Document.Type = Document.self, from value: DBusValue
    ) throws(ControlError) -> Document {
        guard let json = JSONValue(value) else { throw malformed("a type that no document has") }
        do {
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            decoder.dateDecodingStrategy = .custom { try time(from: $0) }
            return try decoder.decode(type, from: try JSONEncoder().encode(json))
        } catch {
            throw unreadable(error)
        }
    }

    private static func data(_ document: some Encodable, pretty: Bool) throws(ControlError) -> Data {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.dateEncodingStrategy = .custom { try encode($0, to: $1) }
        encoder.outputFormatting =
            pretty
            ? [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted] : [.sortedKeys, .withoutEscapingSlashes]
        do {
            return try encoder.encode(document)
        } catch {
            throw unreadable(error)
        }
    }

    /// With milliseconds unless there are none: what came before and what after must not look like the same.
    private static func encode(_ time: Date, to encoder: any Encoder) throws {
        let milliseconds = (time.timeIntervalSince1970 * 1000).rounded()
        let style = Date.ISO8601FormatStyle(
            includingFractionalSeconds: milliseconds.truncatingRemainder(dividingBy: 1000) != 0)
        var container = encoder.singleValueContainer()
        try container.encode(style.format(Date(timeIntervalSince1970: milliseconds / 1000)))
    }

    private static func time(from decoder: any Decoder) throws -> Date {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
        guard let time = try? style.parse(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a time")
        }
        return time
    }

    private static func unreadable(_ error: any Error) -> ControlError {
        guard let error = error as? DecodingError else { return malformed("\(error)") }
        switch error {
        case .keyNotFound(let key, _): return malformed("\(key.stringValue) is missing")
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return malformed("\(path) is not as it should be")
        @unknown default: return malformed("it cannot be read")
        }
    }

    private static func malformed(_ what: String) -> ControlError {
        ControlError(
            .failed, "a document is malformed: \(what)", hint: "are celestiad and the daemon of one version?")
    }
}
