package import Dates

/// What is sent of a session. Always the whole of it: nothing relies on the server replacing or merging.
package struct SessionUpsert: Sendable, Equatable, Encodable {
    package var clientId: String
    package var title: String
    package var startTime: Timestamp
    package var endTime: Timestamp?
    package let durationMs: Int64
    package let events: [EventUpsert]
    /// The revision that this change is based on; nil only for a session that the server never had (C-31).
    package var baseRevision: Int64?
    package let deletedEventClientIds: [String]

    /// A negative duration counts as 0; an id among `events` is taken out of `deletedEventClientIds` (C-35).
    package init(
        clientId: String, title: String, startTime: Timestamp, endTime: Timestamp? = nil, durationMs: Int64,
        events: [EventUpsert] = [], baseRevision: Int64? = nil, deletedEventClientIds: [String] = []
    ) {
        self.clientId = clientId
        self.title = title
        self.startTime = startTime
        self.endTime = endTime
        self.durationMs = max(0, durationMs)
        self.events = events
        self.baseRevision = baseRevision
        let present = Set(events.map(\.clientId))
        self.deletedEventClientIds = deletedEventClientIds.filter { !present.contains($0) }
    }

    /// Whether the server's session is what this upsert makes it, as after one whose answer was lost: then it
    /// was ours, and its id and revision may be adopted (C-31). Times may differ by the server's rounding.
    package func matches(_ remote: RemoteSession) -> Bool {
        guard remote.clientId == clientId, remote.deletedAt == nil, remote.unreadableCount == 0,
            remote.title == title, remote.durationMs == durationMs,
            Self.isSame(startTime, remote.startTime), Self.isSame(endTime, remote.endTime),
            remote.events.count == events.count
        else { return false }
        let byClientId = Dictionary(
            remote.events.compactMap { event in event.clientId.map { ($0, event) } },
            uniquingKeysWith: { first, _ in first })
        return events.allSatisfy { event in byClientId[event.clientId].map(event.matches) ?? false }
    }

    private static func isSame(_ left: Timestamp?, _ right: Timestamp?) -> Bool {
        switch (left, right) {
        case (nil, nil): true
        case (let left?, let right?): left.isClose(to: right)
        default: false
        }
    }
}

/// What is sent of an event.
package struct EventUpsert: Sendable, Equatable, Encodable {
    package let clientId: String
    package let relativeTimeMs: Int64
    package let eventType: EventType
    package let textContent: String?
    package let voiceStartOffsetMs: Int64?
    package let voiceEndOffsetMs: Int64?

    /// Voice offsets are sent only as a pair in order (C-41).
    package init(
        clientId: String, relativeTimeMs: Int64, eventType: EventType, textContent: String? = nil,
        voiceOffsetsMs: ClosedRange<Int64>? = nil
    ) {
        self.clientId = clientId
        self.relativeTimeMs = relativeTimeMs
        self.eventType = eventType
        self.textContent = textContent
        let offsets = voiceOffsetsMs.flatMap { $0.lowerBound >= 0 ? $0 : nil }
        voiceStartOffsetMs = offsets?.lowerBound
        voiceEndOffsetMs = offsets?.upperBound
    }

    func matches(_ remote: RemoteEvent) -> Bool {
        remote.relativeTimeMs == relativeTimeMs && remote.eventType == eventType
            && remote.textContent ?? "" == textContent ?? ""
            && remote.voiceStartOffsetMs == voiceStartOffsetMs
            && remote.voiceEndOffsetMs == voiceEndOffsetMs
    }
}
