import Foundation
import FoundationNetworking

/// A bad network in front of a server, which ends with this value: simulators/cloud/tcp-proxy, whose commands
/// simulators/README.md describes.
package final class TCPProxy: Sendable {
    package let port: Int
    private let child: StdinTetheredProcess
    private let control: URL

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package struct State: Decodable, Sendable {
        package let accepted: Int
        package let open: Int
        package let cut: Int
        package let bytesUp: Int64
        package let bytesDown: Int64
    }

    /// Carries connections on to a port of this machine.
    package init(to target: Int) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let program = root.appendingPathComponent("simulators/cloud/tcp-proxy").path
        child = try StdinTetheredProcess([program, "127.0.0.1:\(target)"])
        let words = try child.readLine().split(separator: " ")
        guard words.count == 3, words[0] == "ready", let port = Int(words[1]),
            let control = URL(string: "http://127.0.0.1:\(words[2])/")
        else { throw Failure(description: "the proxy said: \(words.joined(separator: " "))") }
        self.port = port
        self.control = control
    }

    /// A proxy in front of a server's address, and the address through it.
    package convenience init(inFrontOf address: String) throws {
        guard let port = URL(string: address)?.port else { throw Failure(description: "no port: \(address)") }
        try self.init(to: port)
    }

    /// `address` with this proxy's port in the place of its own.
    package func address(_ address: String) throws -> String {
        guard var parts = URLComponents(string: address) else {
            throw Failure(description: "no address: \(address)")
        }
        parts.port = port
        return parts.string ?? address
    }

    @discardableResult
    package func tell(_ json: String) async throws -> State {
        var request = URLRequest(url: control)
        request.httpMethod = "POST"
        request.httpBody = Data(json.utf8)
        let (data, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else {
            throw Failure(description: String(decoding: data, as: UTF8.self))
        }
        return try JSONDecoder().decode(State.self, from: data)
    }

    package func state() async throws -> State {
        try await tell("{}")
    }
}
