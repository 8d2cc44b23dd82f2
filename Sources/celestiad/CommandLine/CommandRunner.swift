import Control
import EventLoop
import Glibc

/// Runs one command line: parses it, runs the verb until it ends or a signal cancels it, prints the error.
struct CommandRunner {
    let verbs: [Verb]
    let console: Console
    let environment: [String: String]
    let loop: EventLoop
    /// The signals that cancel a verb, once they are asked for.
    var signals: @Sendable () -> AsyncStream<Int32>? = { nil }

    func run(_ words: [String]) async -> ExitCode {
        guard !words.isEmpty else {
            // Whoever asked for nothing has not got it.
            console.writeError(console.encoded(Self.help(nil, verbs, console)))
            return .usage
        }
        do throws(ControlError) {
            switch try ArgumentParser(verbs: verbs).parse(words) {
            case .help(let verb):
                console.print(Self.help(verb, verbs, console))
                return .success
            case .run(let verb, let arguments):
                return await run(verb, arguments)
            }
        } catch {
            console.fail(error)
            if words.contains("--\(Option.json.name)") { try? console.printJSON(ExitErrorDocument(error)) }
            return error.code.exitCode
        }
    }

    static func help(_ verb: Verb?, _ verbs: [Verb], _ console: Console) -> [String] {
        let width = min(console.layout.width, 100)
        return verb.map { HelpText.lines(for: $0, width: width) } ?? HelpText.lines(for: verbs, width: width)
    }

    private func run(_ verb: Verb, _ arguments: Arguments) async -> ExitCode {
        let address = Self.busAddress(arguments, environment)
        let invocation = Invocation(arguments: arguments, console: console, environment: environment) {
            [loop] () throws(ControlError) in
            try await ControlClient.connect(address, on: loop)
        }
        guard !verb.handlesSignals else { return await Self.perform(verb, invocation) }
        let signals = signals()
        // Unstructured, so that the first signal can cancel the verb and still wait for it to clean up.
        let work = Task { await Self.perform(verb, invocation) }
        let watcher = Task { await Self.cancel(work, by: signals) }
        defer { watcher.cancel() }
        return await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
    }

    /// The first signal cancels, the second does not wait any longer.
    private static func cancel(_ work: Task<ExitCode, Never>, by signals: AsyncStream<Int32>?) async {
        guard let signals else { return }
        for await _ in signals {
            if work.isCancelled { exit(ExitCode.interrupted.rawValue) }
            work.cancel()
        }
    }

    private static func perform(_ verb: Verb, _ invocation: Invocation) async -> ExitCode {
        do throws(ControlError) {
            return try await verb.run(invocation)
        } catch {
            let isSaid = !Task.isCancelled || error.code == .cancelled
            let error = isSaid ? error : ControlError(.cancelled, "interrupted")
            invocation.console.fail(error)
            if invocation.wantsJSON { try? invocation.console.printJSON(ExitErrorDocument(error)) }
            return error.code.exitCode
        }
    }

    static func busAddress(_ arguments: Arguments, _ environment: [String: String]) -> String {
        let given = [
            arguments.value("bus"), environment["CELESTIAD_BUS"], environment["DBUS_SYSTEM_BUS_ADDRESS"],
        ]
        return given.compactMap { $0 }.first { !$0.isEmpty } ?? "unix:path=/var/run/dbus/system_bus_socket"
    }
}

/// The last line of JSON of a verb that failed.
struct ExitErrorDocument: Codable {
    let type: String
    let code: Int32
    let reason: String
    let message: String
    let hint: String?

    init(_ error: ControlError) {
        type = "exit_error"
        code = error.code.exitCode.rawValue
        reason = error.code.rawValue
        message = error.message
        hint = error.hint
    }
}
