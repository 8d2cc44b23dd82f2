/// The bounds of what a source may announce. All of it is outside input.
extension CaptureRegistration {
    /// Files and events per capture (a recorder's listing holds 4,096 objects at most).
    static let maximumAssets = 4096
    static let maximumEvents = 65_536
    /// The object transfer service counts in 32 bits; an import may be longer.
    static let maximumObjectSize: Int64 = 4_294_967_295

    /// The session's identity, after every field was found to be in bounds.
    func validated() throws(QueueError) -> SessionID {
        guard let session = SessionID(captureID) else { throw invalid("the captureId is not a UUID") }
        guard Self.isHost(targetHost) else {
            throw invalid("the target host is not an http or https URL with a host name")
        }
        guard assets.count <= Self.maximumAssets, events.count <= Self.maximumEvents else {
            throw invalid("more than \(Self.maximumAssets) files or \(Self.maximumEvents) events")
        }
        let isOriginFitting =
            migratedFrom == nil ? (sourceKind == .recorder) == (origin != nil) : origin == nil
        guard isOriginFitting else {
            throw invalid("a recorder's capture needs its recorder, and only that")
        }
        let texts: [(String?, Int)] = [
            (title, 4096), (targetHost, 2048), (account, 256), (targetLibraryID, 256),
            (parentDocumentID, 256),
            (startedAt.text, 64), (endedAt?.text, 64), (originDeviceID, 256), (origin?.serial, 256),
            (origin?.manifestObjectID, 64), (origin?.manifestFingerprint, 4096),
            (provenance.deviceName, 1024), (provenance.deviceModel, 1024), (provenance.appSurface, 256),
            (provenance.sourcePathHint, 4096),
        ]
        guard texts.allSatisfy({ ($0?.utf8.count ?? 0) <= $1 }), durationMs >= 0, origin?.serial != "" else {
            throw invalid("a field of the capture is too long, empty or negative")
        }
        try validateAssets()
        try validateEvents()
        return session
    }

    /// The identity of one of this capture's assets.
    func assetID(of asset: AssetRegistration, session: SessionID) -> AssetID {
        guard let origin else { return Identity.asset(session: session, sourceKey: asset.sourceKey) }
        return Identity.asset(
            serial: origin.serial, storageGeneration: origin.storageGeneration, objectID: asset.sourceKey)
    }

    private func validateAssets() throws(QueueError) {
        var keys: Set<String> = []
        let largest = origin == nil ? Int64.max / 4 : Self.maximumObjectSize
        for asset in assets {
            guard (1...256).contains(asset.sourceKey.utf8.count), asset.name.utf8.count <= 1024,
                asset.mimeType.utf8.count <= 255, (asset.fingerprint?.utf8.count ?? 0) <= 4096
            else { throw invalid("a field of a file is empty or too long") }
            guard (0...largest).contains(asset.byteSize) else {
                throw invalid("a file's size is out of range")
            }
            guard asset.sha256.map({ SHA256Digest(hex: $0) != nil }) ?? true else {
                throw invalid("a file's SHA-256 is not 64 hex digits")
            }
            guard keys.insert(asset.sourceKey.lowercased()).inserted else {
                throw invalid("the same file is named twice")
            }
        }
    }

    private func validateEvents() throws(QueueError) {
        var ids: Set<String> = []
        for event in events {
            guard (1...128).contains(event.id.utf8.count), (event.text?.utf8.count ?? 0) <= 65_536,
                event.relativeTimeMs >= 0, (event.voiceStartOffsetMs ?? 0) >= 0,
                (event.voiceStartOffsetMs ?? 0) <= (event.voiceEndOffsetMs ?? .max)
            else { throw invalid("a field of an event is out of range") }
            guard ids.insert(event.id).inserted else { throw invalid("the same event is named twice") }
        }
    }

    /// Whether `text` names a host by http or https. Nothing is ever assumed in its place.
    private static func isHost(_ text: String) -> Bool {
        for scheme in ["https://", "http://"] where text.lowercased().hasPrefix(scheme) {
            let authority = text.dropFirst(scheme.count).prefix { $0 != "/" }
            return !authority.isEmpty && !authority.hasPrefix(":") && text.utf8.allSatisfy { $0 > 0x20 }
        }
        return false
    }

    private func invalid(_ reason: String) -> QueueError {
        QueueError(.invalidInput, "the capture cannot be taken: \(reason)")
    }
}
