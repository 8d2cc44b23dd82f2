import Cloud
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import HTTP

/// Who is trusted, and what is let in: the client against the simulated cloud behind certificates made for the test.
@Suite(.serialized) struct TLSTests {
    private static let setUp: Void = try! HTTPClient.globalSetUp()
    private static let authority = Result { try TestAuthority() }

    /// A cloud and a client of it that is not logged in.
    private struct Bench {
        let cloud: CloudSimulator
        let api: CelestiaAPI
        let directory = TemporaryDirectory()

        init(
            _ options: [String], _ configuration: HTTPConfiguration, address: ((String) -> String)? = nil
        ) throws {
            TLSTests.setUp
            cloud = try CloudSimulator(options)
            api = CelestiaAPI(
                base: try APIBase(address?(cloud.address) ?? cloud.address),
                transport: try HTTPClient(
                    loop: try EventLoop.start(name: "http"), configuration: configuration),
                directory: directory.path, machine: "m1", executor: try EventLoop.start(name: "disk"))
        }

        func error(_ body: () async throws(CloudError) -> Void) async -> CloudError? {
            do throws(CloudError) {
                try await body()
                return nil
            } catch {
                return error
            }
        }
    }

    private static func error(
        _ identity: TestAuthority.Identity, trusting file: String?, pin: String? = nil,
        options: [String] = []
    ) async throws -> CloudError? {
        let bench = try Bench(
            identity.options + options, HTTPConfiguration(caFile: file, pinnedPublicKey: pin))
        let error = await bench.error { () async throws(CloudError) in try await bench.api.health() }
        let seen = try await bench.cloud.state().requests["getHealth"]?.requests ?? 0
        // Refused before anything was sent.
        #expect(seen == (error == nil ? 1 : 0))
        return error
    }

    @Test func aPrivateAuthorityIsTrustedWhereItIsConfigured() async throws {
        let authority = try Self.authority.get()
        let identity = try authority.identity("good")
        #expect(try await Self.error(identity, trusting: authority.file) == nil)
    }

    @Test func anUnknownAuthorityIsRefused() async throws {
        let identity = try Self.authority.get().identity("unknown")
        let error = try #require(try await Self.error(identity, trusting: nil))
        #expect(error.outcome == .hold(.tlsUntrusted))
        #expect(error.message.contains("is not trusted"), "\(error)")
        #expect(error.hint == HoldReason.tlsUntrusted.hint)
    }

    @Test func anotherHostsCertificateIsRefused() async throws {
        let authority = try Self.authority.get()
        let identity = try authority.identity("other", for: "DNS:api.example.org,IP:127.0.0.2")
        let error = try #require(try await Self.error(identity, trusting: authority.file))
        #expect(error.outcome == .hold(.tlsUntrusted))
        #expect(error.message.contains("127.0.0.1"), "\(error)")
    }

    @Test func anExpiredCertificateIsRefused() async throws {
        let authority = try Self.authority.get()
        let identity = try authority.identity("expired", .expired)
        let error = try #require(try await Self.error(identity, trusting: authority.file))
        #expect(error.outcome == .hold(.tlsUntrusted))
        #expect(error.message.contains("expired"), "\(error)")
    }

    /// More often than not it is the hub's clock (C-22).
    @Test func aCertificateOfTheFutureWaitsForTheClock() async throws {
        let authority = try Self.authority.get()
        let identity = try authority.identity("future", .future)
        let error = try #require(try await Self.error(identity, trusting: authority.file))
        #expect(error.outcome == .hold(.clockUnsynced))
        #expect(error.message.contains("not valid yet"), "\(error)")
    }

