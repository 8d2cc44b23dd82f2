import CCrypto
import FoundationEssentials

/// A session's identity: its captureId as a lower-case UUID. It also names the session's spool folder.
package struct SessionID: Sendable, Hashable, CustomStringConvertible {
    /// A lower-case UUID.
    package let text: String

    /// Nil unless `text` is a UUID in its usual form (any case).
    package init?(_ text: String) {
        guard let text = Identity.canonicalUUID(text) else { return nil }
        self.text = text
    }

    package var description: String { text }
}

/// An asset's identity: derived from where it came from, never from a name. It also names the spool file.
package struct AssetID: Sendable, Hashable, CustomStringConvertible {
    /// A lower-case UUID.
    package let text: String

    /// Nil unless `text` is a UUID in its usual form (any case).
    package init?(_ text: String) {
        guard let text = Identity.canonicalUUID(text) else { return nil }
        self.text = text
    }

    fileprivate init(derived: String) { text = derived }

    package var description: String { text }
}

/// How identities are derived. The rules are frozen: the cloud already knows captures by these ids.
package enum Identity {
    /// The namespace of everything that celestiad names by UUIDv5 (RFC 9562 section 5.5).
    package static let namespace = "c1e57a1d-9c0e-4b6f-8f57-2f6d3b1a7e44"

    /// The asset of a recorder's object. The storage generation is part of it, because a formatted
    /// recorder counts its objects from the start again (recorder-profile.md, Captures).
    package static func asset(serial: String, storageGeneration: UInt32, objectID: String) -> AssetID {
        derive(["recorder-object", serial, String(storageGeneration), objectID.lowercased()])
    }

    /// The asset of an imported file: one per session and content key.
    package static func asset(session: SessionID, sourceKey: String) -> AssetID {
        derive(["imported-file", session.text, sourceKey])
    }

    /// The session that salvages an object which no manifest names.
    package static func salvageSession(
        serial: String, storageGeneration: UInt32, objectID: String
    ) -> String {
        derive(["salvage", serial, String(storageGeneration), objectID.lowercased()]).text
    }

    /// The session that sends a session's files to another host instead.
    package static func migratedSession(_ session: SessionID, to host: String) -> String {
        derive(["migrated", session.text, host]).text
    }

    /// The session of an imported file: the same content is the same capture, whatever it is called and however often
    /// it is offered. `attempt` counts how often the user has discarded it before.
    package static func importedSession(sha256: SHA256Digest, attempt: Int) -> String {
        derive(["imported-content", sha256.hex, String(attempt)]).text
    }

    /// A recorder's `peripheralUUID` in the cloud: the same from every hub and every adapter, because it follows from
    /// the serial number alone (upload.md C-27).
    package static func peripheral(serial: String) -> String {
        derive(["recorder", serial]).text
    }

    /// The namespace of a session's idempotency keys (`idempotency_scope` of the contract).
    package static func idempotencyScope(session: SessionID) -> String {
        derive(["idempotency", session.text]).text
    }

    /// The key of one logical operation: the same for each retry, another for each other operation.
    package static func idempotencyKey(
        session: SessionID, asset: AssetID?, operation: UploadOperation
    ) -> String {
        let scope = idempotencyScope(session: session)
        return uuid5(namespace: scope, name: netstrings([asset?.text ?? "", operation.rawValue]))
    }

    /// The client id under which an asset goes up again after the server's copy was found wrong:
    /// the cloud has no way to delete an asset, so new bytes need a new id. `attempt` counts from 1.
    package static func replacement(of asset: AssetID, attempt: Int) -> String {
        derive(["replacement", asset.text, String(attempt)]).text
    }

    /// UUIDv5 of `name` in `namespace` (a UUID in text form), lower-case.
    static func uuid5(namespace: String, name: [UInt8]) -> String {
        var input: [UInt8] = []
        if let uuid = UUID(uuidString: namespace)?.uuid {
            withUnsafeBytes(of: uuid) { input.append(contentsOf: $0) }
        }
        input.append(contentsOf: name)
        var hash = [UInt8](repeating: 0, count: 20)
        let status = EVP_Digest(input, input.count, &hash, nil, EVP_sha1(), nil)
        precondition(status == 1, "libcrypto cannot hash")
        hash[6] = hash[6] & 0x0F | 0x50
        hash[8] = hash[8] & 0x3F | 0x80
        let parts = [hash[0..<4], hash[4..<6], hash[6..<8], hash[8..<10], hash[10..<16]]
        return parts.map(Hex.encode).joined(separator: "-")
    }

    /// The lower-case form of a UUID in its 8-4-4-4-12 form; nil for anything else.
    static func canonicalUUID(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        for (index, byte) in bytes.enumerated() {
            let isDash = [8, 13, 18, 23].contains(index)
            guard isDash ? byte == UInt8(ascii: "-") : Hex.isDigit(byte) else { return nil }
        }
        return text.lowercased()
    }

    private static func derive(_ fields: [String]) -> AssetID {
        AssetID(derived: uuid5(namespace: namespace, name: netstrings(fields)))
    }

    /// Fields with their lengths, so that no two lists of fields run together to the same bytes.
    private static func netstrings(_ fields: [String]) -> [UInt8] {
        var bytes: [UInt8] = []
        for field in fields {
            bytes.append(contentsOf: "\(field.utf8.count):".utf8)
            bytes.append(contentsOf: field.utf8)
            bytes.append(UInt8(ascii: ","))
        }
        return bytes
    }
}

/// The calls to the cloud that can leave their outcome in doubt, and so are written down before they
/// are made (upload.md 3.3). Chunks are not among them: sending one twice changes nothing.
package enum UploadOperation: String, Sendable, CaseIterable, SQLConvertible {
    /// Create or update the session.
    case upsert
    /// Send a file under 16 MiB in one call.
    case asset
    /// Open a chunked upload.
    case initialise = "init"
    /// Merge the chunks of an upload.
    case complete
}
