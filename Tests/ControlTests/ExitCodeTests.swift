import Foundation
import Testing

@testable import Control

@Suite struct ExitCodeTests {
    /// Frozen: scripts count on these numbers.
    @Test func theNumbersNeverChange() {
        let table: [(ExitCode, Int32)] = [
            (.success, 0), (.failure, 1), (.usage, 2), (.timeout, 3), (.notFound, 4), (.notRunning, 5),
            (.notAuthorized, 6), (.notLoggedIn, 7), (.adapterUnavailable, 8), (.nothingToDo, 9),
            (.partial, 10),
            (.diskLow, 11), (.busy, 12), (.noBus, 13), (.unhealthy, 14), (.cloudUnavailable, 15),
            (.interrupted, 130),
        ]
        for (code, number) in table { #expect(code.rawValue == number) }
        #expect(table.count == ExitCode.allCases.count)
    }

    @Test func errorsAndExitCodesAreOneToOne() {
        let codes = ControlError.Code.allCases.map(\.exitCode)
        #expect(Set(codes).count == codes.count)
        // Everything but success and what only `status` says.
        #expect(Set(codes) == Set(ExitCode.allCases).subtracting([.success, .unhealthy]))
        #expect(ControlError.Code.busy.name == "life.ccdw.Celestia1.Error.Busy")
    }

    @Test func theyAreDocumented() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appending(path: "../../docs/json.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        for code in ExitCode.allCases {
            #expect(text.contains("\n| \(code.rawValue) | \(code.meaning) |"), "\(code)")
        }
    }

    @Test func passwordsAreNotPrinted() {
        let password = Password("s3cret")
        var dumped = ""
        dump(password, to: &dumped)
        for text in ["\(password)", String(reflecting: password), dumped] {
            #expect(!text.contains("s3cret"))
        }
        #expect(password.reveal() == "s3cret")
    }
}
