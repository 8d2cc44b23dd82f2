import CaptureQueue
import Control
import FoundationEssentials
import Gateway

// What the queue and the board hold, as the documents that users see.

extension RecorderDocument {
    init(_ record: RecorderRecord, link: LinkStatus?, host: String) {
        let measuredAt = record.statusAt ?? record.lastSeenAt
        self.init(
            id: record.serial, name: record.label ?? record.name,
            ownName: record.label == nil ? nil : record.name,
            account: record.unboundAt != nil
                ? "unbound" : record.deviceIDs[host] == nil ? "waiting" : "bound",
            model: record.model, manufacturer: record.manufacturer, firmware: record.firmware,
            hardware: record.hardware,
            address: link?.address ?? record.bluetoothIdentity, adapter: link?.adapter,
            security: record.security,
            battery: record.batteryPercent.map { BatteryDocument(percent: $0, measuredAt: measuredAt) },
            storage: Self.storage(record, measuredAt), recording: record.isRecording,
            pendingCaptures: Self.pendingCaptures(record, link), link: LinkDocument(link),
            dataPlane: link?.dataPlane, dataPlaneReason: link?.dataPlaneReason,
            lastSeen: record.lastSeenAt, lastSync: link?.lastSyncAt, clockSet: link?.clockWrittenAt,
            lastError: link?.lastProblem, incompleteSync: link?.lastShortfallAt)
    }

    /// What the recorder said that it has, unless all of it was taken care of since.
    private static func pendingCaptures(_ record: RecorderRecord, _ link: LinkStatus?) -> Int? {
        if let synced = link?.lastSyncAt, let told = record.statusAt, synced >= told { return 0 }
        return record.sealedCaptures
    }

    private static func storage(_ record: RecorderRecord, _ measuredAt: Date) -> StorageDocument? {
        guard let total = record.storageTotalBytes, let free = record.storageFreeBytes else { return nil }
        return StorageDocument(totalBytes: total, freeBytes: free, measuredAt: measuredAt)
    }
}

extension LinkDocument {
    init(_ link: LinkStatus?) {
        self.init(
            state: (link?.state ?? .absent).rawValue, reason: link?.reason, since: link?.since,
            nextTry: link?.nextTry, rssi: link?.rssi)
    }
}

extension SessionDocument {
    init(_ summary: SessionSummary) {
        let session = summary.session
        self.init(
            id: session.id.text, recorder: session.recorderSerial ?? session.originDeviceID,
            source: session.sourceKind.rawValue, host: session.targetHost, title: session.title,
            startedAt: session.startedAt.instant, durationMs: session.durationMs,
            salvaged: session.isSalvaged, state: session.state.rawValue,
            reason: Self.holdReason(summary.holds, session.id)
                ?? summary.doubt.map { "\($0); the cloud is asked what it has of it" } ?? session.lastError,
            holds: summary.holds.isEmpty
                ? nil : summary.holds.map { HoldDocument($0, session: session.id.text) },
            ambiguous: summary.isAmbiguous ? true : nil, retries: session.retryCount,
            lastError: session.lastError,
            terminalReason: session.terminalReason?.rawValue, account: session.account,
            migratedFrom: session.migratedFrom,
            migratedTo: session.migratedTo,
            // Its time does not count while it is held.
            nextTry: summary.holds.isEmpty ? session.nextTryAt : nil, cloud: session.remoteID,
            createdAt: session.createdAt,
            updatedAt: session.updatedAt, bytes: summary.progress.totalBytes, files: summary.progress.assets,
            uploadedFiles: summary.progress.uploadedAssets)
    }

    init(_ detail: SessionDetail) {
        self.init(detail.summary)
        let receipts = Dictionary(
            detail.receipts.compactMap { receipt in receipt.assetID.map { ($0, receipt) } },
            uniquingKeysWith: { $1 })
        assets = detail.assets.map { AssetDocument($0, receipt: receipts[$0.id]) }
        provenance = detail.provenanceChain.map { entry in
            var details = entry
            return ProvenanceStepDocument(step: details.removeValue(forKey: "step") ?? "", details: details)
        }
        origin = OriginDocument(detail.summary.session)
    }

    /// Why the session waits, and what would clear it: the first in full, the others by their names.
    static func holdReason(_ holds: [Hold], _ id: SessionID) -> String? {
        guard let hold = holds.first else { return nil }
        let detail = hold.detail.map { ": \($0)" } ?? ""
        let clearedBy = hold.reason.clearedBy(session: String(id.text.prefix(8)))
        let others = holds.dropFirst().map { Words.plain($0.reason.rawValue) }.joined(separator: ", ")
        return "\(hold.reason.rawValue)\(detail); cleared by \(clearedBy)"
            + (others.isEmpty ? "" : "; it waits for more than that: \(others)")
    }
}

