import Foundation
import TestSupport
import Testing

extension SystemTests {
    /// What comes of the Tab key in a real shell on a terminal: the program is called with what the shell made of it.
    @Suite struct CompletionTests {
        /// What is typed (`Tab` is the key), and what celestiad is called with; a shell may choose between --name=value and two
        /// words, and whether a folder ends with a slash.
        private static let typed: [([String], [String])] = [
            (["celestiad stat", "Tab"], ["status"]),
            (["celestiad status --js", "Tab"], ["status", "--json"]),
            (["celestiad --bus unix:path=/x logo", "Tab"], ["--bus", "unix:path=/x", "logout"]),
            (["celestiad pair --dev", "Tab", "C0", "Tab"], ["pair", "--device", "C0:FF:EE:00:00:42"]),
            (["celestiad pair --device C0:FF:E", "Tab"], ["pair", "--device", "C0:FF:EE:00:00:42"]),
            (["celestiad pair --passkey-file pass", "Tab"], ["pair", "--passkey-file", "pass key"]),
            (["celestiad pair --passkey-file=pass", "Tab"], ["pair", "--passkey-file", "pass key"]),
            (
                ["celestiad login ada --password-f", "Tab", "pass", "Tab"],
                ["login", "ada", "--password-file", "pass key"]
            ),
            (["celestiad import pass", "Tab", "pass", "Tab"], ["import", "pass key", "pass key"]),
            (
                ["celestiad session exp", "Tab", "1b", "Tab", "fold", "Tab"],
                ["session", "export", "1b9d6bcd", "folder"]
            ),
            (
                ["celestiad device ren", "Tab", "CR1", "Tab", "CR1", "Tab"],
                ["device", "rename", "CR1-0042", "CR1"]
            ),
            (["celestiad help devices", "Tab"], ["help", "devices"]),
        ]
        /// A recorder says itself what its serial number is.
        private static let hostile = #"x$(touch pwned)`touch pwned`;touch pwned #"' \u!!*~"#

        @Test(arguments: ["bash", "zsh", "fish"]) func tabCompletes(_ name: String) async throws {
            let shell = try await Shell(name)
            for (keys, arguments) in Self.typed {
                let said = try await shell.type(keys)
                #expect(said == arguments, "\(keys)")
            }
        }

        @Test(arguments: ["bash", "zsh", "fish"]) func whatIsOfferedIsNotEvaluated(_ name: String)
            async throws
        {
            let shell = try await Shell(name)
            try shell.answer("devices", Self.hostile)
            #expect(try await shell.type(["celestiad forget ", "Tab"]) == ["forget", Self.hostile])
            #expect(try await shell.type(["celestiad sync x", "Tab"]) == ["sync", Self.hostile])
            #expect(!shell.hasFile("pwned"))
        }

        @Test func addressesInReachAreOffered() async throws {
            try await Laboratory.run(try Captures("first", ["one.wav": 20_001])) { lab in
                let screen = try await lab.terminal(["scan", "--wait", "60"])
                try await screen.waitFor(Laboratory.address())
                let found = try await lab.cli("completions", "nearby")
                #expect(found.status == 0 && found.output == Laboratory.address() + "\n", "\(found)")
                try await screen.press("C-c")
                try await lab.pair()
                #expect(try await lab.cli("completions", "nearby").output == Laboratory.address() + "\n")
            }
        }
    }
}

/// A shell on a terminal that has celestiad's completions, and a stand-in for celestiad.
private struct Shell {
    private let home = TemporaryDirectory()
    private let screen: Screen

    init(_ name: String) async throws {
        try Data(Self.program.utf8).write(to: URL(fileURLWithPath: home.path + "/celestiad"))
        chmod(home.path + "/celestiad", 0o755)
        try FileManager.default.createDirectory(
            atPath: home.path + "/folder", withIntermediateDirectories: true)
        let completions = try await Laboratory.celestiad(["completions", name], [:]).output
        for (file, text) in Self.files(completions) {
            let url = URL(fileURLWithPath: home.path + "/" + file)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: url)
        }
        let commands = [
            "bash": ["bash", "--noprofile", "--rcfile", home.path + "/bashrc", "-i"],
            "zsh": ["zsh", "-o", "NO_GLOBAL_RCS", "-i"], "fish": ["fish", "-i"],
        ]
        screen = try await Screen(
            ["env", "-C", home.path] + (commands[name] ?? []), columns: 150, rows: 30,
            environment: [
                "HOME": home.path, "ZDOTDIR": home.path, "XDG_CONFIG_HOME": home.path,
                "PATH": home.path + ":/usr/bin:/bin",
            ])
        try await waitForPrompt()
    }

    /// Says what it was called with; answers what a shell asks with a file.
    private static let program = """
        #!/bin/sh
        if [ "$1" = completions ]; then exec cat "$HOME/ids.$2"; fi
        printf '%s\\n' "$@" >"$HOME/said.new"
        mv "$HOME/said.new" "$HOME/said"

        """

    private static func files(_ completions: String) -> [String: String] {
        [
            "completions": completions, "bashrc": ". ~/completions\nPS1='ready> '\nset +H\n",
            ".zshrc":
                "fpath=(~/functions $fpath)\nautoload -Uz compinit\ncompinit -u -D\nPS1='ready> '\nbindkey -e\n",
            "functions/_celestiad": completions, "fish/completions/celestiad.fish": completions,
            "fish/config.fish":
                "set -g fish_greeting\nset -g fish_autosuggestion_enabled 0\nfunction fish_prompt; echo 'ready> '; end\n",
            "pass key": "", "ids.nearby": "C0:FF:EE:00:00:42\nD0:FF:EE:00:00:42\n",
            "ids.devices": "CR1-0042\n", "ids.sessions": "1b9d6bcd\n2b9d6bcd\n",
            "ids.verbs": "devices\nlogout\n",
        ]
    }

    func answer(_ what: String, _ id: String) throws {
        try Data((id + "\n").utf8).write(to: URL(fileURLWithPath: home.path + "/ids." + what))
    }

    func hasFile(_ name: String) -> Bool { FileManager.default.fileExists(atPath: home.path + "/" + name) }

    private func waitForPrompt() async throws {
        try await screen.wait("the shell asks") { try await screen.lines().last?.hasPrefix("ready>") == true }
    }

    /// Presses the keys and then Enter, and returns what celestiad was called with.
    func type(_ keys: [String]) async throws -> [String] {
        let said = home.path + "/said"
        try? FileManager.default.removeItem(atPath: said)
        for key in keys + ["Enter"] { try await screen.press(key) }
        try await screen.wait("celestiad was called") { hasFile("said") }
        let arguments = try String(contentsOfFile: said, encoding: .utf8).split(separator: "\n").flatMap {
            $0.hasPrefix("--") ? $0.split(separator: "=", maxSplits: 1) : [$0]
        }.map { $0.hasSuffix("/") ? String($0.dropLast()) : String($0) }
        try FileManager.default.removeItem(atPath: said)
        try await screen.press("C-l")
        try await waitForPrompt()
        return arguments
    }
}
