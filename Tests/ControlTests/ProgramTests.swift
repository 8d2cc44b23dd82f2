import Control
import Foundation
import Glibc
import TestSupport
import Testing

/// The built program itself, as a user runs it.
@Suite(.timeLimit(.minutes(5))) struct ProgramTests {
    /// Beside the test bundle that this runs from.
    private static var program: URL {
        let bundle =
            ProcessInfo.processInfo.arguments.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        let path = bundle.prefix(upTo: bundle.range(of: ".xctest")?.upperBound ?? bundle.endIndex)
        return URL(filePath: String(path)).deletingLastPathComponent().appending(path: "celestiad")
    }

    private func start(_ words: [String], _ environment: [String: String] = [:]) throws -> (
        Process, Pipe, Pipe
    ) {
        let process = Process()
        process.executableURL = Self.program
        process.arguments = words
        process.environment = environment
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return (process, output, errors)
    }

    private func end(_ process: Process) async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitForEnd()
                continuation.resume(returning: process.terminationStatus)
            }
        }
    }

    @Test func helpGoesToStandardOutput() async throws {
        let (process, output, errors) = try start(["help"])
        #expect(await end(process) == 0)
        #expect(
            try output.fileHandleForReading.readToEnd().map { String(decoding: $0, as: UTF8.self) }?
                .hasPrefix("usage: ") == true)
        #expect(try errors.fileHandleForReading.readToEnd() ?? Data() == Data())
    }

    @Test func aReaderThatHasGoneEndsTheProgram() async throws {
        let process = Process()
        process.executableURL = Self.program
        process.arguments = ["help"]
        let output = Pipe()
        process.standardOutput = output
        try output.fileHandleForReading.close()
        try process.run()
        _ = await end(process)
        #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGPIPE)
    }

    /// What could not be written is no success.
    @Test(arguments: [
        ("\"$0\" help >/dev/full", 1, "could not be written: No space left"),
        ("\"$0\" version --json >&-", 1, "could not be written: Bad file descriptor"),
    ]) func whatIsNotWrittenIsNoSuccess(_ script: String, _ code: Int32, _ says: String) async throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-c", script, Self.program.path]
        let errors = Pipe()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        #expect(await end(process) == code)
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(text.contains(says), "\(text)")
    }

    @Test(
        arguments: [
            (["nonsense"], 2), (["status", "--bus", "unix:path=/nonexistent"], 13),
            (["pair", "--bus", "junk"], 13),
            (["login", "ada", "--bus", "junk"], 13),
        ] as [([String], Int32)])
    func theProcessExitsWithTheCode(_ words: [String], _ code: Int32) async throws {
        let (process, output, errors) = try start(words)
        #expect(await end(process) == code)
        #expect(try output.fileHandleForReading.readToEnd() ?? Data() == Data())
        #expect(try errors.fileHandleForReading.readToEnd()?.isEmpty == false)
    }

    @Test func controlCCancelsAndLeavesNothingRunning() async throws {
        try await Harness.with { harness in
            await harness.model.set(hangs: true)
            var cancellations = harness.model.cancellations.makeAsyncIterator()
            let (process, _, errors) = try start(
                ["pair", "--device", "X"], ["CELESTIAD_BUS": harness.bus.address])
            // The stage comes by the bus, so the job exists.
            let said = await Self.firstLine(of: errors)
            #expect(said == "pairing ...")
            kill(process.processIdentifier, SIGINT)
            #expect(await cancellations.next() == "pair")
            #expect(await end(process) == 130)
        }
    }

    private static func firstLine(of pipe: Pipe) async -> String {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var bytes = Data()
                while !bytes.contains(UInt8(ascii: "\n")) {
                    let more = pipe.fileHandleForReading.availableData
                    guard !more.isEmpty else { break }
                    bytes.append(more)
                }
                continuation.resume(returning: String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self))
            }
        }
    }
}
