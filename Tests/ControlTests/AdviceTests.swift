import Control
import Foundation
import Testing

@testable import celestiad

/// What the program tells people to type works: every `celestiad …` in a text of the sources is a verb that there is,
/// with the actions and options that it has.
@Suite struct AdviceTests {
    /// Words that follow the program's name where it is the subject of a sentence.
    private static let prose: Set<String> = [
        "again", "and", "answered", "did", "does", "ended", "ends", "first", "from", "have", "in", "is",
        "keeps", "knows", "left", "may", "must", "names", "never",
        "runs", "serves", "so", "starts", "stopped", "that", "this", "to", "went", "works",
    ]

    struct Advice: Sendable, Hashable {
        let place: String
        let words: [String]
    }

    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private static func sources() throws -> [URL] {
        let root = Self.root.appendingPathComponent("Sources")
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }

    /// Every mention in a string literal, up to where the command must end.
    private static func advice() throws -> [Advice] {
        var found: [Advice] = []
        for file in try sources() {
            let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            for (number, line) in lines.enumerated() {
                let code = line.drop { $0 == " " }
                guard !code.hasPrefix("//") else { continue }
                for match in code.matches(of: /\bcelestiad ([^",;:)`?\\]+)/) {
                    let words = match.1.split(separator: " ").map { $0.last == "." ? $0.dropLast() : $0 }.map(
                        String.init)
                    guard !words.isEmpty else { continue }
                    found.append(Advice(place: "\(file.lastPathComponent):\(number + 1)", words: words))
                }
            }
        }
        return found
    }

    @Test func everyCommandThatIsAdvisedExists() throws {
        let verbs = Dictionary(uniqueKeysWithValues: Program.verbs.map { ($0.name, $0) })
        var commands = 0
        for advice in try Self.advice() {
            let first = advice.words[0]
            guard first.first?.isLowercase == true, !Self.prose.contains(first) else { continue }
            commands += 1
            guard let verb = verbs[first] else {
                Issue.record(
                    "\(advice.place): there is no verb: celestiad \(advice.words.joined(separator: " "))")
                continue
            }
            if let actions = verb.actions, advice.words.count > 1 {
                let word = advice.words[1]
                guard !word.hasPrefix("$") else { continue }
                #expect(
                    actions.names.contains(word) || actions.listing != nil && word.first?.isLowercase != true,
                    "\(advice.place): celestiad \(first) has no action \(word)")
            }
            let known = Set((verb.options + Option.common).map(\.name))
            for option in advice.words.dropFirst() where option.hasPrefix("--") {
                #expect(known.contains(String(option.dropFirst(2))), "\(advice.place): \(advice.words)")
            }
        }
        #expect(commands > 20)
    }

    /// For users, where commands stand between backticks or in blocks.
    private static let documents =
        ["README.md"]
        + [
            "troubleshooting", "configuration", "logging", "metrics", "home-assistant",
        ].map { "docs/\($0).md" }

    /// What only root may do is advised with sudo before it, the same everywhere.
    @Test func whatNeedsRootIsAdvisedWithSudo() throws {
        // What an ordinary user may not do, or gets no answer to, and the `sudo` before it.
        let privileged =
            /(sudo )?\b(systemctl (-[a-z-]+ )*(start|stop|restart|reload|enable|disable|unmask|edit|daemon-reload|service-log-level)|rfkill unblock|journalctl|dmesg|setfacl|chown|modprobe|udevadm|usermod|apt-get|apt install|timedatectl set-ntp)\b/
        var commands = 0
        for file in try Self.sources() + Self.documents.map({ Self.root.appendingPathComponent($0) }) {
            let isCode = file.pathExtension == "swift"
            let lines = try String(contentsOf: file, encoding: .utf8)
                .split(separator: "\n", omittingEmptySubsequences: false)
            for (number, line) in lines.enumerated() where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                for match in line.matches(of: privileged) {
                    let before = line[..<match.range.lowerBound]
                    guard !isCode || before.contains("\""), before.last != "/" else { continue }
                    commands += 1
                    #expect(match.1 != nil, "\(file.lastPathComponent):\(number + 1): \(line)")
                }
            }
        }
        #expect(commands > 30)
    }

    /// Put together from parts.
    private static let composed: Set<String> = [
        "celestiad is for root and members of group celestiad", "Data by notifications", "remote deleted",
    ]

    /// What troubleshooting.md has a user look for is what the program says: the texts between backticks in a table's first
    /// column, but for the words that stand for something.
    @Test func everySymptomIsAText() throws {
        let sources = try Self.sources().map { try String(contentsOf: $0, encoding: .utf8) }.joined()
            .replacing(/"\s*\+\s*"/, with: "")
        let guide = try String(
            contentsOf: Self.root.appendingPathComponent("docs/troubleshooting.md"),
            encoding: .utf8)
        var symptoms = 0
        for row in guide.split(separator: "\n") where row.hasPrefix("| ") {
            for span in row.split(separator: "|")[0].matches(of: /`([^`]+)`/)
            where !span.1.hasPrefix("celestiad s") {
                for part in span.1.split(separator: /…|[()]|\b[A-Z]{2,}\b|\bN\b/) {
                    let text = part.trimmingCharacters(in: CharacterSet(charactersIn: " :,."))
                    guard text.count >= 4, !Self.composed.contains(text) else { continue }
                    symptoms += 1
                    #expect(sources.contains(text), "\(text)")
                }
            }
        }
        #expect(symptoms > 20)
    }

    @Test func thisTestCanFail() throws {
        let all = try Self.advice().map { $0.words.joined(separator: " ") }
        #expect(all.contains { $0.hasPrefix("session retry") })
        #expect(all.contains { $0.hasPrefix("pair --device") })
    }
}
