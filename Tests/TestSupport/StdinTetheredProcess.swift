import Foundation
import Glibc

/// A child process that cannot outlive the test: a shell holds it and ends it when the pipe from the test closes.
package final class StdinTetheredProcess: @unchecked Sendable {
    // Proof for @unchecked: `process` and the pipes are only set here; `readLine` is called by one task at a time.
    private let process = Process()
    private let tether = Pipe()
    private let output = Pipe()
    private var buffered = Data()
    private var child: pid_t = 0

    private static let starting = NSLock()

    /// The inner shell tells the pid that it hands to the command before the command can print anything.
    private static let script = """
        sh -c 'echo $$; exec "$@"' inner "$@" </dev/null & child=$!; read _; kill -KILL $child
        """

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package init(_ command: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", Self.script, "tether"] + command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = tether
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        // Otherwise a child that is started at the same time would hold the tether too.
        for end in [tether.fileHandleForReading, tether.fileHandleForWriting] {
            _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
        }
        // Foundation's own start of a process does not bear another one at the same time.
        try Self.starting.withLock { try process.run() }
        child = pid_t(try readLine()) ?? 0
    }

    deinit {
        kill()
    }

    /// The next line that the child prints. Throws when it ends without one.
    package func readLine() throws -> String {
        while true {
            if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: buffered[..<end], as: UTF8.self)
                buffered = Data(buffered[(end + 1)...])
                return line
            }
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw Failure(description: "\(process.arguments ?? []) ended without output")
            }
            buffered.append(more)
        }
    }

    /// Ends it, and returns the lines that it has printed and nobody has read.
    package func killReadingRest() -> [String] {
        guard process.isRunning else { return [] }
        kill()
        buffered.append(output.fileHandleForReading.readDataToEndOfFile())
        defer { buffered = Data() }
        return String(decoding: buffered, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    package func kill() {
        try? tether.fileHandleForWriting.close()
        guard process.isRunning else { return }
        if child > 0 { Glibc.kill(child, SIGKILL) }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitForEnd()
    }
}
