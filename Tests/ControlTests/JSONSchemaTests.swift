import Control
import Foundation
import TestSupport
import Testing

@testable import celestiad

/// `docs/schema`: what `--json` prints, for programs that check it. Written by `CELESTIAD_WRITE_SCHEMAS=1 ./test
/// --filter=JSONSchemaTests`.
@Suite(.timeLimit(.minutes(5))) struct JSONSchemaTests {
    private static let folder = URL(filePath: #filePath).appending(path: "../../../docs/schema").standardized

    private static let documents: [(name: String, type: any (Decodable & Sendable).Type)] = [
        ("account", AccountDocument.self), ("cloud-download", CloudDownloadReport.self),
        ("cloud-sessions", CloudSessionPage.self), ("cloud-status", CloudStatusDocument.self),
        ("config", SettingsDocument.self), ("devices", RecorderListDocument.self),
        ("doctor", DoctorDocument.self), ("exit-error", ExitErrorDocument.self),
        ("import", ImportReport.self), ("job", JobDocument.self), ("pair", PairResultDocument.self),
        ("profile", ProfileDocument.self), ("recorder", RecorderDocument.self), ("scan", ScanDocument.self),
        ("session", SessionDocument.self), ("sessions", SessionPage.self), ("status", StatusDocument.self),
        ("status-line", StatusLineDocument.self), ("storage", StorageReportDocument.self),
        ("version", VersionsDocument.self),
    ]

    private static func schema(_ name: String, _ type: any Decodable.Type) throws -> String {
        let reader = SchemaReader()
        var schema = try reader.schema(of: type)
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        schema["title"] = "celestiad \(name), schema_version \(StatusDocument.currentSchemaVersion)"
        schema["$defs"] = reader.definitions
        let data = try JSONSerialization.data(
            withJSONObject: schema, options: [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    /// A change of a document is a change of its schema, and shows in the review.
    @Test(arguments: documents.map(\.name)) func theSchemasAreThoseOfTheDocuments(_ name: String) throws {
        let type = try #require(Self.documents.first { $0.name == name }?.type)
        let file = Self.folder.appending(path: "\(name).json")
        let schema = try Self.schema(name, type)
        if ProcessInfo.processInfo.environment["CELESTIAD_WRITE_SCHEMAS"] != nil {
            try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
            try Data(schema.utf8).write(to: file)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == schema, "\(name)")
    }

    @Test func noOtherFileIsThere() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
        #expect(files == Self.documents.map { "\($0.name).json" }.sorted())
    }

    /// What the verbs print, by the schema that it follows.
    private static let lines: [(words: [String], schema: String)] = [
        (["status", "--json"], "status"), (["devices", "--json"], "devices"),
        (["device", "CR1-0042", "--json"], "recorder"), (["sessions", "--json"], "sessions"),
        (["session", "1b9d6bcd", "--json"], "session"), (["storage", "--json"], "storage"),
        (["scan", "--wait", "1", "--json"], "scan"), (["version", "--json"], "version"),
        (["cloud", "status", "--json"], "cloud-status"), (["cloud", "sessions", "--json"], "cloud-sessions"),
        (["account", "show", "--json"], "profile"), (["config", "show", "--json"], "config"),
        (["session", "pause", "1b9d6bcd", "--json"], "session"),
        (["device", "bind", "CR1-0042", "--json"], "recorder"), (["device", "none", "--json"], "exit-error"),
        (["doctor", "--json"], "doctor"),
    ]

    @Test func whatIsPrintedFollowsTheSchemas() async throws {
        let folder = TemporaryDirectory()
        try await Harness.with { harness in
            for (index, (words, schema)) in Self.lines.enumerated() {
                let run = await harness.run(words)
                #expect(run.output.hasPrefix("{"), "\(words): \(run)")
                try Data(run.output.utf8).write(
                    to: URL(filePath: "\(folder.path)/\(index)-\(words[0]).\(schema)"))
            }
        }
        let script = """
            import json, pathlib, sys, jsonschema
            schemas, outputs = map(pathlib.Path, sys.argv[1:])
            faults = 0
            for output in sorted(outputs.iterdir()):
                schema = json.loads((schemas / f"{output.suffix[1:]}.json").read_text())
                jsonschema.Draft202012Validator.check_schema(schema)
                document = json.loads(output.read_text())
                if document.get("schema_version") != 1: print(output.name, "has no schema_version"); faults += 1
                for error in jsonschema.Draft202012Validator(schema).iter_errors(document):
                    print(output.name, error.json_path, error.message); faults += 1
                # What no schema knows is new, or misspelt.
                known = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]["properties"]
                for key in document.keys() - known.keys() - {"schema_version"}:
                    print(output.name, "has", key, "which the schema does not know"); faults += 1
            print(len(list(outputs.iterdir())), "checked,", faults, "faults")
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, Self.folder.path, folder.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(
            decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text == "\(Self.lines.count) checked, 0 faults\n")
    }
}
