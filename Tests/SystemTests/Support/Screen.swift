import Foundation
import TestSupport
import Testing

/// A terminal of a given size in which a command runs, kept by a tmux server of its own: what a person would see, and
/// the keys that a person would press.
final class Screen: Sendable {
    private let folder = TemporaryDirectory()
    private let server: Child
    private let environment: [String: String]

    private var socket: String { folder.path + "/tmux" }
    private var exitFile: String { folder.path + "/exit" }

    /// Runs `command` in a terminal of so many columns and rows.
    init(_ command: [String], columns: Int, rows: Int, environment: [String: String]) async throws {
        self.environment = environment
        // In the foreground, so that it ends with the test.
        server = try Child(
            ["tmux", "-u", "-S", folder.path + "/tmux", "-f", "/dev/null", "-D"],
            output: folder.path + "/log",
            errors: folder.path + "/log", environment: environment)
        let deadline = ContinuousClock.now + .seconds(30)
        while try await tmux("set-option", "-g", "default-terminal", "tmux-256color").status != 0 {
            guard ContinuousClock.now < deadline else { throw OutOfTime(description: "tmux did not start") }
            try await Task.sleep(for: .milliseconds(20))
        }
        let variables = environment.merging(["LC_ALL": "C.UTF-8"]) { $1 }.flatMap { ["-e", "\($0)=\($1)"] }
        // The shell outlives a Ctrl-C, which every process of the terminal gets.
        let script = "trap : INT; \"$@\"; echo $? >'\(exitFile).new' && mv '\(exitFile).new' '\(exitFile)'"
        let started = try await tmux(
            ["set-option", "-wg", "remain-on-exit", "on", ";", "new-session", "-d", "-x", "\(columns)", "-y"]
                + ["\(rows)"] + variables + ["sh", "-c", script, "sh"] + command)
        try #require(started.status == 0, "\(started)")
    }

    @discardableResult
    private func tmux(_ arguments: String...) async throws -> Ending { try await tmux(arguments) }

    private func tmux(_ arguments: [String]) async throws -> Ending {
        let folder = TemporaryDirectory()
        let (output, errors) = (folder.path + "/output", folder.path + "/errors")
        let child = try Child(
            ["tmux", "-u", "-S", socket] + arguments, output: output, errors: errors, environment: environment
        )
        let status = await child.waitUntilExit()
        return Ending(
            status: status, output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
    }

    /// What is on the screen, without the empty lines at its end.
    func lines() async throws -> [String] {
        let text = try await tmux("capture-pane", "-p").output
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        return Array(lines.reversed().drop { $0.isEmpty }.reversed())
    }

    /// How many lines have scrolled away.
    func scrolled() async throws -> Int {
        let text = try await tmux("display-message", "-p", "#{history_size}").output
        return Int(text.trimmingCharacters(in: .newlines)) ?? -1
    }

    func resize(columns: Int, rows: Int) async throws {
        try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)")
    }

    /// Presses keys, in tmux's names for them: `y`, `Enter`, `C-c`.
    func press(_ keys: String...) async throws {
        _ = try await tmux(["send-keys"] + keys)
    }

    /// What the command has exited with, as a shell tells it; nil while it runs. tmux itself learns it late, or never.
    func status() throws -> Int? {
        guard FileManager.default.fileExists(atPath: exitFile) else { return nil }
        return Int(try String(contentsOfFile: exitFile, encoding: .utf8).trimmingCharacters(in: .newlines))
    }

    func waitFor(_ text: String) async throws {
        try await wait("the screen shows \(text)") { try await lines().contains { $0.contains(text) } }
    }

    func waitUntilExit() async throws -> Int {
        try await wait("the command has ended") { try status() != nil }
        return try status() ?? -1
    }

    func wait(_ what: String, _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                throw OutOfTime(
                    description: "in vain was waited until \(what); the screen:\n"
                        + (try await lines().joined(separator: "\n")))
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}

extension Laboratory {
    /// Runs a verb in a terminal.
    func terminal(_ arguments: [String], columns: Int = 80, rows: Int = 24) async throws -> Screen {
        try await Screen(
            [Programs.celestiad] + arguments, columns: columns, rows: rows, environment: environment)
    }
}