extension OriginDocument {
    init(_ session: SessionRecord) {
        let seed = session.provenance
        self.init(
            originDeviceId: session.originDeviceID, deviceName: seed.deviceName,
            deviceModel: seed.deviceModel,
            appSurface: seed.appSurface, sourcePathHint: seed.sourcePathHint,
            imageProvenance: seed.image.isEmpty ? nil : seed.image, captureStartedAt: session.startedAt.text,
            captureCompletedAt: session.endedAt?.text, idempotencyScope: session.idempotencyScope,
            targetLibraryId: session.targetLibraryID, parentDocumentId: session.parentDocumentID)
    }
}

extension HoldDocument {
    /// A hold of a session, or (nil) of the whole queue.
    init(_ hold: Hold, session: String?) {
        self.init(
            reason: hold.reason.rawValue,
            clearedBy: session.map { hold.reason.clearedBy(session: String($0.prefix(8))) }
                ?? hold.reason.clearedBy,
            since: hold.since,
            until: hold.until,
            requiredBytes: hold.requiredBytes, detail: hold.detail)
    }
}

extension AssetDocument {
    init(_ asset: AssetRecord, receipt: Receipt?) {
        self.init(
            id: asset.id.text, name: asset.originalName, kind: asset.kind.rawValue.lowercased(),
            mimeType: asset.mimeType, state: Self.state(asset), reason: Self.reason(asset),
            bytes: asset.byteSize,
            pulledBytes: asset.pulledBytes, uploadedBytes: asset.uploadedBytes, sha256: asset.sha256?.hex,
            confirmedSha256: receipt?.sha256?.hex, cloud: asset.remoteAssetID,
            confirmedAt: receipt?.committedAt,
            deletedAt: nil)
    }

    private static func state(_ asset: AssetRecord) -> String {
        switch (asset.pullState, asset.uploadState) {
        case (.released, .uploaded): "released"
        case (.released, _): "removed"
        case (.unobtainable, _), (.damaged, _): "failed"
        case (_, .uploaded): "uploaded"
        case (.wanted, _): asset.pulledBytes > 0 ? "pulling" : "expected"
        case (.stored, .uploading): "uploading"
        case (.stored, .failed): "failed"
        case (.stored, .pending): "queued"
        }
    }

    private static func reason(_ asset: AssetRecord) -> String? {
        switch asset.exclusion {
        case .empty: "the file is empty, and the cloud takes no empty files"
        case .unsupportedKind: "the cloud has no place for this kind of file"
        case nil: asset.lastError
        }
    }
}

extension TransferDocument {
    init(_ transfer: Transfer) {
        self.init(
            leg: transfer.leg.rawValue, recorder: transfer.recorder, session: transfer.session,
            asset: transfer.asset, name: transfer.name, bytes: transfer.bytes,
            totalBytes: transfer.totalBytes,
            bytesPerSecond: transfer.meter.bytesPerSecond,
            etaSeconds: transfer.meter.secondsLeft(of: transfer.totalBytes), startedAt: transfer.startedAt)
    }
}

extension QueueDocument {
    init(
        _ counts: QueueCounts, _ waits: QueueWaits, host: String, oldest: Date?, nextTry: Date?,
        holds: [Hold], uploads: UploadStatus
    ) {
        let quotaAskedAt = uploads.quotaAskedAt
        let waits = (ready: waits.ready, documents: waits.tallies.map { WaitDocument($0, host: host) })
        let states = SessionState.allCases.compactMap { state in
            counts.sessions[state].map { StateCount(state: state.rawValue, sessions: $0) }
        }
        let uploads = counts.unsentFiles > 0 ? uploads : nil
        self.init(
            states: states, pendingAssets: counts.unsentFiles, pendingBytes: counts.unsentBytes,
            oldestPending: oldest, nextTry: uploads?.nextTry ?? nextTry,
            reason: holds.first { $0.reason != .lowDisk }.map { hold in
                let detail = hold.detail.map { ": \($0)" } ?? ""
                return "\(hold.reason.rawValue)\(detail); cleared by \(hold.reason.clearedBy)"
            } ?? uploads?.reason.map { "\($0.rawValue): \(uploads?.message ?? $0.hint)" }
                ?? waits.documents.first?.text,
            readySessions: waits.ready, waits: waits.documents.isEmpty ? nil : waits.documents,
            quotaAskedAt: quotaAskedAt,
            holds: holds.isEmpty ? nil : holds.map { HoldDocument($0, session: nil) },
            ambiguous: counts.ambiguous > 0 ? counts.ambiguous : nil)
    }
}
