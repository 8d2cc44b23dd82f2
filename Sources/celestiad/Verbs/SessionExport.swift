import CaptureQueue
import Control
import DBus
import Glibc

/// Copies a session's files out of the queue, as the user who asks: the daemon passes them open, the user writes them.
struct SessionExport {
    private static let elsewhere = "celestiad session export ID DIR"

    let client: ControlClient
    let invocation: Invocation

    func run(_ id: String, to directory: String?) async throws(ControlError) -> ExitCode {
        let session = try await client.session(id)
        let directory = directory ?? "celestiad-\(Text.clean(String(session.id.prefix(8))))"
        guard mkdir(directory, 0o777) == 0 else { throw failure("make the folder \(directory)") }
        var (verified, absent, changed) = (0, 0, 0)
        for (index, asset) in (session.assets ?? []).enumerated() {
            do throws(ControlError) {
                let file = try await client.openAsset(asset.id)
                let path = "\(directory)/\(LocalFile.name(asset.name, index))"
                if try copy(file, asset, to: path) {
                    verified += 1
                } else {
                    changed += 1
                }
            } catch {
                guard error.code == .notFound else { throw error }
                absent += 1
                invocation.console.note("\(Text.clean(asset.name)): \(error.message)")
            }
        }
        let description = try DocumentCoding.json(session, pretty: true) + "\n"
        try write(Array(description.utf8), to: "\(directory)/session.json")
        if verified > 0 {
            invocation.console.note(
                "copied \(Units.count(verified, "file")) to \(Text.clean(directory)), each with the SHA-256 that it has in "
                    + "the queue")
        } else if changed == 0 {
            invocation.console.note(
                "none of its files is here; what is known of them is in \(Text.clean(directory))/session.json"
            )
        }
        if invocation.wantsJSON { try invocation.console.printJSON(session) }
        return absent + changed == 0 ? .success : .partial
    }

    /// Returns whether it is what was stored. What is not is kept all the same, by another name: it may be all there is.
    private func copy(_ file: SharedFD, _ asset: AssetDocument, to path: String) throws(ControlError) -> Bool
    {
        let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard target >= 0 else { throw failure("make \(path)") }
        defer { close(target) }
        let hasher = SHA256()
        let offset = try LocalFile.read(file, asset.name, elsewhere: Self.elsewhere) {
            piece throws(ControlError) in
            piece.withUnsafeBytes { hasher.update($0) }
            try put(piece, into: target, path)
        }
        guard fsync(target) == 0 else { throw failure("flush \(path)") }
        let digest = hasher.digest().hex
        if digest == asset.sha256 { return true }
        let isPart = offset < asset.bytes
        let name = path + (isPart ? ".partial" : ".unverified")
        guard rename(path, name) == 0 else { throw failure("rename \(path)") }
        invocation.console.note(
            "\(Text.clean(asset.name)): "
                + (isPart
                    ? "only \(Units.bytes(offset)) of \(Units.bytes(asset.bytes)) are here"
                    : asset.sha256 == nil
                        ? "its SHA-256 is not known" : "it does not have the SHA-256 that it was stored with")
                + "; copied as \(Text.clean(name))")
        return false
    }

    private func write(_ bytes: [UInt8], to path: String) throws(ControlError) {
        let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard target >= 0 else { throw failure("make \(path)") }
        defer { close(target) }
        try put(bytes[...], into: target, path)
        guard fsync(target) == 0 else { throw failure("flush \(path)") }
    }

    private func put(_ bytes: ArraySlice<UInt8>, into target: Int32, _ path: String) throws(ControlError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(target, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write \(path)") }
            rest = rest.dropFirst(count)
        }
    }

    private func failure(_ what: String) -> ControlError {
        LocalFile.failure(what, elsewhere: Self.elsewhere)
    }
}
