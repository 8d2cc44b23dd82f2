package import Foundation

/// Holds what `--json` prints against `docs/schema`. Whatever no schema names is a fault here, at every depth: the schemas
/// themselves leave that open, because programs must bear new keys (docs/json.md).
package enum PrintedJSON {
    /// The schema of what each verb, or each of its actions, prints.
    package static let schemas = [
        "status": "status", "status --watch": "status-line", "devices": "devices", "device": "recorder",
        "sessions": "sessions", "session": "session", "import": "import", "storage": "storage",
        "scan": "scan", "pair": "pair", "login": "account", "account register": "account",
        "account show": "profile", "account edit": "profile", "cloud status": "cloud-status",
        "cloud sessions": "cloud-sessions", "cloud download": "cloud-download", "doctor": "doctor",
        "config show": "config", "config check": "config", "version": "version",
    ]

    /// Which of those a command line belongs to.
    package static func command(_ words: [String]) -> String? {
        guard let verb = words.first else { return nil }
        let detail = words.dropFirst().first { $0 == "--watch" } ?? (words.count > 1 ? words[1] : "")
        return ["\(verb) \(detail)", verb].first { schemas[$0] != nil }
    }

    /// What of the lines that a command printed is not as its schema has it; empty: nothing.
    package static func faults(_ output: String, of words: [String]) -> [String] {
        guard words.contains("--json") else { return [] }
        return output.split(separator: "\n").flatMap { line -> [String] in
            guard let document = try? JSON(String(line)) else { return ["no JSON of ours: \(line)"] }
            let failed = document["type"] == .string("exit_error")
            guard let name = failed ? "exit-error" : command(words).flatMap({ schemas[$0] }) else {
                return ["no schema is named for \(words)"]
            }
            guard let schema = try? Schema(name) else { return ["there is no schema \(name)"] }
            return schema.faults(document)
        }
    }
}

/// JSON as documents have it: no null, no fractions.
package indirect enum JSON: Decodable, Equatable {
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    case array([JSON])
    case object([String: JSON])

    package init(_ text: String) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else if let value = try? container.decode([String: JSON].self) {
            self = .object(value)
        } else {
            self = .integer(try container.decode(Int64.self))
        }
    }

    package var members: [String: JSON] { if case .object(let members) = self { members } else { [:] } }

    package subscript(key: String) -> JSON? {
        get { members[key] }
        set {
            var members = members
            members[key] = newValue
            self = .object(members)
        }
    }

    package var text: String? { if case .string(let text) = self { text } else { nil } }
    package var elements: [JSON] { if case .array(let elements) = self { elements } else { [] } }
}

/// One of `docs/schema`, as far as JSON Schema is used there.
package struct Schema {
    package static let folder = URL(filePath: #filePath).appending(path: "../../../docs/schema").standardized

    private let root: JSON

    package init(_ name: String) throws {
        let file = Self.folder.appending(path: "\(name).json")
        self.init(try JSON(String(contentsOf: file, encoding: .utf8)))
    }

    package init(_ root: JSON) {
        self.root = root
    }

    // MARK: Documents

    /// What of a document is not as the schema has it, with where it is.
    package func faults(_ document: JSON) -> [String] { faults(document, root, "$") }

    private func faults(_ value: JSON, _ given: JSON, _ path: String) -> [String] {
        let schema = resolved(given)
        if let constant = schema["const"], constant != value { return ["\(path) is not \(constant)"] }
        switch (schema["type"]?.text, value) {
        case ("string", .string(let text)):
            let isTime = text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/) != nil
            return schema["format"] == nil || isTime ? [] : ["\(path) is no time"]
        case ("integer", .integer), ("boolean", .boolean): return []
        case ("array", .array(let elements)):
            return elements.enumerated().flatMap {
                faults($1, schema["items"] ?? .object([:]), "\(path)[\($0)]")
            }
        case ("object", .object(let members)):
            let missing = (schema["required"]?.elements ?? []).compactMap(\.text)
                .filter { members[$0] == nil }
            return missing.map { "\(path).\($0) is missing" }
                + members.sorted { $0.key < $1.key }.flatMap { key, value -> [String] in
                    let known = schema["properties"]?[key] ?? schema["additionalProperties"]
                    guard let known else { return ["\(path).\(key) is not in the schema"] }
                    return faults(value, known, "\(path).\(key)")
                }
        default: return ["\(path) is no \(schema["type"]?.text ?? "thing that the schema tells of")"]
        }
    }

    /// What a reference leads to, with what is said beside it.
    private func resolved(_ schema: JSON) -> JSON {
        guard let name = schema["$ref"]?.text?.split(separator: "/").last else { return schema }
        var target = root["$defs"]?[String(name)] ?? .object([:])
        target["properties"] = .object(
            (target["properties"]?.members ?? [:]).merging(schema["properties"]?.members ?? [:]) { $1 })
        target["required"] = .array(
            (target["required"]?.elements ?? []) + (schema["required"]?.elements ?? []))
        return target
    }

    // MARK: The schema itself

    /// Where it says nothing of what may be there: a value of no type, an object of which no key is named, a list of
    /// anything. A map by design says what its values are.
    package var openings: [String] {
        openings(root, "$")
            + (root["$defs"]?.members ?? [:]).sorted { $0.key < $1.key }.flatMap {
                openings($1, "$defs.\($0)")
            }
    }

    private func openings(_ schema: JSON, _ path: String) -> [String] {
        if let reference = schema["$ref"]?.text {
            let name = reference.hasPrefix("#/$defs/") ? String(reference.dropFirst(8)) : ""
            return root["$defs"]?[name] == nil ? ["\(path) leads nowhere"] : []
        }
        switch schema["type"]?.text {
        case "string", "integer", "boolean": return []
        case "array": return schema["items"].map { openings($0, path + "[]") } ?? [path]
        case "object":
            if case .object? = schema["additionalProperties"], let values = schema["additionalProperties"] {
                return openings(values, path + ".*")
            }
            guard schema["additionalProperties"] == nil, let properties = schema["properties"]?.members,
                !properties.isEmpty
            else { return [path] }
            return properties.sorted { $0.key < $1.key }.flatMap { openings($1, "\(path).\($0)") }
        default: return [path]
        }
    }
}
