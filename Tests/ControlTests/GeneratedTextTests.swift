import Foundation
import TestSupport
import Testing

@testable import celestiad

/// What is made from the declarations of the verbs: completions and manual pages.
@Suite(.timeLimit(.minutes(5))) struct GeneratedTextTests {
    /// Runs a program of `scripts/install-packages test` on a script.
    private func run(_ program: [String], _ script: [String]) throws -> (status: Int32, output: String) {
        let path = try #require(
            ["/usr/bin/\(program[0])", "/bin/\(program[0])"].first {
                FileManager.default.isExecutableFile(atPath: $0)
            }, "\(program[0]) is not installed")
        let folder = TemporaryDirectory()
        let file = folder.path + "/script"
        try Data((script.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: file))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = Array(program.dropFirst()) + [file]
        process.environment = ["PATH": folder.path + ":/usr/bin:/bin", "LC_ALL": "C.UTF-8"]
        // Stands in for the program, which is asked for ids.
        let stub = folder.path + "/celestiad"
        try Data("#!/bin/sh\necho CR1-0042; echo logout\n".utf8).write(to: URL(fileURLWithPath: stub))
        chmod(stub, 0o755)
        let pipe = Pipe()
        (process.standardOutput, process.standardError) = (pipe, pipe)
        try process.run()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// What is typed → a word that bash must offer, and one that it must not.
    @Test(
        arguments: [
            (["celestiad", "st"], "status", "scan"), (["celestiad", "status", "--w"], "--watch", "--json"),
            (["celestiad", "device", ""], "rename", "CR1-0041"),
            (["celestiad", "device", "CR"], "CR1-0042", "rename"),
            (["celestiad", "forget", ""], "CR1-0042", "rename"),
            (["celestiad", "help", "log"], "logout", "scan"),
            (["celestiad", "--bus", "x", "st"], "status", "scan"),
            (["celestiad", "--bus", "x", "device", "re"], "rename", "unbind"),
            (["celestiad", "--b"], "--bus", "status"),
            (["celestiad", "pair", "--device", "CR"], "CR1-0042", "logout"),
            (["celestiad", "pair", "--device=", "CR"], "CR1-0042", "logout"),
            (["celestiad", "device", "rename", ""], "CR1-0042", "rename"),
        ] as [([String], String, String)])
    func bashCompletes(_ words: [String], _ offered: String, _ other: String) throws {
        let script =
            ShellCompletion.script(for: .bash, Program.verbs) + [
                "COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " ")))",
                "COMP_CWORD=\(words.count - 1)",
                "_celestiad", "printf '%s\\n' \"${COMPREPLY[@]}\"",
            ]
        let result = try run(["bash"], script)
        let replies = result.output.split(separator: "\n").map(String.init)
        #expect(replies.contains(offered), "\(result)")
        #expect(!replies.contains(other), "\(result)")
    }

    /// A serial number is what a recorder says that it is, and shells expand what they are offered.
    @Test(arguments: [
        ("CR1-0042", true), ("C0:FF:EE:00:00:42", true), ("1b9d6bcd-bbfd-4b2d", true), ("a.b_c", true),
        ("$(touch${IFS}x)", false), ("`x`", false), ("a b", false), ("a;b", false), ("--yes", false),
        ("", false),
        ("ä", false), ("a*", false), ("a'b", false),
    ])
    func onlyPlainIdsAreOffered(_ id: String, _ isOffered: Bool) {
        #expect(CompletionsVerb.isPlain(id) == isOffered)
    }

    @Test(arguments: ["zsh", "fish", "bash"]) func shellsUnderstandTheirScripts(_ name: String) throws {
        let shell = try #require(ShellCompletion.Shell(rawValue: name))
        let result = try run([name, "-n"], ShellCompletion.script(for: shell, Program.verbs))
        #expect(result.status == 0 && result.output.isEmpty, "\(result)")
    }

    @Test func everyVerbAndOptionIsInEveryScript() {
        for shell in ShellCompletion.Shell.allCases {
            let script = ShellCompletion.script(for: shell, Program.verbs).joined(separator: "\n")
            for verb in Program.verbs {
                #expect(script.contains(verb.name))
                for option in verb.options { #expect(script.contains(option.name)) }
                for action in verb.actions?.names ?? [] { #expect(script.contains(action)) }
            }
        }
    }

    @Test(arguments: ManualPage.allCases) func manualPagesHaveNoFault(_ page: ManualPage) throws {
        let lines = page.lines(Program.verbs)
        #expect(lines.contains(".SH NAME"))
        for width in [80, 40] {
            let result = try run(["groff", "-man", "-Tutf8", "-ww", "-z", "-rLL=\(width)n"], lines)
            #expect(result.status == 0 && result.output.isEmpty, "\(width): \(result)")
        }
    }

    /// debian/celestiad.docs puts README.md and docs/ below the folder that is named.
    @Test(arguments: ManualPage.allCases) func documentsThatPagesNameAreThere(_ page: ManualPage) {
        let text = page.lines(Program.verbs).joined(separator: "\n").replacing("\\-", with: "-")
            .replacing("\\:", with: "")
        let project = URL(fileURLWithPath: #filePath).appending(path: "../../..").standardized.path
        for match in text.matches(of: /\/usr\/share\/doc\/celestiad(\/[\w\/-]+\.md)/) {
            #expect(FileManager.default.fileExists(atPath: project + match.1), "\(match.0)")
        }
        #expect(!text.contains(/(^|[^\/\w])docs\//))
    }

    @Test func theProgramsPageHasEveryVerb() {
        let text = ManualPage.program.lines(Program.verbs).joined(separator: "\n")
        for verb in Program.verbs { #expect(text.contains("celestiad \(verb.name)")) }
    }

    /// The sample is a configuration, and the same as none.
    @Test func theSampleIsUnderstood() {
        let keys = ConfigurationText.sample.filter { $0.hasPrefix("#") && !$0.hasPrefix("# ") }
        #expect(keys.count > 10)
        #expect(keys.allSatisfy { $0.contains("=") })
        #expect(
            ConfigurationText.sample.prefix(4).contains {
                $0.contains("/etc/celestiad/celestiad.conf.d/local.conf")
            })
    }
}
