import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Cloud
@testable import HTTP

@Suite struct TokenStoreTests {
    private let directory = TemporaryDirectory()
    private let disk: EventLoop

    init() throws {
        disk = try EventLoop.start(name: "disk-test")
    }

    private func api(_ transport: FakeTransport, base: String = "https://h/v1") throws -> CelestiaAPI {
        try CelestiaAPI.faked(transport, in: directory, on: disk, base: base)
    }

    private var path: String { directory.path + "/credentials" }

    private func stored() -> Credentials? {
        (try? Data(contentsOf: URL(fileURLWithPath: path))).flatMap { Credentials(decoding: Array($0)) }
    }

    /// A transport on which login grants t1/r1, each refresh the next pair, and only the newest token is accepted.
    private func rotating() -> FakeTransport {
        let granted = Locked(0)
        return FakeTransport { request, _ in
            if request.url.target.hasSuffix("/auth/login") || request.url.target.hasSuffix("/auth/refresh") {
                return .success(
                    .grant(
                        granted.withLock {
                            $0 += 1
                            return $0
                        }))
            }
            let newest = Secret("t\(granted.withLock { $0 })")
            return .success(request.bearer == newest ? .quota : .unauthorized)
        }
    }

    @Test func aLoginIsDurablePrivateAndSurvivesARestart() async throws {
        let transport = rotating()
        try await api(transport).logIn(identifier: "ada", password: Secret("countess"))
        #expect(stored()?.token == Secret("t1"))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/.credentials.new"))
        let restarted = try api(transport)
        #expect(try await restarted.quota().remainingBytes == 8)
        #expect(transport.requests[0].bearer == nil)
        #expect(transport.requests[0].freshConnection)
    }

