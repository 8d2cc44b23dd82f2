import DBus
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Control
@testable import celestiad

/// `docs/schema`: what `--json` prints, for programs that check it. Written by `CELESTIAD_WRITE_SCHEMAS=1 ./test
/// --filter=JSONSchemaTests`.
@Suite(.timeLimit(.minutes(5))) struct JSONSchemaTests {
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

    /// What the bus alone has, where a caller that knows the method knows the version.
    private static let neverPrinted = ["job"]

    private static func schema(_ name: String, _ type: any Decodable.Type) throws -> String {
        let reader = SchemaReader()
        var schema = try reader.schema(of: type)
        schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        let version = StatusDocument.currentSchemaVersion
        schema["title"] = "celestiad \(name), schema_version \(version)"
        schema["$defs"] = reader.definitions
        if !neverPrinted.contains(name) {
            schema["properties"] = ["schema_version": ["type": "integer", "const": version] as [String: Any]]
            schema["required"] = ["schema_version"]
        }
        let data = try JSONSerialization.data(
            withJSONObject: schema, options: [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes])
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    /// A change of a document is a change of its schema, and shows in the review.
    @Test(arguments: documents.map(\.name)) func theSchemasAreThoseOfTheDocuments(_ name: String) throws {
        let type = try #require(Self.documents.first { $0.name == name }?.type)
        let file = Schema.folder.appending(path: "\(name).json")
        let schema = try Self.schema(name, type)
        if ProcessInfo.processInfo.environment["CELESTIAD_WRITE_SCHEMAS"] != nil {
            try FileManager.default.createDirectory(at: Schema.folder, withIntermediateDirectories: true)
            try Data(schema.utf8).write(to: file)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == schema, "\(name)")
    }

    @Test func noOtherFileIsThere() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Schema.folder.path).sorted()
        #expect(files == Self.documents.map { "\($0.name).json" }.sorted())
    }

    @Test(arguments: documents.map(\.name)) func noObjectIsOpen(_ name: String) throws {
        #expect(try Schema(name).openings.isEmpty)
    }

    // MARK: What is printed

    /// A command line, and what is typed to it.
    private struct Printing {
        var words: [String]
        var typing: [String] = []

        init(_ words: String..., typing: [String] = []) {
            self.words = words + ["--json"]
            self.typing = typing
        }
    }

    /// One at least of every command that prints a document; whatever else it prints elsewhere is held against the same
    /// schema by `Harness` and `Laboratory`.
    private static func printings(_ folder: String) -> [Printing] {
        [
            Printing("status"), Printing("devices"), Printing("device", "CR1-0042"),
            Printing("device", "bind", "CR1-0042"), Printing("device", "none"), Printing("sessions"),
            Printing("session", "1b9d6bcd"), Printing("session", "pause", "1b9d6bcd"), Printing("storage"),
            Printing("import", folder + "/new.wav", folder + "/none.wav"),
            Printing("scan", "--wait", "1"), Printing("pair", "--device", "X", "--yes"),
            Printing("login", "ada", "--password-file", "-", typing: ["secret"]),
            Printing("account", "register", "ada", "a@b.c", "--password-file", "-", typing: ["long secret"]),
            Printing("account", "show"), Printing("account", "edit", "--email", "a@b.c"),
            Printing("cloud", "status"), Printing("cloud", "sessions"),
            Printing("cloud", "download", "54a6023b", "--to", folder + "/down"), Printing("doctor"),
            Printing("config", "show"), Printing("config", "check"), Printing("version"),
        ]
    }

    /// Every schema has met what the program prints, or answers on the bus, and so has every kind of object in them.
    @Test func whatIsPrintedFollowsTheSchemas() async throws {
        let inputs = TemporaryDirectory()
        try Data("sound".utf8).write(to: URL(filePath: inputs.path + "/new.wav"))
        let printings = Self.printings(inputs.path)
        let printed = Locked<[(schema: String, text: String)]>([])
        try await Harness.with { harness in
            await harness.model.fillUp()
            for printing in printings {
                let run = await harness.run(printing.words, typing: printing.typing)
                let isError = run.output.contains("\"type\":\"exit_error\"")
                #expect(isError == (printing.words[1] == "none"), "\(printing.words): \(run)")
                let schema = PrintedJSON.command(printing.words).flatMap { PrintedJSON.schemas[$0] } ?? ""
                printed.withLock { $0.append((isError ? "exit-error" : schema, run.output)) }
            }
            let line = await harness.firstLine(["status", "--watch", "--json"])
            printed.withLock { $0.append(("status-line", line)) }
            for job in try await harness.jobs() { printed.withLock { $0.append(("job", job)) } }
        }
        let outputs = printed.withLock { $0 }
        #expect(Set(outputs.map(\.schema)) == Set(Self.documents.map(\.name)))
        #expect(
            Set(printings.compactMap { PrintedJSON.command($0.words) } + ["status --watch"])
                == Set(PrintedJSON.schemas.keys))
        let judgement = try Self.judgement(of: outputs)
        #expect(judgement == "\(outputs.count) checked, 0 faults\nnot met:\n")
    }

    /// A verb that prints JSON has a schema, or prints none of its own.
    @Test func everyVerbThatPrintsJSONHasASchema() {
        let commands = PrintedJSON.schemas.keys.map { $0.prefix { $0 != " " } }
        let verbs = Program.verbs.filter { $0.options.contains(.json) }.map(\.name)
        #expect(Set(verbs) == Set(commands.map(String.init)))
    }

    /// By a validator that is not ours, with every object closed.
    private static func judgement(of outputs: [(schema: String, text: String)]) throws -> String {
        let folder = TemporaryDirectory()
        for (index, output) in outputs.enumerated() {
            try Data(output.text.utf8).write(to: URL(filePath: "\(folder.path)/\(index).\(output.schema)"))
        }
        let script = """
            import json, pathlib, sys, jsonschema
            schemas, outputs = map(pathlib.Path, sys.argv[1:])
            def closed(schema):
                if isinstance(schema, list): return [closed(each) for each in schema]
                if not isinstance(schema, dict): return schema
                schema = {key: closed(value) for key, value in schema.items()}
                if schema.get("type") == "object" and "properties" in schema:
                    schema["additionalProperties"] = False
                return schema
            met, known = set(), set()
            def meet(value, schema, definitions, name):
                if "$ref" in schema:
                    name = schema["$ref"].rsplit("/", 1)[1]
                    schema = definitions[name]
                if isinstance(value, list):
                    for each in value: meet(each, schema["items"], definitions, name)
                if not isinstance(value, dict): return
                met.add(name)
                for key, each in value.items():
                    if key in schema.get("properties", {}):
                        meet(each, schema["properties"][key], definitions, name)
            faults = 0
            for output in sorted(outputs.iterdir()):
                schema = json.loads((schemas / f"{output.suffix[1:]}.json").read_text())
                jsonschema.Draft202012Validator.check_schema(schema)
                # As it is published, and with its root as one object that can be closed.
                root = schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]
                whole = {"$defs": schema["$defs"], "type": "object",
                    "properties": root["properties"] | schema.get("properties", {}),
                    "required": root.get("required", []) + schema.get("required", [])}
                document = json.loads(output.read_text())
                known |= schema["$defs"].keys()
                meet(document, {"$ref": schema["$ref"]}, schema["$defs"], "")
                for each in (schema, closed(whole)):
                    for error in jsonschema.Draft202012Validator(each).iter_errors(document):
                        print(output.name, error.json_path, error.message); faults += 1
            print(len(list(outputs.iterdir())), "checked,", faults, "faults")
            print("not met:", *sorted(known - met))
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", script, Schema.folder.path, folder.path]
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }

    // MARK: The validator

    private static let sample = """
        {"schema_version":1,"recorders":[{"id":"CR1-0042","link":{"state":"idle","since":"2026-11-30T12:00:00Z"}}]}
        """

    /// Each a change of a document that is right, and where the fault is.
    @Test(arguments: [
        ("\"schema_version\":1,", "", "$.schema_version is missing"),
        ("\"schema_version\":1", "\"schema_version\":2", "$.schema_version is not integer(1)"),
        ("\"id\":\"CR1-0042\",", "", "$.recorders[0].id is missing"),
        ("\"CR1-0042\"", "42", "$.recorders[0].id is no string"),
        (
            "\"state\":\"idle\"", "\"state\":\"idle\",\"stat\":1",
            "$.recorders[0].link.stat is not in the schema"
        ),
        ("\"recorders\"", "\"new\":1,\"recorders\"", "$.new is not in the schema"),
        ("2026-11-30T12:00:00Z", "yesterday", "$.recorders[0].link.since is no time"),
        ("\"CR1-0042\"", "null", "no JSON of ours"), (":1,", ":1.5,", "no JSON of ours"),
    ]) func aFaultIsFound(_ old: String, _ new: String, _ fault: String) {
        let words = ["devices", "--json"]
        #expect(PrintedJSON.faults(Self.sample, of: words).isEmpty)
        let faults = PrintedJSON.faults(Self.sample.replacingOccurrences(of: old, with: new), of: words)
        #expect(faults.count == 1 && faults.first?.hasPrefix(fault) == true, "\(faults)")
    }

    @Test(arguments: [
        ("{}", ["$"]), (#"{"type":"object"}"#, ["$"]), (#"{"type":"array"}"#, ["$"]),
        (#"{"type":"object","properties":{"a":{}}}"#, ["$.a"]),
        (#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}"#, ["$"]),
        (#"{"type":"object","additionalProperties":{"type":"object"}}"#, ["$.*"]),
        (#"{"type":"object","additionalProperties":{"type":"string"}}"#, []),
        (##"{"$ref":"#/$defs/A","$defs":{"A":{"type":"array","items":{"type":"object"}}}}"##, ["$defs.A[]"]),
        (##"{"$ref":"#/$defs/B","$defs":{}}"##, ["$ leads nowhere"]),
    ]) func anOpenObjectIsFound(_ schema: String, _ openings: [String]) throws {
        #expect(Schema(try JSON(schema)).openings == openings)
    }

    /// A field that is printed and has lost its schema.
    @Test func aFieldWithoutASchemaIsFound() throws {
        let file = try String(contentsOf: Schema.folder.appending(path: "devices.json"), encoding: .utf8)
        var schema = try JSON(file)
        schema["$defs"]?["LinkDocument"]?["properties"]?["since"] = nil
        #expect(
            Schema(schema).faults(try JSON(Self.sample)) == [
                "$.recorders[0].link.since is not in the schema"
            ])
    }
}

extension StubModel {
    /// Objects that all is well without.
    fileprivate func fillUp() {
        let hold = HoldDocument(reason: "quota", clearedBy: "free storage", since: Fixtures.now)
        statusDocument.queue.holds = [hold]
        statusDocument.queue.waits = [WaitDocument(cause: "quota", sessions: 1, text: "the account is full")]
        var session = Fixtures.session
        session.holds = [hold]
        session.provenance = [ProvenanceStepDocument(step: "pulled", details: ["by": "celestiad"])]
        session.origin = OriginDocument(
            originDeviceId: "d", appSurface: "celestiad", imageProvenance: ["equipment": "R1"],
            captureStartedAt: "2026-11-30", idempotencyScope: "s")
        sessionDocuments = [session]
        storageDocument.refused = [RefusedFileDocument(path: "/x", reason: "no sound", since: Fixtures.now)]
    }
}

extension Harness {
    /// What a command that goes on prints first.
    fileprivate func firstLine(_ words: [String]) async -> String {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let running = Task { await run(words) { continuation.yield($0) } }
        var first: String?
        for await line in lines where first == nil {
            first = line
            break
        }
        running.cancel()
        _ = await running.value
        return first ?? ""
    }

    /// Jobs as the bus has them: at work, at a question, done and failed.
    fileprivate func jobs() async throws -> [String] {
        var documents: [String] = []
        func note(_ path: ObjectPath, until condition: (JobDocument) -> Bool) async throws -> JobDocument {
            let job = try await describe(path, until: condition)
            let reply = try await call("Describe", path: path, interface: ControlNames.job)
            let value = try #require(reply.first.flatMap(JSONValue.init))
            documents.append(String(decoding: try JSONEncoder().encode(value), as: UTF8.self))
            return job
        }
        await model.set(questions: [.confirm(passkey: 42)])
        for accepts in [true, false] {
            let pairing = try await call("Pair", [.string("X"), .properties([:])])
            let path = try #require(pairing.first?.asObjectPath)
            let asking = try await note(path) { $0.prompt != nil }
            let serial = UInt32(asking.prompt?.serial ?? 0)
            _ = try await call(
                "Respond", [.uint32(serial), .boolean(accepts), .string(""), .properties([:])], path: path,
                interface: ControlNames.job)
            let end = try await note(path) { $0.state != "running" }
            #expect((end.pairing != nil) == accepts && (end.error != nil) == !accepts)
        }
        let scanning = try await call("Scan", [.uint32(1), .properties([:])])
        let scan = try await note(try #require(scanning.first?.asObjectPath)) { $0.state != "running" }
        #expect(!scan.found.isEmpty)
        return documents
    }
}
