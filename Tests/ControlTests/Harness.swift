import Control
import DBus
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import celestiad

/// A served stub and a client of it on a bus of their own.
struct Harness {
    let bus: TestBus
    let loop: EventLoop
    let model: StubModel
    let client: ControlClient
    /// A bare connection, for what the typed client does not do.
    let raw: Connection

    static func with(
        access: AccessRule = AccessRule(), _ body: @Sendable (Harness) async throws -> Void
    ) async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let serverConnection = try await Connection.open(bus.address, on: loop)
        let model = StubModel()
        let server = ControlServer(
            connection: serverConnection, model: model, access: access, now: { Fixtures.now })
        try await server.start()
        let harness = Harness(
            bus: bus, loop: loop, model: model,
            client: try await ControlClient.connect(bus.address, on: loop),
            raw: try await Connection.open(bus.address, on: loop))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.serve() }
            do {
                try await body(harness)
            } catch {
                await harness.close(serverConnection)
                throw error
            }
            await harness.close(serverConnection)
        }
    }

    private func close(_ server: Connection) async {
        await client.close()
        await raw.close()
        await server.close()
    }

    func call(
        _ member: String, _ arguments: [DBusValue] = [.properties([:])],
        path: ObjectPath = ControlNames.root, interface: String = ControlNames.manager
    ) async throws(DBusError) -> [DBusValue] {
        try await raw.call(MethodCall(ControlNames.busName, path, interface, member, arguments))
    }

    /// Runs a command line against this bus in this process; `lines` is what the user types. JSON that its schema does not
    /// know is a failure of the test.
    func run(
        _ words: [String], typing lines: [String] = [], terminal: Bool = false,
        environment: [String: String] = [:], write: @escaping @Sendable (String) -> Void = { _ in }
    ) async -> Transcript {
        let output = Locked("")
        let errors = Locked("")
        let console = Console(
            write: { text in
                output.withLock { $0 += text }
                write(text)
            },
            writeError: { text in errors.withLock { $0 += text } },
            input: ScriptedInput(lines), inputIsTerminal: terminal, now: { Fixtures.now })
        let runner = CommandRunner(
            verbs: Program.verbs, console: console,
            environment: ["CELESTIAD_BUS": bus.address].merging(environment) { $1 }, loop: loop)
        let code = await runner.run(words)
        let transcript = Transcript(
            code: code, output: output.withLock { $0 }, errors: errors.withLock { $0 })
        #expect(PrintedJSON.faults(transcript.output, of: words) == [], "\(words)")
        return transcript
    }
}

/// What a command line did.
struct Transcript {
    let code: ExitCode
    let output: String
    let errors: String
}

/// A user who types what he was told to, and then nothing more.
actor ScriptedInput: LineSource {
    private var lines: [String]

    init(_ lines: [String]) {
        self.lines = lines
    }

    /// In place of a line: types nothing until nobody waits for it any more.
    static let waits = "\u{0}"

    func line(echo: Bool) async -> String? {
        let line = lines.isEmpty ? nil : lines.removeFirst()
        guard line == Self.waits else { return line }
        try? await Task.sleep(for: .seconds(3600))
        return nil
    }

    func all(limit: Int) async throws(ControlError) -> [UInt8] {
        defer { lines = [] }
        return Array(lines.joined(separator: "\n").utf8)
    }
}