    /// Whoever is answered last has not won: the first to be in is.
    @Test func ofTwoLoginsAtOnceTheLaterIsRefused() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let transport = FakeTransport { request, number in
            guard request.url.target.hasSuffix("/auth/login") else { return .success(.quota) }
            if number == 1 { for await _ in gate { break } }
            return .success(.grant(number))
        }
        let api = try api(transport)
        let slow = Task { try await api.logIn(identifier: "ada", password: Secret("countess")) }
        while transport.requests.isEmpty { await Task.yield() }
        try await api.logIn(identifier: "bob", password: Secret("builder"))
        open.yield()
        await #expect {
            try await slow.value
        } throws: { ($0 as? CloudError)?.code == .superseded }
        #expect(stored()?.identifier == "bob")
        // What nobody will use is given back.
        #expect(transport.requests.last?.url.target == "/v1/auth/logout")
        #expect(transport.requests.last?.bearer == Secret("t1"))
    }

    /// Who it is decides what is sent: asked for where the login does not say.
    @Test(arguments: [
        (#"{"id":"0B8F4B1E-6F0A-4C56-9F3B-0A1B2C3D4E5F"}"#, "0b8f4b1e-6f0a-4c56-9f3b-0a1b2c3d4e5f"),
        (#"{"id":42,"username":"ada"}"#, "42"), (#"{"id":"\u0000x"}"#, "name:ada"),
        (#"{"id":""}"#, "name:ada"),
        (#"{"username":"ada"}"#, "name:ada"), ("null", "name:ada"),
    ])
    func anAccountIsKnownByItsUser(_ user: String, _ account: String) async throws {
        let transport = FakeTransport { request, _ in
            let body =
                request.url.target.hasSuffix("/auth/login")
                ? #"{"code":0,"message":"","data":{"token":"t1","refreshToken":"r1"}}"#
                : #"{"code":0,"message":"","data":\#(user)}"#
            return .success(.json(200, body))
        }
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        guard case .valid(let login) = try await api.tokens.state() else {
            Issue.record("nobody is logged in")
            return
        }
        #expect(login.account == account)
        #expect(transport.requests.map(\.url.target) == ["/v1/auth/login", "/v1/user/profile"])
    }

    @Test func withoutALoginNothingIsSent() async throws {
        let transport = rotating()
        let api = try api(transport)
        await #expect {
            _ = try await api.quota()
        } throws: { ($0 as? CloudError)?.outcome == .hold(.authRequired) }
        #expect(transport.requests.isEmpty)
    }

    @Test func aRefusedTokenIsRefreshedAndTheCallReplayed() async throws {
        let transport = rotating()
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        // Somebody else's rotation made t1 old.
        _ = try await transport.send(HTTPRequest(.post, HTTPURL("https://h/v1/auth/login")))
        #expect(try await api.quota().remainingBytes == 8)
        #expect(
            transport.requests.suffix(3).map(\.url.target) == [
                "/v1/storage/quota", "/v1/auth/refresh", "/v1/storage/quota",
            ])
        #expect(stored()?.generation == 2)
        #expect(stored()?.refreshInflight == false)
    }

    @Test func manyRefusedRequestsShareOneRefresh() async throws {
        let transport = rotating()
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        _ = try await transport.send(HTTPRequest(.post, HTTPURL("https://h/v1/auth/login")))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 { group.addTask { _ = try await api.quota() } }
            try await group.waitForAll()
        }
        #expect(transport.requests.filter { $0.url.target == "/v1/auth/refresh" }.count == 1)
    }

    @Test func theIntentIsOnDiskBeforeARefreshIsSentAndTheResultBeforeItIsUsed() async throws {
        let path = path
        let seen = Locked<[Bool?]>([])
        let transport = FakeTransport { request, _ in
            let file = (try? Data(contentsOf: URL(fileURLWithPath: path))).flatMap {
                Credentials(decoding: Array($0))
            }
            switch request.url.target {
            case "/v1/auth/login": return .success(.grant(1))
            case "/v1/auth/refresh":
                seen.withLock { $0.append(file?.refreshInflight) }
                return .success(.grant(2))
            default:
                seen.withLock { $0.append(file?.token == request.bearer) }
                return .success(request.bearer == Secret("t2") ? .quota : .unauthorized)
            }
        }
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        _ = try await api.quota()
        #expect(seen.withLock { $0 } == [true, true, true])
    }

    /// C-18: what the two sends of one refresh meet, and the state that follows.
    @Test(arguments: [
        (["lost", "grant"], 2, TokenState?.none), (["lost", "refused"], 2, .authRequired(.refreshLost)),
        (["refused"], 1, .authRequired(.refused)), (["unsent"], 1, nil), (["lost", "lost"], 2, nil),
        (["500", "grant"], 2, nil), (["html"], 1, nil),
    ])
    func aRefreshIsRepeatedOnceWhenItsAnswerIsLost(answers: [String], sends: Int, state: TokenState?)
        async throws
    {
        let refreshes = Locked(0)
        let transport = FakeTransport { request, _ in
            switch request.url.target {
            case "/v1/auth/login": return .success(.grant(1))
            case "/v1/auth/refresh": break
            default: return .success(request.bearer == Secret("t2") ? .quota : .unauthorized)
            }
            let index = refreshes.withLock { count in
                count += 1
                return count - 1
            }
            switch answers[min(index, answers.count - 1)] {
            case "lost": return .failure(HTTPError(.timeout, "", requestSent: true))
            case "unsent": return .failure(HTTPError(.connect, ""))
            case "refused": return .success(.unauthorized)
            case "500": return .success(.json(500, "{\"code\":500,\"message\":\"\"}"))
            case "html":
                return .success(
                    HTTPResponse(
                        status: 200, headers: HTTPHeaders([HTTPHeaders.Field("Content-Type", "text/html")]),
                        body: Array("<html>".utf8)))
            default: return .success(.grant(2))
            }
        }
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        var quota: StorageQuota?
        do throws(CloudError) {
            quota = try await api.quota()
        } catch {
            // The call itself was not made: it waits or is tried again.
            switch error.outcome {
            case .retry, .hold: break
            default: Issue.record("\(error.outcome)")
            }
        }
        #expect(refreshes.withLock { $0 } == sends)
        #expect((quota != nil) == (answers.last == "grant"))
        if let state { #expect(try await api.tokens.state() == state) }
        #expect(stored() != nil, "nothing is ever thrown away")
        #expect(stored()?.refreshInflight == (answers.contains("lost") && answers.last != "grant"))
    }

    @Test func aRefreshThatWasInFlightAtACrashIsKnownAtTheNextRefusal() async throws {
        let transport = FakeTransport { request, _ in
            request.url.target == "/v1/auth/login" ? .success(.grant(1)) : .success(.unauthorized)
        }
        let first = try api(transport)
        try await first.logIn(identifier: "ada", password: Secret("countess"))
        var crashed = try #require(stored())
        crashed.refreshInflight = true
        try CredentialFile(directory: directory.path).save(crashed)
        let restarted = try api(transport)
        await #expect(throws: CloudError.self) { _ = try await restarted.quota() }
        #expect(try await restarted.tokens.state() == .authRequired(.refreshLost))
    }

    @Test func aGrantThatTheDiskRefusesIsKeptAndNotUsedUntilItIsSaved() async throws {
        let transport = rotating()
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        _ = try await transport.send(HTTPRequest(.post, HTTPURL("https://h/v1/auth/login")))
        // A directory in the temporary file's place makes every save fail, root or not. It appears once the
        // intent is saved, when the refresh is under way.
        let blocker = directory.path + "/.credentials.new"
        let blocking = FakeTransport { request, _ in
            if request.url.target == "/v1/auth/refresh" {
                try? FileManager.default.createDirectory(atPath: blocker, withIntermediateDirectories: false)
            }
            do throws(HTTPError) {
                return .success(try await transport.send(request))
            } catch {
                return .failure(error)
            }
        }
        let restarted = try self.api(blocking)
        await #expect {
            _ = try await restarted.quota()
        } throws: { ($0 as? CloudError)?.code == .storage }
        #expect(stored()?.token == Secret("t1"))
        try FileManager.default.removeItem(atPath: blocker)
        #expect(try await restarted.quota().remainingBytes == 8)
        #expect(stored()?.token == Secret("t3"))
    }

    @Test func cancellingTheRequestDoesNotStopARotation() async throws {
        let (reached, signal) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        let transport = FakeTransport { request, _ in
            switch request.url.target {
            case "/v1/auth/login": return .success(.grant(1))
            case "/v1/auth/refresh":
                signal.yield()
                for await _ in released { break }
                return .success(Task.isCancelled ? .unauthorized : .grant(2))
            default: return .success(request.bearer == Secret("t2") ? .quota : .unauthorized)
            }
        }
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        let request = Task { try await api.quota() }
        for await _ in reached { break }
        request.cancel()
        release.yield()
        _ = await request.result
        #expect(stored()?.token == Secret("t2"))
    }

    @Test func tokensRefusedThoughFreshHoldAfterTwoRequests() async throws {
        let number = Locked(0)
        let transport = FakeTransport { request, _ in
            guard request.url.target.hasPrefix("/v1/auth/") else { return .success(.unauthorized) }
            return .success(
                .grant(
                    number.withLock {
                        $0 += 1
                        return $0
                    }))
        }
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        var outcomes: [Outcome?] = []
        for _ in 0..<3 {
            do throws(CloudError) {
                _ = try await api.quota()
            } catch {
                outcomes.append(error.outcome)
            }
        }
        #expect(outcomes == [.retry(after: nil), .hold(.authRequired), .hold(.authRequired)])
        #expect(transport.requests.filter { $0.url.target == "/v1/auth/refresh" }.count == 2)
        #expect(try await api.tokens.state() == .authRequired(.rejected))
    }

    @Test func aTokenIsRefreshedAheadOfExpiryByTheServersClock() async throws {
        let clock = ManualClock()
        let number = Locked(0)
        let transport = FakeTransport { request, _ in
            let date = HTTPHeaders.Field("Date", "Sun, 06 Nov 1994 08:49:37 GMT")
            guard request.url.target.hasPrefix("/v1/auth/") else {
                return .success(
                    HTTPResponse(
                        status: 200, headers: HTTPResponse.quota.headers, body: HTTPResponse.quota.body))
            }
            let count = number.withLock {
                $0 += 1
                return $0
            }
            let data =
                "{\"token\":\"t\(count)\",\"refreshToken\":\"r\",\"expiresAt\":\"1994-11-06T09:49:37Z\"}"
            return .success(.json(200, "{\"code\":0,\"message\":\"\",\"data\":\(data)}", headers: [date]))
        }
        let api = CelestiaAPI(
            base: try APIBase("https://h/v1"), transport: transport, directory: directory.path, machine: "m1",
            executor: disk, monotonic: { clock.now })
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        clock.advance(by: .seconds(3000))
        _ = try await api.quota()
        #expect(transport.requests.last?.bearer == Secret("t1"))
        clock.advance(by: .seconds(400))
        _ = try await api.quota()
        #expect(transport.requests.last?.bearer == Secret("t2"))
    }

    @Test func tokensNeverGoToAnotherAddress() async throws {
        let transport = rotating()
        try await api(transport).logIn(identifier: "ada", password: Secret("countess"))
        let sent = transport.requests.count
        let other = try api(transport, base: "https://other/v1")
        await #expect(throws: CloudError.self) { _ = try await other.quota() }
        #expect(transport.requests.count == sent)
        #expect(try await other.tokens.state() == .authRequired(.otherHost))
    }

    @Test(arguments: ["", "{}", "not json", "{\"version\":2}", String(repeating: "x", count: 200_000)])
    func anUnreadableFileIsAStateAndIsNotTouched(text: String) async throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let api = try api(rotating())
        #expect(try await api.tokens.state() == .authRequired(.unreadable))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        #expect(try await api.quota().remainingBytes == 8)
    }

    @Test func aSymbolicLinkIsNotFollowed() async throws {
        try await api(rotating()).logIn(identifier: "ada", password: Secret("countess"))
        try FileManager.default.moveItem(atPath: path, toPath: directory.path + "/elsewhere")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: directory.path + "/elsewhere")
        let api = try api(rotating())
        await #expect(throws: CloudError.self) { _ = try await api.tokens.state() }
    }

    /// A stop waits for a rotation that is under way, unless it has to hurry.
    @Test(.timeLimit(.minutes(5))) func aRefreshUnderWayIsWaitedFor() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (answers, answer) = AsyncStream.makeStream(of: Void.self)
        let transport = FakeTransport { request, _ in
            switch request.url.target {
            case "/v1/auth/login": return .success(.grant(1))
            case "/v1/auth/refresh":
                ask.yield()
                for await _ in answers { break }
                return .success(.grant(2))
            default: return .success(request.bearer == Secret("t2") ? .quota : .unauthorized)
            }
        }
        let api = try api(transport)
        await api.tokens.settle()
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        let call = Task { try await api.quota() }
        for await _ in asked { break }
        call.cancel()
        let hurried = Task { await api.tokens.settle() }
        hurried.cancel()
        await hurried.value
        #expect(stored()?.token == Secret("t1"))
        let settled = Task { await api.tokens.settle() }
        answer.yield()
        await settled.value
        #expect(stored()?.token == Secret("t2"))
    }

    @Test func statesAreToldAsTheyChange() async throws {
        let api = try api(rotating())
        var states = await api.tokens.states().makeAsyncIterator()
        #expect(await states.next() == .loggedOut)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        guard case .valid(let login) = await states.next(), login.name == "ada", login.generation == 1 else {
            Issue.record("a login is a change")
            return
        }
    }

    @Test func theFirstAttemptAfterATransportErrorUsesAFreshConnection() async throws {
        let transport = FakeTransport { request, number in
            switch number {
            case 1: .success(.grant(1))
            case 2: .failure(HTTPError(.receive, "", requestSent: true))
            default: .success(.quota)
            }
        }
        let api = try api(transport)
        try await api.logIn(identifier: "ada", password: Secret("countess"))
        for _ in 0..<3 { _ = try? await api.quota() }
        #expect(transport.requests.dropFirst().map(\.freshConnection) == [false, true, false])
    }
}
