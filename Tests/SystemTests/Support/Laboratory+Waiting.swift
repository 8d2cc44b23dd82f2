import Control
import Foundation
import TestSupport
import Testing

struct OutOfTime: Error, CustomStringConvertible {
    let description: String
}

extension Laboratory {
    /// Far more than anything takes: what is waited for comes, or the test is right to fail.
    private static let patience = Duration.seconds(60)
    private static let pollInterval = Duration.milliseconds(50)

    /// Looks again and again until the condition holds.
    func waitUntil(_ what: String, _ condition: () async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + Self.patience
        while try await !condition() {
            guard ContinuousClock.now < deadline else {
                throw OutOfTime(description: "in vain was waited until \(what); \(await situation())")
            }
            try await Task.sleep(for: Self.pollInterval)
        }
    }

    /// The status, for what a test waits for; false while the daemon does not answer.
    func waitForStatus(_ what: String, _ condition: (StatusDocument) -> Bool) async throws {
        try await waitUntil(what) {
            guard let status = try? await self.client.status() else { return false }
            return condition(status)
        }
    }

    func waitForLink(_ state: String, of number: Int = 1) async throws {
        try await waitForStatus("the link of \(Self.serial(number)) is \(state)") {
            $0.recorders.first { $0.id == Self.serial(number) }?.link.state == state
        }
    }

    func waitForHealth(_ code: String) async throws {
        try await waitForStatus("the status says \(code)") { $0.health.contains { $0.code == code } }
    }

    /// Every session imported, every file of the captures in the cloud.
    func waitUntilUploaded(_ captures: [Captures]? = nil) async throws {
        let wanted = Set((captures ?? setup.captures).flatMap { $0.files.map(\.sha256) })
        try await waitUntil("all is uploaded") {
            let there = try await self.cloud.state().sessions.flatMap(\.assets).map { $0.sha256.lowercased() }
            guard wanted.isSubset(of: there) else { return false }
            let sessions = try? await self.client.sessions(SessionQuery(limit: 500)).sessions
            return sessions?.allSatisfy { $0.state == "imported" } ?? false
        }
    }

    /// Every file of the captures durable in the queue.
    func waitUntilQueued() async throws {
        let files = setup.captures.reduce(0) { $0 + $1.files.count }
        try await waitUntil("all is in the queue") {
            let sessions = try? await self.client.sessions(SessionQuery(limit: 500)).sessions
            return sessions?.filter { $0.state != "draft" }.reduce(0) { $0 + $1.files } == files
        }
    }

    /// Bytes of a leg's transfer that is under way.
    func waitForTransfer(_ leg: String, beyond bytes: Int64) async throws {
        try await waitForStatus("\(leg) is beyond \(bytes) bytes") {
            $0.transfers.contains { $0.leg == leg && $0.bytes > bytes }
        }
    }

    private func situation() async -> String {
        guard let status = try? await client.status() else { return "the daemon does not answer" }
        let links = status.recorders.map { "\($0.id) \($0.link.state) \($0.link.reason ?? "")" }
        let sessions = (try? await client.sessions(SessionQuery(limit: 500)).sessions) ?? []
        return """
            links \(links), transfers \(status.transfers.map { "\($0.leg) \($0.bytes)" }), \
            sessions \(sessions.map { "\($0.state) \($0.uploadedFiles)/\($0.files) \($0.reason ?? "")" }), \
            health \(status.health.map(\.code)), account \(status.account.state)
            """
    }
}
