import Foundation
import TestSupport
import Testing

/// docs/celestia-api.md says something of every edge case, and what it says is so.
@Suite struct APIDocumentTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    private static func document() throws -> String {
        try String(contentsOf: root.appending(path: "docs/celestia-api.md"), encoding: .utf8)
    }

    @Test func everyEdgeCaseIsThereOnce() throws {
        let numbers = try Self.document().matches(of: /\n\| C-(\d+) \|/).compactMap { Int($0.1) }
        #expect(numbers == Array(1...79))
    }

    @Test func everyTestThatItNamesExists() throws {
        let tests = try TestCatalog(in: Self.root.appending(path: "Tests"))
        let named = TestCatalog.mentions(in: try Self.document())
        #expect(named.count > 100)
        #expect(named.filter { !tests.has($0) } == [])
    }
}
