package import Dates
package import HTTP

/// What an asset is to the API (C-51): nothing else is uploaded.
package enum AssetKind: String, Sendable, Codable, CaseIterable {
    case audio = "AUDIO"
    case photo = "PHOTO"
}

/// An asset as the server has it.
package struct RemoteAsset: Sendable, Equatable, Decodable {
    package let id: String
    package let clientId: String?
    /// As the server spells it.
    package let kind: String
    package let fileName: String
    package let mimeType: String
    package let sizeBytes: Int64
    /// 64 hexadecimal digits, lower case.
    package let sha256: String
    package let createdAt: Timestamp?

    private enum CodingKeys: CodingKey {
        case id, clientId, kind, fileName, mimeType, sizeBytes, sha256, createdAt
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        id = try fields.decode(String.self, forKey: .id)
        sizeBytes = try fields.decode(Int64.self, forKey: .sizeBytes)
        let digest = try fields.decode(String.self, forKey: .sha256)
        guard digest.utf8.count == 64, digest.allSatisfy(\.isHexDigit) else {
            throw DecodingError.dataCorruptedError(
                forKey: .sha256, in: fields, debugDescription: "not 64 hexadecimal digits")
        }
        sha256 = digest.lowercased()
        clientId = fields.lenient(String.self, .clientId)
        kind = fields.lenient(String.self, .kind) ?? ""
        fileName = fields.lenient(String.self, .fileName) ?? ""
        mimeType = fields.lenient(String.self, .mimeType) ?? ""
        createdAt = fields.lenient(Timestamp.self, .createdAt)
    }

    /// Whether the server holds these very bytes; the only proof on which local ones may be released
    /// (C-53, C-70). `sha256` is hexadecimal in either case.
    package func holds(sizeBytes: Int64, sha256: String) -> Bool {
        self.sizeBytes == sizeBytes && self.sha256 == sha256.lowercased()
    }
}

/// The answer to an upload or a completion: with the session's new revision, or, when the server has the asset
/// already, perhaps without (C-34, C-54).
package struct AssetReceipt: Sendable, Equatable, Decodable {
    package let asset: RemoteAsset
    /// nil: the session's revision is unknown now and must be fetched before the next upsert.
    package let sessionRevision: Int64?

    private enum CodingKeys: CodingKey {
        case asset, sessionRevision
    }

    package init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        if fields.contains(.asset) {
            asset = try fields.decode(RemoteAsset.self, forKey: .asset)
            sessionRevision = fields.lenient(Int64.self, .sessionRevision)
        } else {
            asset = try RemoteAsset(from: decoder)
            sessionRevision = nil
        }
    }
}

/// What is uploaded: the bytes, and what the server is told of them.
package struct AssetUpload: Sendable {
    package let clientId: String
    package let kind: AssetKind
    /// Made safe for the wire.
    package let fileName: String
    package let mimeType: String
    package let file: SharedFile
    package let size: Int64

    package init(
        clientId: String, kind: AssetKind, fileName: String, mimeType: String, file: SharedFile, size: Int64
    ) {
        self.clientId = clientId
        self.kind = kind
        self.fileName = WireName.sanitize(fileName)
        self.mimeType = mimeType
        self.file = file
        self.size = size
    }
}

/// The server's answer to an init, checked against the file (C-56).
package struct UploadTicket: Sendable, Equatable {
    package let uploadId: String
    package let plan: ChunkPlan
    /// Server time; nil when unreadable.
    package let expiresAt: Timestamp?

    /// For a ticket that was stored. `plan` was checked when it was made.
    package init(uploadId: String, plan: ChunkPlan, expiresAt: Timestamp?) {
        self.uploadId = uploadId
        self.plan = plan
        self.expiresAt = expiresAt
    }
}

/// The server's answer to a chunk. `uploadedChunks` may count a repeated chunk twice; it is a count, not an
/// offset, and being complete is not completion (C-61, C-62).
package struct ChunkProgress: Sendable, Equatable, Decodable {
    package let uploadId: String
    package let chunkIndex: Int64
    package let uploadedChunks: Int64
    package let totalChunks: Int64
}

/// Storage in bytes. `remainingBytes` may be negative, and total 0 means unknown (C-73).
package struct StorageQuota: Sendable, Equatable, Decodable {
    package let totalBytes: Int64
    package let usedBytes: Int64
    package let remainingBytes: Int64

    /// Whether `bytes` fit as far as the server lets us know.
    package func hasRoom(for bytes: Int64) -> Bool {
        totalBytes <= 0 || remainingBytes >= bytes
    }
}

/// The answer to a sync checkpoint.
package struct SyncCheckpoint: Sendable, Equatable, Decodable {
    package let syncedAt: Timestamp?

    private enum CodingKeys: CodingKey {
        case syncedAt
    }

    package init(from decoder: any Decoder) throws {
        syncedAt = try decoder.container(keyedBy: CodingKeys.self).lenient(Timestamp.self, .syncedAt)
    }
}
