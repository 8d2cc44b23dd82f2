import Control
import DBus
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import celestiad

@Suite(.timeLimit(.minutes(5))) struct StatusWatchTests {
    /// A daemon that can be ended and started again.
    private struct Daemon {
        let connection: Connection
        let task: Task<Void, Never>

        static func start(_ bus: TestBus, _ loop: EventLoop, _ model: StubModel) async throws -> Daemon {
            let connection = try await Connection.open(bus.address, on: loop)
            let server = ControlServer(connection: connection, model: model)
            try await server.start()
            return Daemon(connection: connection, task: Task { await server.serve() })
        }

        func end() async {
            await connection.close()
            await task.value
        }
    }

    @Test func itSurvivesARestartOfTheDaemon() async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let first = StubModel()
        let daemon = try await Daemon.start(bus, loop, first)
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let console = Console(
            write: { continuation.yield($0) }, writeError: { _ in }, input: ScriptedInput([]),
            now: { Fixtures.now })
        let runner = CommandRunner(
            verbs: Program.verbs, console: console, environment: ["CELESTIAD_BUS": bus.address], loop: loop)
        let watch = Task { await runner.run(["status", "--watch", "--json"]) }
        var output = lines.makeAsyncIterator()
        await Self.expectLine("status", &output)
        first.changed.yield(.recorders)
        await Self.expectLine("status", &output)
        await daemon.end()
        await Self.expectLine("gone", &output)
        let again = try await Daemon.start(bus, loop, StubModel())
        await Self.expectLine("status", &output)
        watch.cancel()
        await again.end()
        #expect(await watch.value == .interrupted)
    }

    private static func expectLine(_ type: String, _ output: inout AsyncStream<String>.Iterator) async {
        while let line = await output.next(isolation: #isolation) {
            #expect(PrintedJSON.faults(line, of: ["status", "--watch", "--json"]) == [])
            if line.contains("\"type\":\"\(type)\"") { return }
        }
        Issue.record("no line of type \(type)")
    }
}
