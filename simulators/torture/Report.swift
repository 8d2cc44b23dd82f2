import FoundationEssentials
import Glibc

/// What Tests/Torture/faults.c counted and found in one process.
struct Report {
    /// How often each point was passed.
    let passed: [String: Int]
    /// Whether the fault was met.
    let struck: Bool
    /// What came in the wrong order.
    let disorder: [String]

    private static let slots = 128
    private static let slot = 48
    private static let text = 1024
    private static let size = slots * slot + 2 * text

    /// Makes the empty file that the next process writes to.
    static func prepare(_ path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: Data(count: size)) else {
            throw Failure("\(path) cannot be made")
        }
    }

    init(_ path: String) throws {
        guard let bytes = FileManager.default.contents(atPath: path).map({ [UInt8]($0) }),
            bytes.count == Self.size
        else { throw Failure("\(path) is not a report") }
        var passed: [String: Int] = [:]
        var struck = false
        for index in 0..<Self.slots {
            let start = index * Self.slot
            guard bytes[start] != 0 else { continue }
            passed[Self.string(bytes[start..<start + 32])] = Self.number(bytes[start + 32..<start + 40])
            if Self.number(bytes[start + 40..<start + 48]) > 0 { struck = true }
        }
        self.passed = passed
        self.struck = struck
        disorder = Self.string(bytes[(Self.slots * Self.slot)..<(Self.slots * Self.slot + Self.text)]).split(
            separator: "\n"
        ).map(String.init)
    }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        bytes.reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
