import EventLoop
import Foundation
import TestSupport

@testable import HTTP

/// The Python server beside this file, with a client for it.
final class MisbehavingServer: Sendable {
    let port: UInt16
    let directory = TemporaryDirectory()
    let client: HTTPClient
    private let loop: EventLoop
    private let child: StdinTetheredProcess
    private let scheme: String

    private static let setUp: Void = try! HTTPClient.globalSetUp()

    struct NotReady: Error {
        let line: String
    }

    struct Echo: Decodable {
        let method: String
        let target: String
        let headers: [[String]]
        let length: Int
        let sha256: String
        let text: String
        let connection: Int

        func header(_ name: String) -> String? {
            headers.first { $0[0].lowercased() == name }?[1]
        }
    }

    init(
        tls: Bool = false, _ configuration: (String) -> HTTPConfiguration = { _ in HTTPConfiguration() }
    ) throws {
        Self.setUp
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("misbehaving-server.py").path
        child = try StdinTetheredProcess(["/usr/bin/python3", script] + (tls ? [directory.path] : []))
        let words = try child.readLine().split(separator: " ")
        guard words.count == 2, words[0] == "ready", let port = UInt16(words[1]) else {
            throw NotReady(line: words.joined(separator: " "))
        }
        self.port = port
        scheme = tls ? "https" : "http"
        loop = try EventLoop.start(name: "http-test")
        client = try HTTPClient(loop: loop, configuration: configuration(directory.path))
    }

    func url(_ path: String) throws -> HTTPURL {
        try HTTPURL("\(scheme)://127.0.0.1:\(port)\(path)")
    }

    func request(_ method: HTTPRequest.Method, _ path: String) throws -> HTTPRequest {
        HTTPRequest(method, try url(path))
    }

    func get(_ path: String) async throws -> HTTPResponse {
        try await client.send(try request(.get, path))
    }

    func echo(_ request: HTTPRequest) async throws -> Echo {
        try JSONDecoder().decode(Echo.self, from: Data(try await client.send(request).body))
    }

    /// How often a path was requested.
    func count(_ path: String) async throws -> Int? {
        Int(String(decoding: try await get("/count\(path)").body, as: UTF8.self))
    }

    /// The error of a request that must fail.
    func failure(_ request: HTTPRequest) async throws -> HTTPError? {
        do throws(HTTPError) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    /// A file of `bytes` in the temporary directory.
    func file(_ bytes: [UInt8], _ name: String = "file") throws -> SharedFile {
        let path = directory.path + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let raw = open(path, O_RDWR | O_CLOEXEC)
        guard raw >= 0 else { throw SystemError("open") }
        return SharedFile(OwnedFD(raw))
    }
}
