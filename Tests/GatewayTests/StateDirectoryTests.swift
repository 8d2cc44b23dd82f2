import Foundation
import TestSupport
import Testing

@testable import Gateway

@Suite struct StateDirectoryTests {
    typealias Facts = StateDirectory.Facts

    private func verdict(_ facts: Facts) -> StateDirectory.Verdict {
        StateDirectory.verdict(facts, "/state") { $0 == 7 ? "celestiad" : "ada" }
    }

    @Test(
        arguments: [
            (Facts(owner: 7, mode: 0o700, user: 7), .good), (Facts(owner: 7, mode: 0o1700, user: 7), .good),
            (Facts(owner: 7, mode: 0o750, user: 7), .open), (Facts(owner: 7, mode: 0o777, user: 7), .open),
            (Facts(owner: 7, mode: 0o701, user: 7), .open),
        ] as [(Facts, StateDirectory.Verdict)])
    func whatIsAllowed(_ facts: Facts, _ expected: StateDirectory.Verdict) {
        #expect(verdict(facts) == expected)
    }

    @Test(
        arguments: [
            (
                Facts(isDirectory: false, owner: 7, user: 7),
                ["/state is no directory", "Move the file away", "[General] StateDirectory"]
            ),
            (
                Facts(owner: 8, user: 7),
                [
                    "/state belongs to ada", "runs as celestiad", "sudo chown -R celestiad: /state",
                    "StateDirectory",
                ]
            ),
            (
                Facts(owner: 7, mode: 0o500, isUsable: false, user: 7),
                ["runs as celestiad, who may not write", "/state", "chmod 700 /state", "StateDirectory"]
            ),
        ] as [(Facts, [String])])
    func whatIsNot(_ facts: Facts, _ texts: [String]) {
        guard case .bad(let message, let hint) = verdict(facts) else {
            Issue.record("\(facts) is taken")
            return
        }
        for text in texts { #expect("\(message) \(hint)".contains(text), "\(message) \(hint)") }
    }

    @Test func whatIsOpenIsClosed() throws {
        let folder = TemporaryDirectory()
        chmod(folder.path, 0o777)
        #expect(try StateDirectory.prepare(folder.path))
        #expect(try !StateDirectory.prepare(folder.path))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        #expect(try !StateDirectory.prepare(folder.path + "/none"))
    }
}
