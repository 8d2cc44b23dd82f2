import FoundationEssentials
import Glibc

/// The directory that holds the bytes: `spool/<session>/<asset>`, all names generated, all files 0600.
///
/// Every call blocks on the disk; used on the queue's executor only.
final class Spool {
    let root: Descriptor

    init(dataDirectory: Int32) throws(QueueError) {
        guard let root = try FileSystem.openDirectory(at: dataDirectory, "spool", creating: true) else {
            throw QueueError(.io, "the spool directory vanished")
        }
        self.root = root
    }

    /// The file system's space, as `statvfs` tells for this descriptor.
    var descriptor: Int32 { root.raw }

    /// Makes the session's directory with its description, both durable before this returns.
    func prepare(_ session: SessionID, _ registration: CaptureRegistration) throws(QueueError) {
        let directory = try self.directory(session, creating: true)
        try FileSystem.replace(at: directory.raw, Self.sessionFile, with: Self.encode(registration))
        try FileSystem.sync(directory.raw)
    }

    /// The session's description; nil where there is none that can be read.
    func registration(of session: SessionID) -> CaptureRegistration? {
        decoded(session, Self.sessionFile, limit: 64 << 20)
    }

    /// Opens the asset's `.part` for going on at `offset`, or before it where the file is shorter.
    func openPart(
        _ session: SessionID, _ asset: AssetID, from offset: Int64
    ) throws(QueueError) -> PartWriter {
        let directory = try self.directory(session, creating: true)
        let name = Self.part(asset)
        if try FileSystem.status(at: directory.raw, name)?.isRegular == false {
            throw QueueError(.io, "\(name) in the spool is not a plain file")
        }
        let exists = try FileSystem.status(at: directory.raw, name) != nil
        let file = try FileSystem.open(at: directory.raw, name, O_RDWR | (exists ? 0 : O_CREAT | O_EXCL))
        let length = min(try FileSystem.status(of: file.raw).size, offset)
        // What lies beyond the journal was never flushed: after a power cut it may be anything.
        try FileSystem.truncate(file.raw, to: length)
        if !exists { try FileSystem.sync(directory.raw) }
        return PartWriter(file, heldBytes: length)
    }

    /// Gives a complete, flushed `.part` its name, with the sidecar in place before it; durable on return.
    func publish(_ session: SessionID, _ asset: AssetID, _ sidecar: AssetSidecar) throws(QueueError) {
        let directory = try self.directory(session, creating: false)
        try FileSystem.replace(at: directory.raw, Self.sidecar(asset), with: Self.encode(sidecar))
        try FileSystem.rename(at: directory.raw, Self.part(asset), asset.text)
        try FileSystem.sync(directory.raw)
    }

    /// What is known of a stored file without the database.
    func sidecar(_ session: SessionID, _ asset: AssetID) -> AssetSidecar? {
        decoded(session, Self.sidecar(asset), limit: 64 << 10)
    }

