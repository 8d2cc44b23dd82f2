import Foundation
import FoundationNetworking

#if canImport(Testing)
    import Testing
#endif

/// A simulated Celestia cloud of its own for one test, which ends with this value. Its options and control plane are
/// described in simulators/README.md. Any request that breaks the contract fails the test.
package final class CloudSimulator: Sendable {
    /// The API's address, base path included.
    package let address: String
    private let onBreach: @Sendable (String) -> Void
    private let child: StdinTetheredProcess
    private let control: String

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// What `GET /_sim/state` tells, as far as tests look at it.
    package struct State: Decodable, Sendable {
        package struct User: Decodable, Sendable {
            package struct Tokens: Decodable, Sendable {
                package let generation: Int
                package let logins: Int
                package let refreshes: Int
            }

            package let id: String
            package let username: String?
            package let tokens: Tokens
            package let checkpoints: Int
        }

        package struct Device: Decodable, Sendable {
            package let id: String
            package let name: String
            package let peripheralUUID: String
            package let batteryLevel: Int?
            package let firmwareVersion: String?
            package let freeStorageMB: Int?
            package let totalStorageMB: Int?
            package let isConnected: Bool?
        }

        package struct Asset: Decodable, Sendable {
            package let id: String
            package let clientId: String
            package let kind: String
            package let fileName: String
            package let mimeType: String
            package let size: Int64
            package let sha256: String
        }

        package struct Session: Decodable, Sendable {
            package let id: String
            package let userId: String
            package let clientId: String?
            package let revision: Int64
            package let deletedAt: String?
            package let assets: [Asset]
        }

        package struct Upload: Decodable, Sendable {
            package let id: String
            package let clientId: String
            package let receivedChunks: [Int]
            package let state: String
        }

        package struct Counts: Decodable, Sendable {
            package let requests: Int
        }

        package let users: [User]
        package let devices: [Device]
        package let sessions: [Session]
        package let uploads: [Upload]
        package let requests: [String: Counts]
        package let violations: Int
        package let advice: Int
    }

    /// Starts it with the user `ada` whose password is `countess`, and further command line options.
    /// `onBreach` is told at the end what broke the contract.
    package init(
        _ options: [String] = [],
        onBreach: @escaping @Sendable (String) -> Void = { CloudSimulator.fail($0) }
    ) throws {
        self.onBreach = onBreach
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let program = root.appendingPathComponent("simulators/cloud/celestia-cloud").path
        child = try StdinTetheredProcess([program, "--user", "ada:countess"] + options)
        let line = try child.readLine()
        guard line.hasPrefix("ready "), let url = URL(string: String(line.dropFirst(6))), let host = url.host,
            let port = url.port
        else { throw Failure(description: "the cloud simulator said: \(line)") }
        address = String(line.dropFirst(6))
        if url.scheme == "https" {
            // The control plane without TLS: this process's own client does not know the test's authority.
            control = String(try child.readLine().dropFirst("control ".count))
        } else {
            control = "http://\(host):\(port)/_sim/"
        }
    }

    /// The programs are built with all targets and without the testing library.
    private static func fail(_ breach: String) {
        #if canImport(Testing)
            Issue.record("the contract was broken: \(breach)")
        #endif
    }

    deinit {
        end()
    }

    /// Ends it now, as a crash would.
    package func stop() {
        end()
    }

    private func end() {
        let prefix = "violation "
        for line in child.killReadingRest() where line.hasPrefix(prefix) {
            onBreach(String(line.dropFirst(prefix.count)))
        }
    }

    package func state() async throws -> State {
        try JSONDecoder().decode(State.self, from: Data(try await get("state")))
    }

    private struct Findings: Decodable {
        struct Finding: Decodable, CustomStringConvertible {
            let operation: String?
            let rule: String
            let detail: String?

            var description: String { "\(operation ?? "?"): \(rule) \(detail ?? "")" }
        }

        let violations: [Finding]
        let advice: [Finding]
    }

    /// The rules that requests broke, one line each; empty is what every test of a client should end with.
    package func violations() async throws -> [String] {
        try await findings().violations.map(\.description)
    }

    /// What a good client would not have done, one line each.
    package func advice() async throws -> [String] {
        try await findings().advice.map(\.description)
    }

    private func findings() async throws -> Findings {
        try JSONDecoder().decode(Findings.self, from: Data(try await get("violations")))
    }

    /// Installs faults, given as the JSON list that `POST faults` takes.
    package func addFaults(_ json: String) async throws {
        try await post("faults", json)
    }

    /// Removes all faults.
    package func clearFaults() async throws {
        _ = try await send("DELETE", "faults", nil)
    }

    /// Any request of the control plane with a JSON body, for example `post("expire-tokens", "{}")`.
    package func post(_ path: String, _ json: String = "{}") async throws {
        _ = try await send("POST", path, Data(json.utf8))
    }

    /// The answer's text, JSON but for `assets/<sha256>`.
    package func get(_ path: String) async throws -> [UInt8] {
        Array(try await send("GET", path, nil))
    }

    private func send(_ method: String, _ path: String, _ body: Data?) async throws -> Data {
        guard let url = URL(string: control + path) else { throw Failure(description: "bad path \(path)") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "Content-Type") }
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else {
            throw Failure(
                description: "\(method) \(path): \(status) \(String(decoding: data, as: UTF8.self))")
        }
        return data
    }
}
