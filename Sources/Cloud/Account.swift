package import Dates
package import HTTP

/// The account as the server shows it. Read tolerantly: a missing name must not cost a login.
package struct CloudUser: Sendable, Equatable, Codable {
    package let id: String
    package let username: String
    package let email: String?
    package let phoneNumber: String?
    package let avatarURL: String?
    package let registeredAt: Timestamp?
    package let updatedAt: Timestamp?

    package init(
        id: String, username: String, email: String? = nil, phoneNumber: String? = nil,
        avatarURL: String? = nil, registeredAt: Timestamp? = nil, updatedAt: Timestamp? = nil
    ) {
        self.id = id
        self.username = username
        self.email = email
        self.phoneNumber = phoneNumber
        self.avatarURL = avatarURL
        self.registeredAt = registeredAt
        self.updatedAt = updatedAt
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        // Bounded, because all of it is kept; an id may be a number.
        func text(_ key: CodingKeys, limit: Int = 512) -> String? {
            fields.lenient(String.self, key).map { String($0.prefix(limit)) }
        }
        if let number = fields.lenient(Int64.self, .id) {
            id = String(number)
        } else {
            id = String(try fields.decode(String.self, forKey: .id).prefix(512))
        }
        username = text(.username) ?? ""
        email = text(.email)
        phoneNumber = text(.phoneNumber)
        avatarURL = text(.avatarURL, limit: 2048)
        registeredAt = fields.lenient(Timestamp.self, .registeredAt)
        updatedAt = fields.lenient(Timestamp.self, .updatedAt)
    }
}

/// What login, register and refresh grant. Only the tokens are indispensable: refusing a rotated pair because
/// of some other field would lose it.
package struct AuthGrant: Sendable, Equatable, Decodable {
    package let user: CloudUser?
    package let token: Secret
    package let refreshToken: Secret
    package let expiresAt: Timestamp?

    package init(user: CloudUser?, token: Secret, refreshToken: Secret, expiresAt: Timestamp?) {
        self.user = user
        self.token = token
        self.refreshToken = refreshToken
        self.expiresAt = expiresAt
    }

    private enum CodingKeys: CodingKey {
        case user, token, refreshToken, expiresAt
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        token = try Self.token(fields, .token)
        refreshToken = try Self.token(fields, .refreshToken)
        user = fields.lenient(CloudUser.self, .user)
        expiresAt = fields.lenient(Timestamp.self, .expiresAt)
    }

    /// A token goes into a header line: anything that does not fit there is not one.
    private static func token(
        _ fields: KeyedDecodingContainer<CodingKeys>, _ key: CodingKeys
    ) throws -> Secret {
        let text = try fields.decode(String.self, forKey: key)
        guard (1...16_384).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw DecodingError.dataCorruptedError(forKey: key, in: fields, debugDescription: "not a token")
        }
        return Secret(text)
    }
}

/// What to change of the profile; nil leaves a field alone and is never sent (C-13).
package struct ProfileUpdate: Sendable, Equatable, Encodable {
    package var username: String?
    package var email: String?
    package var phoneNumber: String?
    package var avatarURL: String?

    package init(
        username: String? = nil, email: String? = nil, phoneNumber: String? = nil, avatarURL: String? = nil
    ) {
        self.username = username
        self.email = email
        self.phoneNumber = phoneNumber
        self.avatarURL = avatarURL
    }
}
