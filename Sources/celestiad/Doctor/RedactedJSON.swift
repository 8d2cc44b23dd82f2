import Control
import FoundationEssentials

/// Documents as JSON from which the redactor has taken what is somebody's own.
enum RedactedJSON {
    /// What is under these keys is somebody's own words.
    fileprivate static let personal: Set<String> = [
        "name", "own_name", "title", "username", "email", "phone_number", "avatar_url", "identifier",
        "misfit",
    ]

    /// The document as text on many lines, redacted where a redactor is given.
    static func text(_ document: some Encodable, _ redactor: inout Redactor?) -> String {
        do {
            let plain = try DocumentCoding.json(document, pretty: true)
            guard redactor != nil else { return plain + "\n" }
            let tree = try JSONDecoder().decode(JSONValue.self, from: Data(plain.utf8))
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
            return String(decoding: try encoder.encode(tree.redacted(&redactor, key: "")), as: UTF8.self)
                + "\n"
        } catch {
            return "{\"error\":\"the document could not be written\"}\n"
        }
    }
}

extension JSONValue {
    fileprivate func redacted(_ redactor: inout Redactor?, key: String) -> JSONValue {
        switch self {
        case .string(let text):
            // An adapter's name is the kernel's.
            if RedactedJSON.personal.contains(key), !text.hasPrefix("hci") { return .string("<\(key)>") }
            return .string(redactor?.text(text) ?? text)
        case .array(let values): return .array(values.map { $0.redacted(&redactor, key: key) })
        case .object(let values):
            var result: [String: JSONValue] = [:]
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                result[key] = value.redacted(&redactor, key: key)
            }
            return .object(result)
        case .integer, .boolean: return self
        }
    }
}
