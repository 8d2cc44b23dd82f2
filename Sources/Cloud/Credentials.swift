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
    /// Whose they are: never changed by a refresh, whatever its answer says.
    package var account: String
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
    /// The user's id; where the server gave none that can be kept, the name of the login.
    static func account(of user: CloudUser?, identifier: String) -> String {
        if let id = usableID(of: user) { return id }
        return "name:"
            + String(
                identifier.lowercased().unicodeScalars.filter { $0.value > 0x20 }.prefix(60).map(
                    Character.init))
    }

    /// Printable, and a UUID in one spelling: nil for what cannot be told apart.
    static func usableID(of user: CloudUser?) -> String? {
        guard let id = user?.id, (1...256).contains(id.utf8.count),
            id.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { return nil }
        let isUUID = id.utf8.count == 36 && id.allSatisfy { $0.isHexDigit || $0 == "-" }
        return isUUID ? id.lowercased() : id
    }

    /// The file's JSON. Apart from `Credentials`, so that secrets can be encoded here and nowhere else.
    private struct Record: Codable {
        var version: Int
        var base: String
        var machine: String
        var generation: UInt64
        /// Absent in files of before 2026-12.
        var account: String?
        var identifier: String
        var user: CloudUser?
        var token: String
        var refreshToken: String
        var expiresAt: Timestamp?
        var refreshInflight: Bool
    }

    func encoded() throws(CloudError) -> [UInt8] {
        let record = Record(
            version: 1, base: base, machine: machine, generation: generation, account: account,
            identifier: identifier, user: user,
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
            account: record.account ?? Self.account(of: record.user, identifier: record.identifier),
            identifier: record.identifier, user: record.user, token: Secret(record.token),
            refreshToken: Secret(record.refreshToken), expiresAt: record.expiresAt,
            refreshInflight: record.refreshInflight)
    }
}
