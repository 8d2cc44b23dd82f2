package import Foundation

/// The tests that the sources declare, to be compared with those that a document names.
package struct TestCatalog {
    /// A suite, and a test of it.
    package struct Name: Hashable, CustomStringConvertible {
        package let suite: String
        package let function: String

        package var description: String { "\(suite).\(function)" }
    }

    private var names: Set<Name> = []

    /// Reads every Swift file of a folder: a function belongs to the suite that is declared last before it.
    package init(in folder: URL) throws {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            var suite = ""
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if let match = line.firstMatch(of: /(?:struct|extension|class|enum) (\w+Tests)\b/) {
                    suite = String(match.1)
                } else if let match = line.firstMatch(of: /func (\w+)/) {
                    names.insert(Name(suite: suite, function: String(match.1)))
                }
            }
        }
    }

    package func has(_ name: Name) -> Bool { names.contains(name) }

    /// Every `Suite.test` of a text, and each `.test` after one of the same suite on its line.
    package static func mentions(in text: String) -> [Name] {
        text.split(separator: "\n").flatMap { line -> [Name] in
            var suite = ""
            return line.matches(of: /`(\w*)\.(\w+)`/).compactMap { match in
                if !match.1.isEmpty { suite = String(match.1) }
                return suite.hasSuffix("Tests") ? Name(suite: suite, function: String(match.2)) : nil
            }
        }
    }
}
