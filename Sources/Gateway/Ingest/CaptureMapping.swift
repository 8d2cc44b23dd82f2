package import CaptureQueue
import Dates
package import FoundationEssentials
import ObjectTransfer
package import Recorder

/// What a recorder's capture becomes in the queue. Pure.
package struct CaptureMapping: Sendable {
    /// The API's base URL that new sessions are for.
    package var targetHost: String
    /// The hub's own time, for captures whose recorder had none.
    package var now: Date

    package init(targetHost: String, now: Date) {
        self.targetHost = targetHost
        self.now = now
    }

    /// The session of a sealed capture, with the files that the recorder does not list (yet); nil for salvaged objects.
    package func registration(
        of capture: RecorderCapture, from recorder: RecorderIdentity
    ) -> CaptureRegistration? {
        guard case .manifest(let manifest, let object) = capture.origin else { return nil }
        let files = Dictionary(
            capture.assets.map { ($0.key.objectID, asset($0)) }
                + capture.missing.map { ($0.objectID, asset($0)) }, uniquingKeysWith: { first, _ in first })
        return CaptureRegistration(
            captureID: manifest.captureID, sourceKind: .recorder,
            origin: RecorderOrigin(
                serial: recorder.serial, storageGeneration: capture.storageGeneration,
                manifestObjectID: object.id.description, manifestFingerprint: object.fingerprint),
            originDeviceID: recorder.serial, targetHost: targetHost,
            title: manifest.title.map { SafeName($0, fallback: "").text },
            startedAt: time(manifest.startedAt), endedAt: manifest.endedAt.map(time),
            durationMs: manifest.durationMs,
            assets: order(capture, manifest).compactMap { files[$0] },
            events: manifest.events.map(event),
            provenance: provenance(recorder, step: "recorded on a Celestia recorder", of: manifest.startedAt))
    }

    /// The order of the manifest, each file once.
    private func order(_ capture: RecorderCapture, _ manifest: Manifest) -> [ObjectID] {
        var seen: Set<ObjectID> = []
        let own = Set(capture.assets.map(\.key.objectID)).union(capture.missing.map(\.objectID))
        return manifest.files.map(\.objectID).filter { own.contains($0) && seen.insert($0).inserted }
    }

    /// The session of one object that no manifest names: one for each, because the group that they are found in may be
    /// another one the next time.
    package func salvaged(_ file: RecorderAsset, from recorder: RecorderIdentity) -> CaptureRegistration {
        CaptureRegistration(
            captureID: Identity.salvageSession(
                serial: file.key.serial, storageGeneration: file.key.storageGeneration,
                objectID: file.key.objectID.description),
            sourceKind: .recorder,
            origin: RecorderOrigin(
                serial: recorder.serial, storageGeneration: file.key.storageGeneration, manifestObjectID: nil),
            originDeviceID: recorder.serial, isSalvaged: true, targetHost: targetHost,
            title: "Salvaged \(file.name.text)", startedAt: hubTime, durationMs: 0, assets: [asset(file)],
            events: [],
            provenance: provenance(recorder, step: "salvaged: no manifest of the recorder names it", of: nil))
    }

    private func asset(_ file: RecorderAsset) -> AssetRegistration {
        AssetRegistration(
            kind: file.kind == .audio ? .audio : .photo, name: file.name.text, mimeType: file.mimeType,
            byteSize: Int64(file.sizeBytes), sha256: file.sha256, sourceKey: file.key.objectID.description,
            fingerprint: file.object.fingerprint)
    }

    private func asset(_ file: Manifest.File) -> AssetRegistration {
        AssetRegistration(
            kind: file.kind == .audio ? .audio : .photo,
            name: SafeName(file.name, fallback: file.objectID.description).text, mimeType: file.mimeType,
            byteSize: Int64(file.sizeBytes), sha256: file.sha256, sourceKey: file.objectID.description)
    }

    private func event(_ event: Manifest.Event) -> EventRegistration {
        EventRegistration(
            id: event.id, relativeTimeMs: event.relativeTimeMs, type: Self.type(event.kind),
            text: event.text, sourceKey: event.objectID?.description,
            voiceStartOffsetMs: event.voiceStartOffsetMs, voiceEndOffsetMs: event.voiceEndOffsetMs)
    }

    private static func type(_ kind: Manifest.Event.Kind) -> EventType {
        switch kind {
        case .photo: .photo
        case .note: .note
        case .marker: .marker
        case .voice: .voice
        case .continuation: .continuation
        }
    }

    /// A recorder whose clock was never set says 1970 or 2000: the hub's time is nearer to the truth (upload.md C-42).
    private func time(_ time: WrittenTime) -> CaptureTime {
        guard Self.isPlausible(time) else { return hubTime }
        return CaptureTime(
            text: time.text,
            instant: Date(timeIntervalSince1970: Double(time.timestamp.millisecondsSince1970) / 1000))
    }

    private static func isPlausible(_ time: WrittenTime) -> Bool {
        let year2020: Int64 = 1_577_836_800
        return time.timestamp.secondsSince1970 >= year2020
    }

    private var hubTime: CaptureTime {
        CaptureTime(text: now.formatted(.iso8601), instant: now)
    }

    private func provenance(
        _ recorder: RecorderIdentity, step: String, of recorded: WrittenTime?
    ) -> ProvenanceSeed {
        var entry = ["step": step, "device": recorder.serial]
        if let recorded, !Self.isPlausible(recorded) {
            entry["clock"] = "not set on the recorder, which said \(recorded.text); the hub's time is used"
        }
        return ProvenanceSeed(
            deviceName: recorder.serial, deviceModel: recorder.model, appSurface: "celestiad", chain: [entry])
    }
}

extension ObjectMetadata {
    /// What must not have changed when the object is deleted.
    fileprivate var fingerprint: String {
        "\(type)/\(currentSize.map(String.init) ?? "-")/\(name)"
    }
}