    @Test func aPinIsRequiredOnTopOfAValidCertificate() async throws {
        let authority = try Self.authority.get()
        let identity = try authority.identity("pinned")
        let other = try authority.identity("elsewhere")
        #expect(try await Self.error(identity, trusting: authority.file, pin: identity.pin) == nil)
        #expect(
            try await Self.error(identity, trusting: authority.file, pin: other.pin + ";" + identity.pin)
                == nil)
        let wrong = try #require(
            try await Self.error(identity, trusting: authority.file, pin: other.pin))
        #expect(wrong.outcome == .hold(.tlsUntrusted))
        // The right key does not make up for an authority that nobody knows.
        let untrusted = try #require(try await Self.error(identity, trusting: nil, pin: identity.pin))
        #expect(untrusted.outcome == .hold(.tlsUntrusted))
    }

    @Test(arguments: ["1.1", "1.2", "1.3"]) func onlyCurrentVersionsAreSpoken(_ version: String) async throws
    {
        let authority = try Self.authority.get()
        let identity = try authority.identity("version-\(version)")
        let error = try await Self.error(
            identity, trusting: authority.file, options: ["--tls-version", version])
        guard version == "1.1" else {
            #expect(error == nil)
            return
        }
        #expect(error?.transport == .tls, "\(String(describing: error))")
        #expect(error?.outcome == .retry(after: nil))
    }

    /// A redirect is an answer that is shown; what it points to sees neither a request nor a token.
    @Test(arguments: [301, 302, 303, 307, 308]) func noRedirectIsFollowed(_ status: Int) async throws {
        let authority = try Self.authority.get()
        let identity = try authority.identity("redirect-\(status)")
        let bench = try Bench(identity.options, HTTPConfiguration(caFile: authority.file))
        let elsewhere = try CloudSimulator(identity.options)
        try await bench.api.logIn(identifier: "ada", password: Secret("countess"))
        try await bench.cloud.addFaults(
            #"[{"route":"getProfile","action":"status","status":\#(status),"headers":{"Location":"\#(elsewhere.address)/user/profile"}}]"#
        )
        let error = await bench.error { () async throws(CloudError) in _ = try await bench.api.profile() }
        #expect(error?.outcome == .hold(.redirected))
        #expect(try await elsewhere.state().requests.isEmpty)
        #expect(try await bench.api.profile().username == "ada")
    }

    @Test(arguments: [
        "http://api.example.org/v1", "http://192.0.2.1/v1", "http://127.0.0.1.example.org",
        "http://[2001:db8::1]",
    ]) func plainHTTPGoesToThisMachineOnly(_ address: String) {
        #expect(throws: CloudError.self) { try APIBase(address) }
    }

    /// The API never answers so: a part of it could be anything.
    @Test func answersAreBounded() async throws {
        let authority = try Self.authority.get()
        let bench = try Bench(
            try authority.identity("bounded").options, HTTPConfiguration(caFile: authority.file))
        let body = String(repeating: "x", count: 2 << 20)
        try await bench.cloud.addFaults(
            #"[{"route":"getHealth","action":"status","status":200,"body":"\#(body)"}]"#)
        let health = { () async throws(CloudError) in try await bench.api.health() }
        #expect(await bench.error(health)?.transport == .bodyTooLarge)
        let fields = (0..<90).map { #""X-\#($0)":"\#(String(repeating: "y", count: 1000))""# }
        try await bench.cloud.addFaults(
            #"[{"route":"getHealth","action":"status","status":200,"headers":{\#(fields.joined(separator: ","))}}]"#
        )
        #expect(await bench.error(health)?.transport == .headersTooLarge)
        #expect(await bench.error(health) == nil)
    }

    /// A small answer could be inflated to any size: what comes is taken as it is, whatever it says of itself.
    @Test func nothingIsDecompressed() async throws {
        let authority = try Self.authority.get()
        let bench = try Bench(
            try authority.identity("plain").options, HTTPConfiguration(caFile: authority.file))
        try await bench.cloud.addFaults(
            #"[{"route":"getHealth","action":"status","status":200,"code":0,"headers":{"Content-Encoding":"gzip"}}]"#
        )
        #expect(
            await bench.error { () async throws(CloudError) in try await bench.api.health() } == nil)
    }
}
