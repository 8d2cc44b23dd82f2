package import Dates
import FoundationEssentials
package import HTTP

/// A login: what the credentials file holds.
package struct Credentials: Sendable, Equatable {
    /// The API's address, to which alone the tokens are sent (C-25).
    package var base: String
    /// The machine that logged in: a copy elsewhere would fight with this one over the rotation (C-23).
    package var machine: String
    /// Counts up with every new pair.
    package var generation: UInt64
    /// The name that was used to log in.
    package var identifier: String
    package var user: CloudUser?
    package var token: Secret
    package var refreshToken: Secret
    package var expiresAt: Timestamp?
    /// Written before a refresh is sent, cleared by its answer: found at start, the answer was lost (C-17).
    package var refreshInflight: Bool
}

extension Credentials {
    /// The file's JSON. Apart from `Credentials`, so that secrets can be encoded here and nowhere else.
    private struct Record: Codable {
        var version: Int
        var base: String
        var machine: String
        var generation: UInt64
        var identifier: String
        var user: CloudUser?
        var token: String
        var refreshToken: String
        var expiresAt: Timestamp?
        var refreshInflight: Bool
    }

    func encoded() throws(CloudError) -> [UInt8] {
        let record = Record(
            version: 1, base: base, machine: machine, generation: generation, identifier: identifier,
            user: user,
            token: token.reveal(), refreshToken: refreshToken.reveal(), expiresAt: expiresAt,
            refreshInflight: refreshInflight)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
        guard let data = try? encoder.encode(record) else { throw .storage("credentials cannot be encoded") }
        return Array(data)
    }

    /// nil when the bytes are not a credentials file of this version.
    init?(decoding bytes: [UInt8]) {
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)), record.version == 1,
            !record.token.isEmpty, !record.refreshToken.isEmpty
        else { return nil }
        self.init(
            base: record.base, machine: record.machine, generation: record.generation,
            identifier: record.identifier, user: record.user, token: Secret(record.token),
            refreshToken: Secret(record.refreshToken), expiresAt: record.expiresAt,
            refreshInflight: record.refreshInflight)
    }
}
