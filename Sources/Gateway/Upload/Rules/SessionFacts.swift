package import CaptureQueue
package import Cloud
import Dates
import FoundationEssentials

/// What the cloud knows of a session besides its files, in the one form in which ours and the server's are compared,
/// merged and stored.
package struct SessionFacts: Sendable, Equatable, Codable {
    package struct Event: Sendable, Equatable, Codable {
        package var id: String
        package var relativeTimeMs: Int64
        package var type: String
        package var text: String?
        package var voiceStartMs: Int64?
        package var voiceEndMs: Int64?

        package init(
            id: String, relativeTimeMs: Int64, type: String, text: String? = nil, voiceStartMs: Int64? = nil,
            voiceEndMs: Int64? = nil
        ) {
            self.id = id
            self.relativeTimeMs = relativeTimeMs
            self.type = type
            // A server may tell no text as an empty one.
            self.text = text?.isEmpty == true ? nil : text
            self.voiceStartMs = voiceStartMs
            self.voiceEndMs = voiceEndMs
        }
    }

    package var title: String
    /// Milliseconds since 1970.
    package var startMs: Int64
    package var endMs: Int64?
    package var durationMs: Int64
    package var events: [Event]

    package init(title: String, startMs: Int64, endMs: Int64?, durationMs: Int64, events: [Event]) {
        self.title = title
        self.startMs = startMs
        self.endMs = endMs
        self.durationMs = durationMs
        self.events = events
    }

    /// Ours; events that were deleted here are left out.
    package init(_ session: SessionRecord, _ events: [EventRecord]) {
        let start = session.startedAt.instant.wireMilliseconds
        self.init(
            title: session.title ?? Self.title(for: session.startedAt), startMs: start,
            endMs: session.endedAt.map { max(start, $0.instant.wireMilliseconds) },
            durationMs: max(0, session.durationMs),
            events: events.filter { !$0.isDeleted }.map { event in
                Event(
                    id: event.id, relativeTimeMs: event.relativeTimeMs, type: event.type.rawValue,
                    text: event.text, voiceStartMs: event.voiceStartOffsetMs,
                    voiceEndMs: event.voiceEndOffsetMs)
            })
    }

    /// The server's. Events of other clients without a client id are not ours to touch (C-37).
    package init(_ remote: RemoteSession) {
        self.init(
            title: remote.title, startMs: remote.startTime?.millisecondsSince1970 ?? 0,
            endMs: remote.endTime?.millisecondsSince1970, durationMs: remote.durationMs,
            events: remote.events.compactMap { event in
                event.clientId.map {
                    Event(
                        id: $0, relativeTimeMs: event.relativeTimeMs, type: event.eventType.rawValue,
                        text: event.textContent, voiceStartMs: event.voiceStartOffsetMs,
                        voiceEndMs: event.voiceEndOffsetMs)
                }
            })
    }

    /// A capture without a title is called by when it began, in the recorder's own words.
    private static func title(for start: CaptureTime) -> String {
        let text =
            Timestamp(start.text) == nil
            ? Timestamp(millisecondsSince1970: start.instant.wireMilliseconds).description : start.text
        return "Recording of \(text.prefix(10)) \(text.dropFirst(11).prefix(5))"
    }

    // MARK: Stored forms

    /// As the queue keeps the server's view.
    package var snapshot: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    package init?(snapshot: String) {
        guard let facts = try? JSONDecoder().decode(SessionFacts.self, from: Data(snapshot.utf8)) else {
            return nil
        }
        self = facts
    }

    /// Tells whether something changed since it was sent; over a form in which the order of keys or events and the
    /// encoder's habits play no part (C-16).
    package func digest(deletions: [String]) -> String {
        var text = ""
        func add(_ field: String?) {
            text += field.map { "\($0.utf8.count):\($0)" } ?? "-"
            text += ","
        }
        add(title)
        for value in [startMs, endMs, durationMs] { add(value.map { String($0) }) }
        for event in events.sorted(by: { $0.id < $1.id }) {
            add(event.id)
            add(event.type)
            add(event.text)
            for value in [event.relativeTimeMs, event.voiceStartMs, event.voiceEndMs] {
                add(value.map { String($0) })
            }
        }
        add("deleted")
        for id in deletions.sorted() { add(id) }
        return SHA256Digest(hashing: Array(text.utf8)).hex
    }

    // MARK: On the wire

    /// What is sent: ours, completed by what others added and changed as far as it was `seen`, so that neither a server
    /// that replaces nor one that merges loses anything (C-36). Our own events never change after they were recorded:
    /// where the server's differ, somebody edited them there.
    package func upsert(
        clientID: String, seen: SessionFacts?, deletions: [String], baseRevision: Int64?
    ) -> SessionUpsert {
        let theirs = Dictionary(
            (seen?.events ?? []).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
        let own = Set(events.map(\.id))
        let gone = Set(deletions)
        let kept = events.map { theirs[$0.id] ?? $0 }
        let added = (seen?.events ?? []).filter { !own.contains($0.id) && !gone.contains($0.id) }
        let start = seen.flatMap { Self.isClose($0.startMs, startMs) ? nil : $0.startMs } ?? startMs
        return SessionUpsert(
            clientId: clientID, title: title, startTime: Timestamp(millisecondsSince1970: start),
            endTime: endMs.map { Timestamp(millisecondsSince1970: max(start, $0)) },
            durationMs: durationMs, events: (kept + added).compactMap(\.upsert), baseRevision: baseRevision,
            deletedEventClientIds: deletions)
    }

    /// Servers round: a difference below a second is none (C-11).
    static func isClose(_ left: Int64?, _ right: Int64?) -> Bool {
        guard let left, let right else { return left == right }
        let (difference, overflow) = left.subtractingReportingOverflow(right)
        return !overflow && abs(difference) < 1000
    }
}

extension SessionFacts.Event {
    /// nil for a type that the contract does not know: it could not be sent.
    fileprivate var upsert: EventUpsert? {
        guard ["PHOTO", "NOTE", "MARKER", "VOICE", "CONTINUATION"].contains(type) else { return nil }
        var offsets: ClosedRange<Int64>?
        if let voiceStartMs, let voiceEndMs, voiceStartMs <= voiceEndMs {
            offsets = voiceStartMs...voiceEndMs
        }
        return EventUpsert(
            clientId: id, relativeTimeMs: relativeTimeMs, eventType: Cloud.EventType(rawValue: type),
            textContent: text, voiceOffsetsMs: offsets)
    }
}

extension Date {
    /// Milliseconds since 1970, within the years 1 to 9999.
    var wireMilliseconds: Int64 {
        let milliseconds = timeIntervalSince1970 * 1000
        guard milliseconds.isFinite else { return 0 }
        return Int64(min(253_402_300_799_000, max(-62_135_596_800_000, milliseconds)).rounded())
    }
}