    /// Opens a stored file for reading. Throws `assetMissing`, or `assetCorrupt` for another size.
    func openStored(_ session: SessionID, _ asset: AssetID, size: Int64) throws(QueueError) -> AssetFile {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false),
            try FileSystem.status(at: directory.raw, asset.text) != nil
        else { throw QueueError(.assetMissing, "the stored file of asset \(asset) is gone") }
        let file = try FileSystem.open(at: directory.raw, asset.text, O_RDONLY)
        let status = try FileSystem.status(of: file.raw)
        guard status.isRegular, status.size == size else {
            throw QueueError(
                .assetCorrupt, "the stored file of asset \(asset) has \(status.size) bytes instead of \(size)"
            )
        }
        return AssetFile(file, status)
    }

    /// What reading a stored file tells. An error of the disk is not the file's: nothing follows from it.
    enum Finding {
        case digest(SHA256Digest)
        /// Gone, or of another size.
        case harmed(QueueError)
        case unread(QueueError)
    }

    /// Reads a stored file whole.
    func inspect(_ session: SessionID, _ asset: AssetID, size: Int64) -> Finding {
        do throws(QueueError) {
            let file = try openStored(session, asset, size: size)
            let hasher = SHA256()
            var offset: Int64 = 0
            while let next = try file.hashPiece(at: offset, into: hasher) { offset = next }
            return .digest(hasher.digest())
        } catch {
            return error.code == .assetMissing || error.code == .assetCorrupt
                ? .harmed(error) : .unread(error)
        }
    }

    /// Moves a file that is not what was stored out of the way, never deleting it.
    func setAside(_ session: SessionID, _ asset: AssetID) throws(QueueError) {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false) else {
            return
        }
        var number = 1
        while try FileSystem.status(at: directory.raw, "\(asset).damaged-\(number)") != nil { number += 1 }
        if try FileSystem.status(at: directory.raw, asset.text) != nil {
            try FileSystem.rename(at: directory.raw, asset.text, "\(asset).damaged-\(number)")
            try FileSystem.sync(directory.raw)
        }
    }

    /// Removes an asset's bytes. Only for released or purged assets.
    func removeStored(_ session: SessionID, _ asset: AssetID) throws(QueueError) {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false) else {
            return
        }
        for name in [asset.text, Self.part(asset), Self.sidecar(asset)] {
            try FileSystem.remove(at: directory.raw, name)
        }
    }

    /// Removes the `.part` of an asset.
    func removePart(_ session: SessionID, _ asset: AssetID) throws(QueueError) {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false) else {
            return
        }
        try FileSystem.remove(at: directory.raw, Self.part(asset))
    }

    /// Whether the user discarded the session, by the note beside its files.
    func isCancelled(_ session: SessionID) throws(QueueError) -> Bool {
        try entries(of: session).contains(.cancelled)
    }

    /// Whether there is a directory of that name.
    func exists(_ session: SessionID) throws(QueueError) -> Bool {
        try FileSystem.status(at: root.raw, session.text) != nil
    }

    /// Writes beside the files that the user discarded the session: it stays discarded without its row, too.
    func markCancelled(_ session: SessionID) throws(QueueError) {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false) else {
            return
        }
        _ = try FileSystem.open(at: directory.raw, Self.cancelledFile, O_WRONLY | O_CREAT)
        try FileSystem.sync(directory.raw)
    }

    /// Removes a session's directory once nothing but its description is left in it.
    func removeIfEmpty(_ session: SessionID) throws(QueueError) {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false),
            try FileSystem.names(in: directory.raw).allSatisfy({ $0 == Self.sessionFile })
        else { return }
        try FileSystem.remove(at: directory.raw, Self.sessionFile)
        if FileSystem.removeDirectory(at: root.raw, session.text) { try FileSystem.sync(root.raw) }
    }

    /// Removes a session's directory when there is nothing in it, or only unfinished copies of a description; tells whether
    /// it is gone.
    func removeIfBare(_ session: SessionID) throws(QueueError) -> Bool {
        let entries = try entries(of: session)
        var names: [String] = []
        for entry in entries {
            guard case .temporary(let name) = entry else { return false }
            names.append(name)
        }
        for name in names { try removeTemporary(session, name) }
        return FileSystem.removeDirectory(at: root.raw, session.text)
    }

    /// The sessions that have a directory, and the names there that are none of ours.
    func sessions() throws(QueueError) -> (known: [SessionID], foreign: [String]) {
        var known: [SessionID] = []
        var foreign: [String] = []
        for name in try FileSystem.names(in: root.raw) {
            if let id = SessionID(name), id.text == name {
                known.append(id)
            } else if ![Self.accountsFile, ".\(Self.accountsFile).tmp"].contains(name) {
                foreign.append(name)
            }
        }
        return (known, foreign)
    }

    /// What lies in a session's directory, by kind of name.
    func entries(of session: SessionID) throws(QueueError) -> [SpoolEntry] {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false) else {
            return []
        }
        let names = try FileSystem.names(in: directory.raw)
        return names.map(SpoolEntry.init)
    }

    /// Removes the unfinished copy of a description or sidecar.
    func removeTemporary(_ session: SessionID, _ name: String) throws(QueueError) {
        guard let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: false) else {
            return
        }
        try FileSystem.remove(at: directory.raw, name)
    }

    func directory(_ session: SessionID, creating: Bool) throws(QueueError) -> Descriptor {
        guard
            let directory = try FileSystem.openDirectory(at: root.raw, session.text, creating: creating)
        else { throw QueueError(.assetMissing, "the spool directory of session \(session) is gone") }
        return directory
    }

    private func decoded<T: Decodable>(_ session: SessionID, _ name: String, limit: Int) -> T? {
        guard let directory = try? FileSystem.openDirectory(at: root.raw, session.text, creating: false),
            let bytes = try? FileSystem.contents(at: directory.raw, name, limit: limit)
        else { return nil }
        return try? JSONDecoder().decode(T.self, from: Data(bytes))
    }

    static let sessionFile = "session.json"
    /// The accounts that were used; beside the sessions, so that it is there when the database is not.
    private static let accountsFile = ".accounts.json"

    func writeAccounts(_ bytes: [UInt8]) throws(QueueError) {
        try FileSystem.replace(at: root.raw, Self.accountsFile, with: bytes)
        try FileSystem.sync(root.raw)
    }

    func readAccounts() throws(QueueError) -> [UInt8]? {
        guard let status = try FileSystem.status(at: root.raw, Self.accountsFile), status.isRegular else {
            return nil
        }
        let file = try FileSystem.open(at: root.raw, Self.accountsFile, O_RDONLY)
        return try FileSystem.read(file.raw, at: 0, count: Int(min(status.size, 1 << 20)))
    }

    private static let cancelledFile = "cancelled"
    private static func part(_ asset: AssetID) -> String { ".\(asset).part" }
    static func sidecar(_ asset: AssetID) -> String { "\(asset).json" }

    static func encode(_ value: some Encodable) throws(QueueError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do { return Array(try encoder.encode(value)) } catch {
            throw QueueError(.invalidInput, "a description cannot be written as JSON")
        }
    }
}

