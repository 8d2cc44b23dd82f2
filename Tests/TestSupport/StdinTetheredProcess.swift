import Foundation

/// A child process that cannot outlive the test: a shell holds it and ends it when the pipe from the test closes.
package final class StdinTetheredProcess: @unchecked Sendable {
    // Proof for @unchecked: `process` and the pipes are only set here; `readLine` is called by one task at a time.
    private let process = Process()
    private let tether = Pipe()
    private let output = Pipe()
    private var buffered = Data()

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package init(_ command: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments =
            ["-c", "\"$@\" </dev/null & child=$!; read _; kill -KILL $child", "tether"] + command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = tether
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
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

    package func kill() {
        try? tether.fileHandleForWriting.close()
        process.waitForEnd()
    }
}
