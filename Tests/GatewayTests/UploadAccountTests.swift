import CaptureQueue
import Cloud
import Foundation
import HTTP
import TestSupport
import Testing

@testable import Gateway

/// Two people at one hub: neither gets what the other recorded.
@Suite(.serialized) struct UploadAccountTests {
    private func logIn(_ fixture: UploadFixture, _ name: String) async throws {
        try await fixture.api.logOut()
        try await fixture.api.logIn(identifier: name, password: Secret("countess"))
    }

    private func names(_ fixture: UploadFixture) async throws -> [String: [String]] {
        let state = try await fixture.cloud.state()
        let owners = Dictionary(uniqueKeysWithValues: state.users.map { ($0.id, $0.username ?? "?") })
        return Dictionary(grouping: state.sessions, by: { owners[$0.userId] ?? "?" })
            .mapValues { $0.compactMap(\.clientId).sorted() }
    }

    @Test func everybodyGetsHisOwn() async throws {
        let fixture = try await UploadFixture()
        _ = try await fixture.api.register(
            username: "bob", identifier: "bob@example.test", password: Secret("countess"))
        try await logIn(fixture, "ada")
        fixture.start()
        let host = fixture.api.base.description
        try await fixture.until(30, "the login") { try await fixture.queue.currentAccount(host: host) != nil }
        let pause = #"[{"route":"uploadAsset","action":"status","status":503,"times":1000}]"#
        try await fixture.cloud.addFaults(pause)
        let first = try await fixture.capture(1, sizes: [1000])
        try await fixture.until(30, "a failure") { try await fixture.state(first) == .failedRetryable }
        // Her upload is under way, with her session in the cloud already.
        try await logIn(fixture, "bob")
        try await fixture.until(30, "the hold") { try await fixture.holds(first) == [.otherAccount] }
        try await fixture.cloud.clearFaults()
        let second = try await fixture.capture(2, sizes: [2000])
        try await fixture.untilImported([second])
        #expect(try await names(fixture) == ["ada": [first.text], "bob": [second.text]])
        #expect(try await fixture.holds(first) == [.otherAccount])
        try await logIn(fixture, "ada")
        try await fixture.untilImported([first])
        try await fixture.stop()
        try await fixture.expectCloud(holds: [first, second], assets: 2)
    }

    /// Whatever the queue thinks: a call for one account never carries another's token.
    @Test func aCallForAnotherAccountIsNotMade() async throws {
        let fixture = try await UploadFixture()
        guard case .valid(let login) = try await fixture.api.tokens.state() else {
            Issue.record("nobody is logged in")
            return
        }
        _ = try await fixture.api.only(for: login.account).quota()
        let requests = try await fixture.cloud.state().requests["getStorageQuota"]?.requests
        await #expect {
            _ = try await fixture.api.only(for: "somebody else").quota()
        } throws: {
            ($0 as? CloudError)?.code == .notLoggedIn && ($0 as? CloudError)?.outcome == .retry(after: nil)
        }
        #expect(try await fixture.cloud.state().requests["getStorageQuota"]?.requests == requests)
    }
}
