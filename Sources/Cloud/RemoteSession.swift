package import Dates

/// A capture session as the server has it. `id` and `revision` are indispensable; everything else is read as
/// far as it can be.
package struct RemoteSession: Sendable, Equatable, Decodable {
    package let id: String
    /// nil for sessions that other clients made without one: matched by `id`, never deleted (C-37).
    package let clientId: String?
    package let title: String
    package let startTime: Timestamp?
    package let endTime: Timestamp?
    package let durationMs: Int64
    package let revision: Int64
    /// Set on tombstones.
    package let deletedAt: Timestamp?
    package let events: [RemoteEvent]
    package let assets: [RemoteAsset]
    /// Elements of `events` and `assets` that could not be read; not to be taken for absent.
    package let unreadableCount: Int

    private enum CodingKeys: CodingKey {
        case id, clientId, title, startTime, endTime, durationMs, revision, deletedAt, events, assets
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        revision = try fields.decode(Int64.self, forKey: .revision)
        clientId = fields.lenient(String.self, .clientId)
        title = fields.lenient(String.self, .title) ?? ""
        startTime = fields.lenient(Timestamp.self, .startTime)
        endTime = fields.lenient(Timestamp.self, .endTime)
        durationMs = fields.lenient(Int64.self, .durationMs) ?? 0
        // An unreadable deletion time is still a deletion.
        let isDeleted = fields.contains(.deletedAt) && (try? fields.decodeNil(forKey: .deletedAt)) == false
        deletedAt =
            isDeleted
            ? fields.lenient(Timestamp.self, .deletedAt) ?? Timestamp(secondsSince1970: 0) : nil
        let events = fields.lenient(LenientArray<RemoteEvent>.self, .events)
        let assets = fields.lenient(LenientArray<RemoteAsset>.self, .assets)
        self.events = events?.elements ?? []
        self.assets = assets?.elements ?? []
        unreadableCount = (events?.unreadableCount ?? 0) + (assets?.unreadableCount ?? 0)
    }
}

/// An event of a session as the server has it.
package struct RemoteEvent: Sendable, Equatable, Decodable {
    package let id: String
    package let clientId: String?
    package let relativeTimeMs: Int64
    /// As the server spells it; values that this version does not know are kept (C-8).
    package let eventType: EventType
    package let textContent: String?
    package let voiceStartOffsetMs: Int64?
    package let voiceEndOffsetMs: Int64?
    package let createdAt: Timestamp?

    private enum CodingKeys: CodingKey {
        case id, clientId, relativeTimeMs, eventType, textContent, voiceStartOffsetMs, voiceEndOffsetMs
        case createdAt
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        relativeTimeMs = try fields.decode(Int64.self, forKey: .relativeTimeMs)
        eventType = EventType(rawValue: try fields.decode(String.self, forKey: .eventType))
        clientId = fields.lenient(String.self, .clientId)
        textContent = fields.lenient(String.self, .textContent)
        voiceStartOffsetMs = fields.lenient(Int64.self, .voiceStartOffsetMs)
        voiceEndOffsetMs = fields.lenient(Int64.self, .voiceEndOffsetMs)
        createdAt = fields.lenient(Timestamp.self, .createdAt)
    }
}

/// The kind of an event: an open set.
package struct EventType: RawRepresentable, Sendable, Hashable, Codable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let photo = EventType(rawValue: "PHOTO")
    package static let note = EventType(rawValue: "NOTE")
    package static let marker = EventType(rawValue: "MARKER")
    package static let voice = EventType(rawValue: "VOICE")
    package static let continuation = EventType(rawValue: "CONTINUATION")
}

/// `GET /sessions`: what could be read of it.
package struct SessionList: Sendable, Equatable {
    package let sessions: [RemoteSession]
    /// Sessions that could not be read: what is not in `sessions` is not proved absent.
    package let unreadableCount: Int

    /// The session of a client id, tombstone or not.
    package func session(clientId: String) -> RemoteSession? {
        sessions.first { $0.clientId == clientId }
    }

    /// The asset of a client id and the session that has it: settles an ambiguous upload (C-64, C-68).
    package func findAsset(clientId: String) -> (session: RemoteSession, asset: RemoteAsset)? {
        for session in sessions {
            if let asset = session.assets.first(where: { $0.clientId == clientId }) {
                return (session, asset)
            }
        }
        return nil
    }
}
