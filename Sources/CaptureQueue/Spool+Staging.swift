import Glibc

/// A session's directory that is being filled: nothing of it counts until it gets the session's name.
final class StagedSession {
    /// Its name in the spool.
    let name: String
    let directory: Descriptor

    init(name: String, directory: consuming Descriptor) {
        self.name = name
        self.directory = directory
    }
}

/// Sessions that come whole: they appear in the spool in one step, with every file in them.
extension Spool {
    private static let prefix = ".import-"
    /// The name of a file while its own name, which follows from its content, is not known.
    private static let nameless = "content"

    /// Makes an empty directory beside the sessions.
    func stage() throws(QueueError) -> StagedSession {
        let name = Self.prefix + String(UInt64.random(in: 0 ... .max), radix: 16)
        guard let directory = try FileSystem.openDirectory(at: root.raw, name, creating: true) else {
            throw QueueError(.io, "the staging directory vanished")
        }
        return StagedSession(name: name, directory: directory)
    }

    /// Opens the staged session's only file for writing.
    func openContent(_ staged: StagedSession) throws(QueueError) -> PartWriter {
        let file = try FileSystem.open(at: staged.directory.raw, Self.nameless, O_RDWR | O_CREAT | O_EXCL)
        return PartWriter(file, heldBytes: 0)
    }

    /// Gives that file its name, with its sidecar.
    func nameContent(_ staged: StagedSession, _ sidecar: AssetSidecar) throws(QueueError) {
        try describe(staged, sidecar)
        try FileSystem.rename(at: staged.directory.raw, Self.nameless, sidecar.asset)
    }

    /// Puts a file that another session has into the staged one as well; the bytes are on the disk once.
    func link(
        _ session: SessionID, _ asset: AssetID, into staged: StagedSession, as sidecar: AssetSidecar
    ) throws(QueueError) {
        let source = try directory(session, creating: false)
        try FileSystem.link(from: source.raw, asset.text, to: staged.directory.raw, sidecar.asset)
        try describe(staged, sidecar)
    }

    private func describe(_ staged: StagedSession, _ sidecar: AssetSidecar) throws(QueueError) {
        let bytes = try Self.encode(sidecar)
        try FileSystem.replace(at: staged.directory.raw, sidecar.asset + ".json", with: bytes)
    }

    /// Makes the staged directory the session's, with its description; durable on return.
    ///
    /// Where the session has a directory already (its COMMIT failed once, or its file came to harm) the files go into
    /// that one. What lies in their way is `intact`, or it is set aside, never deleted. Without a registration the
    /// description stays as it is.
    func publish(
        _ staged: StagedSession, _ registration: CaptureRegistration?, as session: SessionID,
        intact: Set<AssetID> = []
    ) throws(QueueError) {
        if let registration {
            let description = try Self.encode(registration)
            try FileSystem.replace(at: staged.directory.raw, Self.sessionFile, with: description)
        }
        try FileSystem.sync(staged.directory.raw)
        if try exists(session) {
            try merge(staged, into: session, intact)
        } else {
            try FileSystem.rename(at: root.raw, staged.name, session.text)
        }
        try FileSystem.sync(root.raw)
    }

    private func merge(
        _ staged: StagedSession, into session: SessionID, _ intact: Set<AssetID>
    ) throws(QueueError) {
        let target = try directory(session, creating: true)
        // Names of files come after their sidecars: `id` is a prefix of `id.json`, so they are sorted the other way.
        for name in try FileSystem.names(in: staged.directory.raw).sorted(by: >) {
            if let asset = AssetID(name), !intact.contains(asset),
                try !isSame(name, staged.directory.raw, target.raw)
            {
                try setAside(session, asset)
            }
            try FileSystem.move(from: staged.directory.raw, name, to: target.raw)
        }
        try FileSystem.sync(target.raw)
        discard(staged)
    }

    private func isSame(_ name: String, _ one: Int32, _ other: Int32) throws(QueueError) -> Bool {
        guard let first = try FileSystem.status(at: one, name),
            let second = try FileSystem.status(at: other, name)
        else { return false }
        return first.device == second.device && first.inode == second.inode
    }

    /// Removes a staged session that is not to be.
    func discard(_ staged: StagedSession) { remove(staged.name) }

    /// Removes what an import left that did not come to its end: its source was not told that it was taken.
    func removeStaged() throws(QueueError) {
        for name in try FileSystem.names(in: root.raw) where name.hasPrefix(Self.prefix) { remove(name) }
    }

    private func remove(_ name: String) {
        guard
            let directory = try? FileSystem.openDirectory(at: root.raw, name, creating: false),
            let names = try? FileSystem.names(in: directory.raw)
        else { return }
        for name in names { try? FileSystem.remove(at: directory.raw, name) }
        _ = FileSystem.removeDirectory(at: root.raw, name)
    }
}
