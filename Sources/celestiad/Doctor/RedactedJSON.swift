import Control
import FoundationEssentials

/// A document as any JSON, to be walked.
indirect enum RedactedJSON: Codable {
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    case array([RedactedJSON])
    case object([String: RedactedJSON])

    /// What is under these keys is somebody's own words.
    private static let personal: Set<String> = [
        "name", "own_name", "title", "username", "email", "phone_number", "avatar_url", "identifier",
        "misfit",
    ]

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode([String: RedactedJSON].self) {
            self = .object(value)
        } else {
            self = .array(try container.decode([RedactedJSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .string(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .boolean(let value): try container.encode(value)
        case .array(let values): try container.encode(values)
        case .object(let values): try container.encode(values)
        }
    }

    /// The document as text on many lines, redacted where a redactor is given.
    static func text(_ document: some Encodable, _ redactor: inout Redactor?) -> String {
        do {
            let plain = try DocumentCoding.json(document, pretty: true)
            guard redactor != nil else { return plain + "\n" }
            let tree = try JSONDecoder().decode(RedactedJSON.self, from: Data(plain.utf8))
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
            return String(decoding: try encoder.encode(tree.redacted(&redactor, key: "")), as: UTF8.self)
                + "\n"
        } catch {
            return "{\"error\":\"the document could not be written\"}\n"
        }
    }

    private func redacted(_ redactor: inout Redactor?, key: String) -> RedactedJSON {
        switch self {
        case .string(let text):
            // An adapter's name is the kernel's.
            if Self.personal.contains(key), !text.hasPrefix("hci") { return .string("<\(key)>") }
            return .string(redactor?.text(text) ?? text)
        case .array(let values): return .array(values.map { $0.redacted(&redactor, key: key) })
        case .object(let values):
            var result: [String: RedactedJSON] = [:]
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                result[key] = value.redacted(&redactor, key: key)
            }
            return .object(result)
        case .integer, .boolean: return self
        }
    }
}
