import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Cloud
@testable import HTTP

/// The end of a login, here and at the server.
@Suite struct LogoutTests {
    private let directory = TemporaryDirectory()

    private func api(_ transport: FakeTransport) throws -> CelestiaAPI {
        try CelestiaAPI.faked(transport, in: directory)
    }

    @Test func aLogoutForgetsTheTokensEvenWhenTheServerRefuses() async throws {
        let transport = FakeTransport { request, _ in
            request.url.target == "/v1/auth/login"
                ? .success(.grant(1)) : .failure(HTTPError(.connect, "unreachable"))
        }
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        let refusal = try await api.logOut()
        #expect(refusal?.transport == .connect)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/credentials"))
        #expect(try await api.tokens.state() == .loggedOut)
    }

    /// A transport that has ended every token once it is asked for a logout, and then lets `other` happen before it answers.
    private func leaving(_ other: Locked<(@Sendable () async -> Void)?>) -> FakeTransport {
        FakeTransport { request, _ in
            switch request.url.target {
            case "/v1/auth/login": return .success(.grant(1))
            case "/v1/auth/logout":
                await other.withLock { $0 }?()
                return .success(.json(200, "{\"code\":200,\"message\":\"ok\"}"))
            default: return .success(.unauthorized)
            }
        }
    }

    /// A call that is refused because a logout has just ended its token does not refresh: to the server that would be the
    /// use of a dead token.
    @Test(.timeLimit(.minutes(5))) func nobodyRefreshesWhileALogoutIsUnderWay() async throws {
        let other = Locked<(@Sendable () async -> Void)?>(nil)
        let transport = leaving(other)
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        let refusals = Locked<[CloudError?]>([])
        other.withLock {
            $0 = {
                do throws(CloudError) {
                    _ = try await api.quota()
                } catch {
                    refusals.withLock { $0.append(error) }
                }
            }
        }
        #expect(try await api.logOut() == nil)
        #expect(refusals.withLock { $0.map(\.?.code) } == [.notLoggedIn])
        #expect(!transport.requests.contains { $0.url.target == "/v1/auth/refresh" })
        #expect(try await api.tokens.state() == .loggedOut)
    }

    /// Who logs in while a logout is under way, stays logged in.
    @Test(.timeLimit(.minutes(5))) func aLoginDuringALogoutStays() async throws {
        let other = Locked<(@Sendable () async -> Void)?>(nil)
        let transport = leaving(other)
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        other.withLock { $0 = { _ = try? await api.logIn(identifier: "bob", password: Secret("countess")) } }
        #expect(try await api.logOut() == nil)
        guard case .valid = try await api.tokens.state() else {
            Issue.record("the new login is gone")
            return
        }
    }
}
