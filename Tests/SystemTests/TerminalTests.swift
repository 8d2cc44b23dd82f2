import Control
import DBus
import Foundation
import TestSupport
import Testing

extension SystemTests {
    /// What a person sees and does at a terminal.
    @Suite struct TerminalTests {
        private func captures() throws -> Captures { try Captures("first", ["one.wav": 20_001]) }

        private static let question = "Does the recorder show \(Laboratory.passkey)?"

        /// Up to the number that is to be compared.
        private func compare(_ lab: Laboratory, columns: Int = 80, rows: Int = 24) async throws -> Screen {
            let screen = try await lab.terminal(["pair"], columns: columns, rows: rows)
            try await screen.waitFor("ADDRESS")
            try await screen.press("Enter")
            try await screen.waitFor("Which one?")
            try await screen.press("1", "Enter")
            try await screen.wait("the number is shown") {
                // A question may be longer than a line of the screen.
                try await screen.lines().joined().contains(Self.question)
            }
            return screen
        }

        @Test(arguments: [(80, 24), (32, 10)])
        func pairsByLookingChoosingAndComparing(columns: Int, rows: Int) async throws {
            try await Laboratory.run(try captures()) { lab in
                let screen = try await compare(lab, columns: columns, rows: rows)
                #expect(try await lab.bonds() == [])
                try await screen.press("y", "Enter")
                #expect(try await screen.waitUntilExit() == 0)
                #expect(try await lab.bonds() == [Laboratory.address()])
                #expect(try await lab.client.recorders().map(\.id) == [Laboratory.serial()])
            }
        }

        @Test(arguments: ["n", ""]) func whateverIsNoYesRefuses(_ answer: String) async throws {
            try await Laboratory.run(try captures()) { lab in
                let screen = try await compare(lab)
                if !answer.isEmpty { try await screen.press(answer) }
                try await screen.press("Enter")
                #expect(try await screen.waitUntilExit() == 1)
                #expect(try await lab.bonds() == [])
            }
        }

        /// Neither side keeps half a bond: the recorder can be paired at once.
        @Test func controlCAtTheQuestionLeavesNoBond() async throws {
            try await Laboratory.run(try captures()) { lab in
                let screen = try await compare(lab)
                try await screen.press("C-c")
                #expect(try await screen.waitUntilExit() == 130)
                try await lab.waitUntil("there is no bond") { try await lab.bonds() == [] }
                #expect(try await lab.client.recorders().isEmpty)
                try await lab.pair()
                #expect(try await lab.bonds() == [Laboratory.address()])
            }
        }

        /// The list is drawn in place, and follows who comes and goes.
        @Test func theListLives() async throws {
            try await Laboratory.run(try captures(), try captures()) { lab in
                try await lab.simulate("SetInRange", .string(Laboratory.serial(2)), .boolean(false))
                let screen = try await lab.terminal(["pair"])
                try await screen.waitFor(Laboratory.address(1))
                #expect(try await !screen.lines().contains { $0.contains(Laboratory.address(2)) })
                try await lab.simulate("SetInRange", .string(Laboratory.serial(2)), .boolean(true))
                try await screen.waitFor(Laboratory.address(2))
                let lines = try await screen.lines()
                for once in [
                    "looking for recorders", "ADDRESS", Laboratory.address(1), Laboratory.address(2),
                ] {
                    #expect(lines.count { $0.contains(once) } == 1, "\(once) in \(lines)")
                }
                try await screen.press("C-c")
                #expect(try await screen.waitUntilExit() == 130)
                #expect(try await lab.bonds() == [])
            }
        }

        /// Until it has been drawn twice more: a resize alone may change what is seen, once.
        private func redrawn(_ screen: Screen) async throws {
            for _ in 0..<2 {
                let before = try await screen.lines()
                try await screen.wait("it is drawn again") { try await screen.lines() != before }
            }
        }

        @Test func aWatchHigherThanTheTerminalStaysInPlace() async throws {
            try await Laboratory.run(try captures()) { lab in
                let screen = try await lab.terminal(["status", "--watch"], columns: 80, rows: 6)
                try await screen.waitFor("more line")
                try await redrawn(screen)
                let lines = try await screen.lines()
                #expect(try await screen.scrolled() == 0, "\(lines)")
                #expect(lines.first?.hasPrefix("celestiad ") == true, "\(lines)")
                #expect(lines.contains { $0.hasPrefix("Health") }, "\(lines)")
            }
        }

        @Test func aWatchStaysInPlaceWhenTheTerminalIsResized() async throws {
            try await Laboratory.run(try captures()) { lab in
                let screen = try await lab.terminal(["status", "--watch"], columns: 100, rows: 50)
                try await screen.waitFor("Health")
                for columns in [36, 120, 50, 80] {
                    try await screen.resize(columns: columns, rows: 50)
                    try await redrawn(screen)
                    let lines = try await screen.lines()
                    #expect(lines.first?.hasPrefix("celestiad ") == true, "\(columns): \(lines)")
                    #expect(lines.count { $0.hasPrefix("celestiad ") } == 1, "\(columns): \(lines)")
                    #expect(lines.count { $0.hasPrefix("Health") } == 1, "\(columns): \(lines)")
                }
            }
        }

        /// The shell of a person who pressed Ctrl-C shows what is typed.
        @Test func theTerminalIsLeftAsItWas() async throws {
            try await Laboratory.run(try captures()) { lab in
                let screen = try await Screen(
                    ["sh", "-c", "trap : INT; \(Programs.celestiad) pair; stty -a; echo done"], columns: 80,
                    rows: 24, environment: lab.environment)
                try await screen.waitFor("ADDRESS")
                try await screen.press("C-c")
                try await screen.waitFor("done")
                let words = try await screen.lines().flatMap { $0.split(separator: " ") }
                #expect(words.contains("echo") && words.contains("icanon") && !words.contains("-echo"))
            }
        }
    }
}