/// A name in a session's directory.
enum SpoolEntry: Equatable {
    case stored(AssetID)
    case part(AssetID)
    case sidecar
    case description
    case cancelled
    /// Set aside because it was not what was stored.
    case damaged(AssetID)
    case temporary(String)
    case foreign(String)

    init(_ name: String) {
        if let asset = AssetID(name), asset.text == name {
            self = .stored(asset)
        } else if name == "session.json" {
            self = .description
        } else if name == "cancelled" {
            self = .cancelled
        } else if name.hasPrefix("."), name.hasSuffix(".part"),
            let asset = AssetID(String(name.dropFirst().dropLast(5)))
        {
            self = .part(asset)
        } else if name.hasPrefix("."), name.hasSuffix(".tmp") {
            self = .temporary(name)
        } else if name.hasSuffix(".json"), AssetID(String(name.dropLast(5))) != nil {
            self = .sidecar
        } else if let asset = AssetID(String(name.prefix(36))), name.dropFirst(36).hasPrefix(".damaged-") {
            self = .damaged(asset)
        } else {
            self = .foreign(name)
        }
    }
}

/// What lies beside a stored file, so that it can be told apart without the database. A hint only: the
/// database wins, and the bytes are hashed before a sidecar is believed.
struct AssetSidecar: Codable, Equatable {
    var version = 1
    let session: String
    let asset: String
    let byteSize: Int64
    let sha256: String
    let crc32: UInt32?
    let storedAt: Int64
}
