internal import FoundationEssentials
internal import ObjectTransfer

extension Manifest {
    /// Decodes the bytes of a manifest object. What identifies the capture must be right, or this throws
    /// `malformedManifest`; a file or event that is not right is left out and named in ``problems`` (its
    /// object is then salvaged like any other that no manifest names).
    package init(json bytes: [UInt8]) throws(RecorderError) {
        guard bytes.count <= RecorderProfile.maximumManifestBytes else {
            throw RecorderError(.malformedManifest, "a manifest of \(bytes.count) bytes")
        }
        let raw: RawManifest
        do {
            raw = try JSONDecoder().decode(RawManifest.self, from: Data(bytes))
        } catch let error as DecodingError {
            throw RecorderError(.malformedManifest, "manifest: \(error.briefly)")
        } catch {
            throw RecorderError(.malformedManifest, "manifest: not JSON")
        }
        guard raw.version == Manifest.version else {
            throw RecorderError(.malformedManifest, "manifest: version \(raw.version) is not known")
        }
        guard Self.isUUID(raw.captureId) else {
            throw RecorderError(.malformedManifest, "manifest: captureId is no UUID")
        }
        guard let startedAt = WrittenTime(raw.startedAt) else {
            throw RecorderError(.malformedManifest, "manifest: startedAt is no RFC 3339 time")
        }
        guard raw.durationMs >= 0 else {
            throw RecorderError(.malformedManifest, "manifest: durationMs is negative")
        }
        guard raw.files.count <= DirectoryListing.maximumObjects else {
            throw RecorderError(.malformedManifest, "manifest: \(raw.files.count) files")
        }
        self.init(
            captureID: raw.captureId, title: raw.title, startedAt: startedAt,
            endedAt: raw.endedAt.flatMap { WrittenTime($0) }, durationMs: raw.durationMs, files: [])
        if raw.endedAt != nil, endedAt == nil { problems.append("endedAt is no RFC 3339 time") }
        for (position, file) in raw.files.enumerated() { add(file, at: position) }
        for (position, event) in (raw.events ?? []).enumerated() { add(event, at: position) }
    }

    private mutating func add(_ entry: Lenient<RawFile>, at position: Int) {
        guard let raw = entry.value, let objectID = ObjectID(hex: raw.objectId), objectID.isOrdinary,
            let size = UInt32(exactly: raw.sizeBytes)
        else {
            problems.append("file \(position): \(entry.reason ?? "objectId or sizeBytes is out of range")")
            return
        }
        guard !files.contains(where: { $0.objectID == objectID }) else {
            problems.append("file \(position): object \(objectID) is named twice")
            return
        }
        var file = File(
            objectID: objectID, kind: raw.kind, name: raw.name, mimeType: raw.mimeType, sizeBytes: size)
        if !Self.isMediaType(raw.mimeType) {
            problems.append("file \(position): mimeType is no media type")
            file.mimeType = "application/octet-stream"
        }
        if let sha256 = raw.sha256 {
            if sha256.utf8.count == 64, sha256.utf8.allSatisfy(Self.isHexDigit) {
                file.sha256 = sha256.lowercased()
            } else {
                problems.append("file \(position): sha256 is not 64 hexadecimal digits")
            }
        }
        files.append(file)
    }

    private mutating func add(_ entry: Lenient<RawEvent>, at position: Int) {
        guard let raw = entry.value, Self.isUUID(raw.id), raw.relativeTimeMs >= 0,
            raw.voiceStartOffsetMs ?? 0 >= 0, raw.voiceEndOffsetMs ?? 0 >= 0
        else {
            problems.append("event \(position): \(entry.reason ?? "id or a time is out of range")")
            return
        }
        guard !events.contains(where: { $0.id == raw.id }) else {
            problems.append("event \(position): its id is used twice")
            return
        }
        let objectID = raw.objectId.flatMap { ObjectID(hex: $0) }
        if raw.objectId != nil, objectID == nil {
            problems.append("event \(position): objectId is not twelve hexadecimal digits")
        }
        events.append(
            Event(
                id: raw.id, relativeTimeMs: raw.relativeTimeMs, kind: raw.type, text: raw.text,
                objectID: objectID, voiceStartOffsetMs: raw.voiceStartOffsetMs,
                voiceEndOffsetMs: raw.voiceEndOffsetMs))
    }

