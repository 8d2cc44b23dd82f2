import Foundation
import Glibc

/// A program that a test starts, signals and waits for. It cannot outlive the test: a shell holds it and kills it when
/// the pipe from the test closes. What it prints goes to files, so that it never waits for a reader.
final class Child: @unchecked Sendable {
    // Proof for @unchecked: `process` and `tether` are only set here and are closed by whoever comes first.
    private let process = Process()
    private let tether = Pipe()
    /// The program itself, not the shell.
    let pid: pid_t
    /// As a shell tells it: 128 and the signal's number for one that was killed.
    private let status: Task<Int32, Never>

    private static let script = """
        exec 3<&0; out=$1; err=$2; shift 2
        "$@" </dev/null >>"$out" 2>>"$err" 3<&- & child=$!
        echo $child
        { read _ <&3; kill -KILL $child; } >/dev/null 2>&1 & watcher=$!
        wait $child; status=$?
        kill $watcher
        exit $status
        """

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Starts `command` with nothing of the test's own environment but what is no setting of ours, and `environment`.
    init(_ command: [String], output: String, errors: String, environment: [String: String]) throws {
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, "tether", output, errors] + command
        process.environment = Self.neutral.merging(environment) { $1 }
        process.standardInput = tether
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = FileHandle.nullDevice
        let (ends, continuation) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { continuation.yield($0.terminationStatus) }
        status = Task {
            for await status in ends { return status }
            return -1
        }
        try Self.withSignals(process.run)
        let line = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
        guard let pid = pid_t(line.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Failure(description: "\(command) did not start")
        }
        self.pid = pid
    }

    deinit {
        end()
    }

    private static let neutral = ProcessInfo.processInfo.environment.filter { name, _ in
        !["CELESTIAD_", "DBUS_"].contains(where: name.hasPrefix)
            && !["JOURNAL_STREAM", "NOTIFY_SOCKET", "STATE_DIRECTORY", "WATCHDOG_USEC"].contains(name)
    }

    /// Dispatch blocks signals on its threads, and a child inherits that: the shell would never hear of its child's end,
    /// nor the daemon of SIGTERM.
    private static func withSignals(_ body: () throws -> Void) rethrows {
        var (none, before) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        try body()
    }

    func signal(_ number: Int32) {
        Glibc.kill(pid, number)
    }

    /// Kills it if it still runs.
    func end() {
        try? tether.fileHandleForWriting.close()
    }

    /// Kills it when the task is cancelled, so that a test that is out of time ends.
    func waitUntilExit() async -> Int32 {
        await withTaskCancellationHandler {
            await status.value
        } onCancel: {
            end()
        }
    }
}