    /// The manifest as a recorder writes it: keys sorted, so that equal manifests have equal bytes.
    package var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and integers always have a JSON form.
        guard let data = try? encoder.encode(RawManifest(self)) else { return [] }
        return Array(data)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }

    private static func isUUID(_ text: String) -> Bool {
        let bytes = Array(text.utf8.prefix(37))
        return bytes.count == 36
            && bytes.enumerated().allSatisfy { position, byte in
                [8, 13, 18, 23].contains(position) ? byte == UInt8(ascii: "-") : isHexDigit(byte)
            }
    }

    /// Whether `text` is `type/subtype` of RFC 9110 tokens, with at most 100 bytes and no parameters.
    private static func isMediaType(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= 100 && parts.count == 2
            && parts.allSatisfy { part in
                !part.isEmpty
                    && part.allSatisfy { byte in
                        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                            || "!#$&^_.+-".utf8.contains(byte)
                    }
            }
    }
}

private struct RawManifest: Codable {
    var version: Int
    var captureId: String
    var title: String?
    var startedAt: String
    var endedAt: String?
    var durationMs: Int64
    var files: [Lenient<RawFile>]
    var events: [Lenient<RawEvent>]?

    init(_ manifest: Manifest) {
        version = Manifest.version
        captureId = manifest.captureID
        title = manifest.title
        startedAt = manifest.startedAt.text
        endedAt = manifest.endedAt?.text
        durationMs = manifest.durationMs
        files = manifest.files.map { Lenient(RawFile($0)) }
        events = manifest.events.map { Lenient(RawEvent($0)) }
    }
}

private struct RawFile: Codable {
    var objectId: String
    var kind: Manifest.Kind
    var name: String
    var mimeType: String
    var sizeBytes: Int64
    var sha256: String?

    init(_ file: Manifest.File) {
        objectId = file.objectID.description
        kind = file.kind
        name = file.name
        mimeType = file.mimeType
        sizeBytes = Int64(file.sizeBytes)
        sha256 = file.sha256
    }
}

private struct RawEvent: Codable {
    var id: String
    var relativeTimeMs: Int64
    var type: Manifest.Event.Kind
    var text: String?
    var objectId: String?
    var voiceStartOffsetMs: Int64?
    var voiceEndOffsetMs: Int64?

    init(_ event: Manifest.Event) {
        id = event.id
        relativeTimeMs = event.relativeTimeMs
        type = event.kind
        text = event.text
        objectId = event.objectID?.description
        voiceStartOffsetMs = event.voiceStartOffsetMs
        voiceEndOffsetMs = event.voiceEndOffsetMs
    }
}

/// An entry whose own mistakes do not spoil the list that it is in.
private struct Lenient<Value: Codable>: Codable {
    let value: Value?
    let reason: String?

    init(_ value: Value) {
        self.value = value
        reason = nil
    }

    init(from decoder: any Decoder) throws {
        do {
            value = try Value(from: decoder)
            reason = nil
        } catch let error as DecodingError {
            value = nil
            reason = error.briefly
        }
    }

    func encode(to encoder: any Encoder) throws {
        try value?.encode(to: encoder)
    }
}

extension DecodingError {
    /// The key and the mistake, without the text that was sent.
    fileprivate var briefly: String {
        switch self {
        case .keyNotFound(let key, _): "\(key.stringValue) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            "\(context.codingPath.last?.stringValue ?? "the whole") has the wrong type"
        case .dataCorrupted(let context):
            context.codingPath.last.map { "\($0.stringValue) has no allowed value" } ?? "not JSON"
        @unknown default: "not as expected"
        }
    }
}
